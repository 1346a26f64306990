"""A topic's events delivered repeatedly, cut anywhere, with deletes, TRUNCATEs and snapshots among them.

A small database is simulated: the table must equal it, however often files of its topic come again.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from contract.events import LSN, OPERATION, TRUNCATE
from spark_jobs.ingest import Ingest
from spark_jobs.options import keys
from tests.cases import long
from tests.spark_jobs.events import TOPIC, Event, event
from tests.spark_jobs.fuzz import failing_commits, interrupted, try_histories
from tests.spark_jobs.lake import Lake
from tests.spark_jobs.model import PLACEHOLDER

pytestmark = pytest.mark.integration

KEYS = 4
OPERATIONS = [*["write"] * 4, *["small write", "delete", "read"] * 2, "lost write and read", "first read", "truncate"]
Values = tuple[str, str]


@dataclass(frozen=True)
class Delivery:
    """A stretch of the topic, cut into files before these offsets, delivered in one batch.

    `fails`: the first commit fails. `interrupted_s`: seconds until the first attempt is interrupted. `restarts`: the
    job restarts before; `from_scratch`: without its progress.
    """

    first: int
    end: int
    cuts: frozenset[int] = frozenset()
    fails: bool = False
    restarts: bool = False
    from_scratch: bool = False
    interrupted_s: float | None = None


@dataclass(frozen=True)
class History:
    """The database's events, (operation, key) by (operation, key), and the deliveries of its topic."""

    operations: Sequence[tuple[str, int]]
    deliveries: Sequence[Delivery]


class Database:
    """The source's content after each of its topic's events."""

    def __init__(self, operations: Sequence[tuple[str, int]]) -> None:
        self.topic: list[Event] = []
        self.rows_after: list[dict[int, Values]] = []
        self._rows: dict[int, Values] = {}
        self._lsn = 80
        for operation, key in operations:
            self._lsn += 8
            self._play(operation, key)

    def _play(self, operation: str, key: int) -> None:
        if operation in ("write", "lost write and read"):
            self._rows[key] = f"at {self._lsn}", f"[{self._lsn}]"
        if operation == "write":
            self._send(self._event(key, self._lsn))
        elif operation == "small write" and key in self._rows:
            self._rows[key] = f"at {self._lsn}", self._rows[key][1]
            self._send(self._event(key, self._lsn) | {"products": PLACEHOLDER})
        elif operation == "delete" and key in self._rows:
            del self._rows[key]
            self._send(event(key, self._lsn, "d"))
        elif operation == "truncate":
            self._rows.clear()
            self._send({OPERATION: TRUNCATE, "__db": "d", "__table": "t", "__schema": "s", LSN: self._lsn})
        elif operation.endswith("read") and key in self._rows:
            position = self._lsn if operation == "first read" else None
            self._send(self._event(key, position, "r"))

    def _event(self, key: int, lsn: int | None, op: str = "u") -> Event:
        customer, products = self._rows[key]
        return event(key, 0, op, customer_id=customer, products=products) | {LSN: lsn}

    def _send(self, sent: Event) -> None:
        self.topic.append(sent)
        self.rows_after.append(dict(self._rows))


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Draw a database's changes, and deliveries that cover the whole topic in the end."""
    steps = st.tuples(st.sampled_from(OPERATIONS), st.integers(1, KEYS))
    operations = draw(st.lists(steps, min_size=6, max_size=24))
    sent, done = len(Database(operations).topic), 0
    deliveries: list[Delivery] = []
    while done < sent:
        first = draw(st.integers(0, done))
        again = done > 0 and draw(st.booleans())
        end = draw(st.integers(first + 1, done)) if again and first < done else draw(st.integers(done + 1, sent))
        cuts = draw(st.frozensets(st.integers(first + 1, end), max_size=3))
        fails, restarts = (draw(st.integers(0, 3)) == 0 for _ in range(2))
        from_scratch = draw(st.integers(0, 5)) == 0
        interrupted_s = draw(st.sampled_from([None, None, 0.1, 0.3, 0.6, 0.9]))
        deliveries.append(Delivery(first if again else done, end, cuts, fails, restarts, from_scratch, interrupted_s))
        done = max(done, end)
    return History(operations, deliveries)


def _land(lake: Lake, topic: Sequence[Event], delivery: Delivery) -> None:
    bounds = sorted(
        {delivery.first, delivery.end, *(cut for cut in delivery.cuts if delivery.first < cut < delivery.end)}
    )
    for first, end in itertools.pairwise(bounds):
        name = f"{TOPIC}/0/{end - 1:012d}_{1_000 + first}_{1_000 + end - 1}.json"
        lake.land(*topic[first:end], name=name)


