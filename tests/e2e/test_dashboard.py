"""The live page of a running platform while a service hangs; test_live_page covers the rest, in a browser."""

import time
from collections.abc import Callable, Iterator

import pytest

from contract.states import Word
from local.dashboard.watcher import Picture, Watcher
from local.platform.platform import Platform
from tests.e2e.faults import suspended

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900), pytest.mark.long]

ARRIVES_S = 180


@pytest.fixture
def watcher(platform: Platform) -> Iterator[Watcher]:
    watching = Watcher(platform)
    watching.start()
    try:
        yield watching
    finally:
        watching.close()


def wait(watcher: Watcher, question: Callable[[Picture], bool], what: str, within_s: float = ARRIVES_S) -> Picture:
    deadline = time.monotonic() + within_s
    while not question(picture := watcher.picture):
        assert time.monotonic() < deadline, f"not {what} within {within_s:.0f} s: {picture.state}, {picture.unseen}"
        time.sleep(0.1)
    return picture


def settled(picture: Picture) -> bool:
    return picture.state.word == Word.UP_TO_DATE and bool(picture.commits) and bool(picture.stages)


def test_a_service_that_hangs_freezes_nothing(platform: Platform, watcher: Watcher) -> None:
    wait(watcher, settled, "up to date")
    with suspended(platform, "s3"):
        picture = wait(watcher, lambda picture: picture.state.word == Word.FAILING, "failing", within_s=5)
        assert picture.state.reason.startswith("s3")
        wait(watcher, lambda now: now.at > picture.at, "going on", within_s=3)
    wait(watcher, settled, "up to date again")
