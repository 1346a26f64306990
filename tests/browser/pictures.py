"""Renews the documents' pictures: `./lake dev generate pictures`.

The live page shows its own platform after load, the demo's changes and a comparison; the review's page is prod's. Both
are rendered in the tests' browser, so pictures of two machines differ only in their numbers.
"""

import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import typer
from playwright.sync_api import Browser, Page, expect

from contract.errors import UserError, one_line_errors
from contract.states import Word
from local.demo.changes import ORDER_CHANGES
from local.demo.watch import Watch
from local.platform.platform import Platform
from tests.browser.chromium import launched
from tests.browser.serving import Served, serving_platform
from tests.browser.viewer import LAPTOP, ROOT, Screen, viewing

FOLDER = ROOT / "docs" / "pictures"
REVIEW = ROOT / "build" / "review" / "prod.html"
ARRIVES_S = 180
# Age of the newest change, and rows per second.
CHARTS = 2
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
    """A picture doesn't meet its requirements; the message is one line."""


def shoot(page: Page, shot: Shot, folder: Path = FOLDER) -> None:
    """Write what the window shows. Raises PictureError if that is too large."""
    picture = page.screenshot(path=folder / shot.name)
    if len(picture) > LARGEST_BYTES:
        raise PictureError(f"{shot.name} has {len(picture):,} bytes: more than {LARGEST_BYTES:,}")


def shoot_live(browser: Browser, served: Served, folder: Path = FOLDER) -> None:
    """Write the pictures of a live page, once all data is in the lake and drawn."""
    for shot in LIVE:
        with viewing(browser, served.url, shot.screen) as viewer:
            expect(viewer.page.get_by_role("status")).to_contain_text(Word.UP_TO_DATE)
            expect(viewer.page.locator("canvas")).to_have_count(CHARTS)
            shoot(viewer.page, shot, folder)


def shoot_review(browser: Browser, folder: Path = FOLDER) -> None:
    _run("aws", "review", "--env", "prod")
    for shot in REVIEWED:
        with viewing(browser, REVIEW.as_uri(), shot.screen) as viewer:
            shoot(viewer.page, shot, folder)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with one_line_errors("pictures"), launched() as browser, tempfile.TemporaryDirectory() as folder:
        shoot_review(browser)
        platform = Platform(Path(folder) / "platform")
        try:
            platform.up()
            watch = Watch(platform, time.monotonic())
            watch.initial_load(timeout_s=ARRIVES_S, on_count=lambda _: None)
            # Keep watching: the page measures speed only while it watches.
            with serving_platform(platform.state_dir) as served:
                for change in ORDER_CHANGES:
                    watch.make(change, timeout_s=ARRIVES_S)
                _run("reconcile", "--folder", str(platform.state_dir))
                shoot_live(browser, served)
        finally:
            platform.remove()
    typer.echo("\n".join(str((FOLDER / shot.name).relative_to(ROOT)) for shot in (*LIVE, *REVIEWED)))


def _run(*arguments: str) -> None:
    """Run `./lake …`. Raises PictureError with its last line if it fails."""
    done = subprocess.run(
        [sys.executable, "-m", "cli", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stdout + done.stderr).strip().rpartition("\n")[2]
        raise PictureError(f"./lake {' '.join(arguments)} has failed: {last}")
