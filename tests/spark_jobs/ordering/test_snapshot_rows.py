"""Snapshot rows against changes that the snapshot didn't see, in orders observed with Debezium 3.7.

Each story has one key; one table gets all of them, in the same three commits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.cases import long
from tests.spark_jobs.events import Event, event
from tests.spark_jobs.lake import Lake

pytestmark = pytest.mark.integration

# An initial snapshot's rows have the slot's position: transactions that wrote before it may commit after it.
SLOT = 1_000
COMMITS = 3
Entry = Callable[[int], Event]


def initial(who: str) -> Entry:
    """A row of an initial snapshot."""
    return lambda key: event(key, SLOT, "r", customer_id=who)


def incremental(who: str) -> Entry:
    """A row of an incremental snapshot, which has no position."""
    return lambda key: event(key, 0, "r", customer_id=who) | {"__lsn": None}


def change(lsn: int, who: str) -> Entry:
    return lambda key: event(key, lsn, customer_id=who)


def delete(lsn: int) -> Entry:
    return lambda key: event(key, lsn, "d")


# One key's events in each commit, and its row's customer after each (None: no row).
STORIES: dict[str, tuple[list[list[Entry]], list[str | None]]] = {
    "a change from before an initial snapshot's position is newer, in the same commit": (
        [[initial("old"), change(SLOT - 16, "new")], [], []],
        ["new", "new", "new"],
    ),
    "a change from before an initial snapshot's position is newer, in a later commit": (
        [[initial("old")], [change(SLOT - 16, "new")], []],
        ["old", "new", "new"],
    ),
    "a delete from before an initial snapshot's position removes its row": (
        [[initial("old")], [delete(SLOT - 16)], []],
        ["old", None, None],
    ),
    "an initial snapshot in a second life replaces what came before": (
        [[change(80, "first life")], [initial("second life")], [change(SLOT + 8, "new")]],
        ["first life", "second life", "new"],
    ),
    "an initial snapshot's row that comes late leaves a newer row alone": (
        [[change(SLOT + 8, "new")], [initial("old")], []],
        ["new", "new", "new"],
    ),
    "an initial snapshot's row that comes late leaves a newer delete alone": (
        [[change(SLOT + 8, "new"), delete(SLOT + 16)], [initial("old")], []],
        [None, None, None],
    ),
    "an incremental snapshot replaces a row whose change was lost": (
        [[change(80, "stale")], [incremental("read")], [change(88, "new")]],
        ["stale", "read", "new"],
    ),
    "a change that an incremental snapshot didn't see is newer, whatever the position that others had reached": (
        [[change(2_000, "before")], [incremental("read"), change(2_008, "open then")], []],
        ["before", "open then", "open then"],
    ),
    "a delete that an incremental snapshot didn't see removes its row, in the same commit": (
        [[change(80, "before")], [incremental("read"), delete(88)], []],
        ["before", None, None],
    ),
    "what was deleted and, unseen, inserted again comes back, and a repeated delete leaves it there": (
        [[change(80, "before"), delete(88)], [incremental("read")], [delete(88), change(80, "before")]],
        [None, "read", "read"],
    ),
    "what was deleted and read in one commit is there, and a repeated delete leaves it there": (
        [[change(80, "before")], [delete(88), incremental("read")], [delete(88)]],
        ["before", "read", "read"],
    ),
    "a delete after an incremental snapshot removes what came back": (
        [[change(80, "before"), delete(88)], [incremental("read")], [delete(104)]],
        [None, "read", None],
    ),
    "snapshots of one row follow each other": (
        [[initial("first")], [incremental("second")], [incremental("third")]],
        ["first", "second", "third"],
    ),
    "a topic that is read again ends in the same row": (
        [
            [initial("old"), change(SLOT - 16, "new")],
            [initial("old")],
            [change(SLOT - 16, "new"), initial("old"), change(SLOT - 16, "new")],
        ],
        ["new", "old", "new"],
    ),
    "a change without a position goes to quarantine": (
        [[initial("old")], [lambda key: event(key, 0) | {"__lsn": None}], []],
        ["old", "old", "old"],
    ),
}


@dataclass(frozen=True)
class Told:
    """A table's content after each commit, by the story's place in STORIES, and the reasons for quarantined lines."""

    customers: Sequence[dict[int, str]]
    reasons: Sequence[str]


@pytest.fixture(scope="module", params=["COPY_ON_WRITE", long("MERGE_ON_READ")])
def told(request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Told:
    folder: Path = tmp_path_factory.mktemp("stories")
    limit = {"hoodie.streamer.quarantine.max.records": "1"}
    lake = Lake(spark, folder, extra=limit, arguments=["--table-type", request.param])
    customers = []
    for number in range(COMMITS):
        entries = [entry(key) for key, (commits, _) in enumerate(STORIES.values()) for entry in commits[number]]
        # A row outside all stories: no commit consists of snapshot rows alone, as on a table in use.
        lake.run(*entries, event(len(STORIES), 5_000 + 8 * number))
        rows: dict[int, dict[str, Any]] = lake.rows()
        customers.append({key: row["customer_id"] for key, row in rows.items()})
    return Told(customers, [entry["reason"] for entry in lake.quarantined()])


@pytest.mark.parametrize(("key", "story"), list(enumerate(STORIES)), ids=STORIES)
def test_a_snapshots_row_has_the_place_of_the_change_before_it(told: Told, key: int, story: str) -> None:
    assert [customers.get(key) for customers in told.customers] == STORIES[story][1]


def test_only_a_snapshots_row_may_come_without_a_position(told: Told) -> None:
    assert told.reasons == ["missing: __lsn"]


def test_a_snapshot_of_a_new_table_is_written_as_it_comes(lake: Lake) -> None:
    lake.run(initial("first")(1), initial("second")(1), incremental("other")(2))
    assert lake.column("customer_id") == {1: "second", 2: "other"}
    lake.run(event(1, 8, customer_id="new"), event(2, 8, "d"))
    assert lake.column("customer_id") == {1: "new"}