def _run(spark: SparkSession, history: History, table_type: str, folder: Path) -> None:
    database = Database(history.operations)
    limits = {keys.TRUNCATE: keys.TRUNCATE_APPLY, keys.FILES_SWEEP: "0"}
    lake = Lake(spark, folder, limits, ["--table-type", table_type])
    job: Ingest | None = None
    read = 0
    for number, delivery in enumerate(history.deliveries):
        _land(lake, database.topic, delivery)
        read = max(read, delivery.end)
        if delivery.from_scratch:
            lake.arguments = ["--table-type", table_type, "--ignore-checkpoint", str(number)]
        if job is None or delivery.restarts or delivery.from_scratch:
            job = lake.job()
        if delivery.interrupted_s is not None:
            with interrupted(spark, delivery.interrupted_s):
                job.run_batch()
            job = lake.job()
        elif delivery.fails:
            with failing_commits(), pytest.raises(Exception, match="Failed to"):
                job.run_batch()
            job.load()
        while job.run_batch() is not None:
            pass
        rows = lake.rows() if lake.commits() else {}
        found = {key: (row["customer_id"], row["products"]) for key, row in rows.items()}
        assert found == database.rows_after[read - 1], f"after delivery {number}: {lake.log[-5:]}"
    assert lake.quarantined() == []


# The sequence that found the bug, and the same with a TRUNCATE: read again whole, cut in two, or from scratch.
STEPS = [("write", 1), ("read", 1), ("delete", 1), ("write", 2)]
REPAIRED = [("write", 1), ("lost write and read", 1), ("write", 2), ("write", 3)]
EMPTIED = [("write", 1), ("read", 1), ("truncate", 1), ("write", 2)]
# A random history found it: the row that brings a lost change is in one file with the TRUNCATE before it.
REFILLED = [("write", 2), ("truncate", 1), ("write", 1), ("lost write and read", 1)]
# The last event lacks the large value (TOAST).
KEPT_BACK = [("write", 1), ("read", 1), ("write", 1), ("small write", 1)]
AGAIN: dict[str, list[Delivery]] = {
    "whole": [Delivery(0, 4), Delivery(0, 4)],
    "cut behind the row": [Delivery(0, 4), Delivery(0, 2), Delivery(2, 4)],
    "the row alone": [Delivery(0, 4), Delivery(1, 2)],
    "from scratch": [Delivery(0, 4), Delivery(0, 4, frozenset({2}), from_scratch=True)],
    "the first alone": [Delivery(0, 4), Delivery(0, 1)],
    "one more behind": [Delivery(0, 3), Delivery(0, 4)],
}


# These in each run; `./lake dev test long` runs the others.
SHORT = {("delete", "cut behind the row"), ("large value", "from scratch"), ("refilled", "from scratch")}
WAYS = {"delete": STEPS, "lost change": REPAIRED, "truncate": EMPTIED, "large value": KEPT_BACK, "refilled": REFILLED}


@pytest.mark.parametrize(
    ("steps", "deliveries"),
    [
        pytest.param(
            WAYS[way], AGAIN[again], id=f"{again}-{way}", marks=[] if (way, again) in SHORT else pytest.mark.long
        )
        for way, again in itertools.product(WAYS, AGAIN)
    ],
)
def test_what_comes_again_changes_nothing(
    spark: SparkSession, tmp_path: Path, steps: Any, deliveries: list[Delivery]
) -> None:
    _run(spark, History(steps, deliveries), "COPY_ON_WRITE", tmp_path)


def test_the_first_snapshot_of_a_topic_that_was_made_again_is_taken_in(lake: Lake) -> None:
    lake.run(event(1, 80, "c"), event(1, 96, "d"), event(2, 104, "c"))
    lake.land(event(1, 0, "r") | {LSN: None}, name=f"{TOPIC}/0/{0:012d}_9_9.json")
    assert lake.run().upserts == 1
    assert sorted(lake.rows()) == [1, 2]


def test_a_late_event_that_a_placeholder_has_passed_is_told(lake: Lake) -> None:
    lake.extra = {keys.FILES_SWEEP: "0"}
    passed = (event(1, 4, "c", products='["first"]'), event(1, 80, products=PLACEHOLDER), event(2, 88))
    lake.land(*passed, name=f"{TOPIC}/0/{9:012d}_1_9.json")
    lake.run()
    assert not [line for line in lake.log if "TOAST" in line]
    late = [event(key, 8 * key, products='["late"]') for key in (1, 2)]
    lake.land(*late, name=f"{TOPIC}/0/{1:012d}_1_1.json")
    lake.run()
    assert lake.rows()[1]["products"] == '["first"]'
    assert [line[:51] for line in lake.log if "TOAST" in line] == [
        "events came late or again for 2 rows that are newer"
    ]


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", long("MERGE_ON_READ")])
def test_any_delivery_ends_as_the_database(
    spark: SparkSession, table_type: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(history: History, folder: Path) -> None:
        _run(spark, history, table_type, folder)

    try_histories(histories(), run, f"deliveries {table_type}", capsys)
