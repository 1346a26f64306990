"""Makes the documents' pictures anew: `./lake dev generate pictures`.

The live page is that of a platform of its own, which is loaded, has gone through the demo's changes and was compared;
the review's page is the one of prod. Both are looked at by the tests' browser, so that pictures of two machines differ
by their numbers alone.
"""

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import typer
from playwright.sync_api import Browser, Page, expect

from contract.errors import UserError, one_line_errors
from contract.states import Word
from local.demo.order_changes import CHANGES
from local.demo.orders import OrdersWatch
from local.platform.platform import Platform
from tests.browser.chromium import launched
from tests.browser.serving import Served, serving_platform
from tests.browser.viewer import LAPTOP, ROOT, Screen, viewing

FOLDER = ROOT / "docs" / "pictures"
REVIEW = ROOT / "build" / "review" / "prod.html"
ARRIVES_S = 180
# On the orders' page: commits, revenue, and quantities.
CHARTS = 3
# A page on GitHub has several of them.
LARGEST_BYTES = 200_000


@dataclass(frozen=True, kw_only=True)
class Shot:
    """A picture: its file's name, and the window that it shows."""

    name: str
    screen: Screen


LIVE = (
    Shot(name="live-page.png", screen=LAPTOP),
    Shot(name="live-page-phone.png", screen=Screen(width=390, height=844, scheme="dark")),
)
REVIEWED = (Shot(name="review-prod.png", screen=LAPTOP),)


class PictureError(UserError):
    """A picture can't be as it has to be; the message is one line."""


def shoot(page: Page, shot: Shot, folder: Path = FOLDER) -> None:
    """Write what the window shows. Raises PictureError when that is too large."""
    picture = page.screenshot(path=folder / shot.name)
    if len(picture) > LARGEST_BYTES:
        raise PictureError(f"{shot.name} has {len(picture):,} bytes: more than {LARGEST_BYTES:,}")


def shoot_live(browser: Browser, served: Served, folder: Path = FOLDER) -> None:
    """Write the pictures of a live page, once all is in the lake and drawn."""
    for shot in LIVE:
        with viewing(browser, served.url, shot.screen) as viewer:
            expect(viewer.page.get_by_role("status")).to_contain_text(Word.UP_TO_DATE)
            expect(viewer.page.locator("canvas")).to_have_count(CHARTS)
            shoot(viewer.page, shot, folder)


def shoot_review(browser: Browser, folder: Path = FOLDER) -> None:
    """Write the pictures of prod's review."""
    _run("aws", "review", "--env", "prod")
    for shot in REVIEWED:
        with viewing(browser, REVIEW.as_uri(), shot.screen) as viewer:
            shoot(viewer.page, shot, folder)


def main() -> None:
    """Write all pictures to docs/pictures."""
    FOLDER.mkdir(exist_ok=True)
    with one_line_errors("pictures"), launched() as browser, tempfile.TemporaryDirectory() as folder:
        shoot_review(browser)
        platform = Platform(Path(folder) / "platform")
        try:
            platform.up()
            watch = OrdersWatch(platform)
            watch.initial_load(timeout_s=ARRIVES_S, on_count=lambda _: None)
            # It looks on: what it says of the speed is what it has seen.
            with serving_platform(platform.state_dir) as served:
                for change in CHANGES:
                    watch.make(change, timeout_s=ARRIVES_S)
                _run("reconcile", "--folder", str(platform.state_dir))
                shoot_live(browser, served)
        finally:
            platform.remove()
    typer.echo("\n".join(str((FOLDER / shot.name).relative_to(ROOT)) for shot in (*LIVE, *REVIEWED)))


def _run(*arguments: str) -> None:
    """Run `./lake …`. Raises PictureError with its last line when it fails."""
    done = subprocess.run(
        [sys.executable, "-m", "cli", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stdout + done.stderr).strip().rpartition("\n")[2]
        raise PictureError(f"./lake {' '.join(arguments)} has failed: {last}")
