"""The live page's picture of a running platform: right numbers after changes, and what it says when a service dies."""

import time
from collections.abc import Callable, Iterator

import pytest

from contract.source import SCHEMA
from contract.states import Word
from local.dashboard.texts import table_rows
from local.dashboard.watcher import Picture, Watcher
from local.platform.platform import Platform
from tests.conftest import execute
from tests.e2e.faults import kill, suspended

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900), pytest.mark.long]

ORDER = 980_000
ARRIVES_S = 60
INSERT = (
    f"INSERT INTO {SCHEMA}.orders VALUES ({ORDER}, 'RICSU', 8, '1998-05-06', '1998-06-03', NULL, 2, 6.19,"
    " 'Richter Supermarkt', 'Starenweg 5', 'Genève', NULL, '1204', 'Switzerland')"
)


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


def written(picture: Picture) -> tuple[int, ...]:
    (row,) = table_rows(picture)
    return tuple(int(cell.replace(",", "")) for cell in row[1:4])


def test_an_insert_an_update_and_a_delete_are_counted_and_shown(platform: Platform, watcher: Watcher) -> None:
    before = written(wait(watcher, settled, "up to date"))
    steps = (
        (INSERT, "inserted", (1, 0, 0)),
        (f"UPDATE {SCHEMA}.orders SET freight = 7 WHERE order_id = {ORDER}", "updated", (0, 1, 0)),
        (f"DELETE FROM {SCHEMA}.orders WHERE order_id = {ORDER}", "deleted", (0, 0, 1)),
    )
    for statement, word, rows in steps:
        execute(platform.endpoints.source, statement)
        before = tuple(had + more for had, more in zip(before, rows, strict=True))

        def arrived(picture: Picture, wanted: tuple[int, ...] = before) -> bool:
            return settled(picture) and written(picture) == wanted

        picture = wait(watcher, arrived, f"{word}, as {before}")
        newest = picture.changes[0]
        assert (newest.what, newest.key) == (word, f"order_id = {ORDER}")
        lake = next(stage for stage in picture.stages if stage.name == "lake")
        assert (lake.lag_events, lake.lag_s) == (0, 0.0)
        assert picture.commits[-1].instant in str(lake.position)


def test_the_lakes_newest_commit_is_on_the_page_within_three_seconds(platform: Platform, watcher: Watcher) -> None:
    wait(watcher, settled, "up to date")
    known = platform.lake.last_commit()
    execute(platform.endpoints.source, f"UPDATE {SCHEMA}.orders SET freight = freight + 1 WHERE order_id = 10250")
    while (newest := platform.lake.last_commit()) == known:
        time.sleep(0.05)
    wait(watcher, lambda picture: picture.commits[-1].instant == newest, "on the page", within_s=3)


def test_a_service_that_dies_and_comes_back_is_told(platform: Platform, watcher: Watcher) -> None:
    wait(watcher, settled, "up to date")
    kill(platform, "sink")
    picture = wait(watcher, lambda picture: picture.state.word == Word.FAILING, "failing", within_s=5)
    assert picture.state.parts == ("sink",)
    assert picture.state.reason.startswith("sink is dead")
    assert [name for name, _ in picture.logs] == ["sink"]
    platform.up()
    picture = wait(watcher, settled, "up to date again")
    assert [failure.text for failure in picture.failures if failure.ended and failure.text.startswith("sink is dead")]


def test_a_service_that_hangs_freezes_nothing(platform: Platform, watcher: Watcher) -> None:
    wait(watcher, settled, "up to date")
    with suspended(platform, "s3"):
        picture = wait(watcher, lambda picture: picture.state.word == Word.FAILING, "failing", within_s=5)
        assert picture.state.reason.startswith("s3")
        wait(watcher, lambda now: now.at > picture.at, "going on", within_s=3)
    wait(watcher, settled, "up to date again")
