"""Renews the documents' pictures: `./lake dev generate pictures`.

The live page shows its own platform after load, the demo's changes and a comparison; the review's page is prod's. Both
are rendered in the tests' browser, so pictures of two machines differ only in their numbers.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import typer
from playwright.sync_api import Browser, Page, expect

from contract.errors import UserError, one_line_errors
from contract.states import Word
from local.demo.watch import ORDER_CHANGES, Watch
from local.platform.platform import Platform
from tests.browser.chromium import launched
from tests.browser.serving import serving_platform
from tests.browser.viewer import LAPTOP, ROOT, Screen, viewing

FOLDER = ROOT / "docs" / "pictures"
REVIEW = ROOT / "build" / "review" / "prod.html"
ARRIVES_S = 180
# A page on GitHub has several of them.
LARGEST_BYTES = 200_000
# The pictures' files, and the window that each shows.
LIVE = {"live-page.png": LAPTOP, "live-page-phone.png": Screen(width=390, height=844, scheme="dark")}
REVIEWED = {"review-prod.png": LAPTOP}


class PictureError(UserError):
    """A picture's subject can't be made; the message is one line."""


def shoot(browser: Browser, url: str, shots: Mapping[str, Screen], until: Callable[[Page], None]) -> None:
    """Write what each window shows; `until` waits for all of it."""
    for name, screen in shots.items():
        with viewing(browser, url, screen) as viewer:
            until(viewer.page)
            viewer.page.screenshot(path=FOLDER / name)


def wait_until_drawn(page: Page) -> None:
    expect(page.get_by_role("status")).to_contain_text(Word.UP_TO_DATE)
    expect(page.locator("canvas")).to_have_count(2)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with one_line_errors("pictures"), launched() as browser, tempfile.TemporaryDirectory() as folder:
        _run("aws", "review", "--env", "prod")
        shoot(browser, REVIEW.as_uri(), REVIEWED, lambda _: None)
        platform = Platform(Path(folder) / "platform")
        try:
            platform.up()
            watch = Watch(platform, time.monotonic())
            watch.initial_load(timeout_s=ARRIVES_S)
            # Keep watching: the page measures speed only while it watches.
            with serving_platform(platform.state_dir) as served:
                for change in ORDER_CHANGES:
                    watch.make(change, timeout_s=ARRIVES_S)
                _run("reconcile", "--folder", str(platform.state_dir))
                shoot(browser, served.url, LIVE, wait_until_drawn)
        finally:
            platform.remove()
    typer.echo("\n".join(str((FOLDER / name).relative_to(ROOT)) for name in (*LIVE, *REVIEWED)))


def _run(*arguments: str) -> None:
    """Run `./lake …`. Raises PictureError with its last line if it fails."""
    done = subprocess.run(
        [sys.executable, "-m", "cli", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stdout + done.stderr).strip().rpartition("\n")[2]
        raise PictureError(f"./lake {' '.join(arguments)} has failed: {last}")
