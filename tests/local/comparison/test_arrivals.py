"""Late rows are never reported as different; real differences are reported once the lake has all earlier changes."""

import dataclasses
import itertools
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import pyarrow
import pytest
from confluent_kafka import KafkaException

from local.comparison.compare import Limits, compare_table
from local.comparison.describe import Compared
from local.comparison.platform_sides import LogArrivals, QueriedArrivals
from local.comparison.run import Sides, compare_tables
from local.comparison.source import SourceLook
from local.look.json_lines import consumed
from local.look.lake import Lake
from local.services.postgres import ConnectionParameters
from settings.pipeline import CapturedTableSettings
from tests.conftest import execute
from tests.local.comparison.sides import AT_ONCE, ArrowLake, compared

A_WHILE = dataclasses.replace(AT_ONCE, timeout_s=2.0)
COLUMNS = {"id": "int8", "name": "text"}
FILE = "0/000000000041_1_2.json"


class Told:
    """Stands in for the path to the lake: it reaches a position after this many checks."""

    def __init__(self, asked: float) -> None:
        self.left = asked

    def has(self, _position: str) -> bool:
        self.left -= 1
        return self.left < 0


def lake(*names: str | None) -> pyarrow.Table:
    return pyarrow.table({"id": pyarrow.array(range(1, len(names) + 1), pyarrow.int64()), "name": list(names)})


@pytest.fixture
def three(database: ConnectionParameters) -> ConnectionParameters:
    execute(
        database, "CREATE TABLE t (id bigint PRIMARY KEY, name text); INSERT INTO t VALUES (1,'a'), (2,'b'), (3,'c')"
    )
    return database


@pytest.mark.integration
def test_a_row_that_the_lake_may_get_yet_is_late_and_not_different(three: ConnectionParameters) -> None:
    table = compared("t", COLUMNS, lake("a", "old"))
    found = compare_table(three, table, A_WHILE, arrivals=Told(float("inf")))
    assert (found.missing, found.extra, found.different, found.late) == (0, 0, 0, 2)
    assert not found.equal
    assert {one.kind for one in found.shown} == {"late"}


@pytest.mark.integration
def test_what_differs_is_told_once_the_lake_has_all_and_not_when_the_time_is_over(three: ConnectionParameters) -> None:
    table = compared("t", COLUMNS, lake("a", "old", None, "d"))
    began = time.monotonic()
    found = compare_table(three, table, Limits(timeout_s=60), arrivals=Told(2))
    assert time.monotonic() - began < 20
    assert (found.missing, found.extra, found.different, found.late) == (0, 1, 2, 0)


@pytest.mark.integration
def test_a_row_that_was_another_in_between_is_not_proven_to_differ(
    three: ConnectionParameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row 2 is equal in each pass but changed and was restored in between; the lake has the interim state."""
    original = SourceLook.__init__

    def there_and_back(self: SourceLook, *given: Any, **more: Any) -> None:
        execute(three, "UPDATE t SET name = 'meanwhile' WHERE id = 2; UPDATE t SET name = 'b' WHERE id = 2")
        original(self, *given, **more)

    monkeypatch.setattr(SourceLook, "__init__", there_and_back)
    found = compare_table(three, compared("t", COLUMNS, lake("a", "meanwhile", "lost")), A_WHILE, arrivals=Told(0))
    assert (found.different, found.late) == (1, 1)


@pytest.mark.integration
def test_who_may_read_some_columns_only_hears_what_differs(three: ConnectionParameters) -> None:
    """That role can't read system columns."""
    execute(three, "CREATE ROLE half LOGIN PASSWORD 'h'; GRANT SELECT (id, name) ON t TO half")
    try:
        role = {**three, "user": "half", "password": "h"}
        found = compare_table(role, compared("t", COLUMNS, lake("a", "b")), Limits(timeout_s=60), arrivals=Told(0))
    finally:
        execute(three, "DROP OWNED BY half; DROP ROLE half")
    assert (found.missing, found.late) == (1, 0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class CommittedLake(ArrowLake):
    """A lake with commits; `commits` yields one per pass, `reads` records what was read."""

    commits: Iterator[str] = dataclasses.field(default_factory=lambda: itertools.repeat("1"))
    reads: list[str] = dataclasses.field(default_factory=list)

    def last_commit(self) -> str | None:
        return next(self.commits)

    def stream(self, columns: list[str], batch_rows: int, *, as_of: str | None = None) -> Iterator[pyarrow.RecordBatch]:
        self.reads.append("read")
        yield from super().stream(columns, batch_rows, as_of=as_of)


@pytest.mark.integration
def test_a_commit_is_read_once_however_often_is_looked(three: ConnectionParameters) -> None:
    table = compared("t", COLUMNS)
    still = CommittedLake(now=[lake("a", "b")])
    found = compare_table(three, dataclasses.replace(table, lake=still), A_WHILE, arrivals=Told(float("inf")))
    assert found.looks > 4
    # Everything for the sums, then the differing chunks, then these rows in Python.
    assert len(still.reads) == 3
    moving = CommittedLake(now=[*[lake("a", "b")] * 4, lake("a", "b", "c")], commits=map(str, itertools.count()))
    found = compare_table(three, dataclasses.replace(table, lake=moving), A_WHILE, arrivals=Told(float("inf")))
    assert found.equal
    assert len(moving.reads) == 5


@pytest.mark.integration
def test_tables_wait_at_the_same_time(three: ConnectionParameters, tmp_path: Path) -> None:
    """Each of four waits a second or more; one that doesn't wait is reported at once."""
    schema = tmp_path / "t.avsc"
    schema.write_text('{"fields": []}')
    tables = []
    for number, rows in enumerate((lake("a", "b"), lake("a", "b"), lake("a", "b", "c"), lake("a"), lake("b"))):
        execute(three, f"CREATE TABLE t{number} AS SELECT * FROM t")
        settings = {"source": f"public.t{number}", "how": "log", "key": ["id"], "truncate": "stop"}
        entry = CapturedTableSettings.model_validate(settings)
        tables.append(Compared(entry=entry, schema_file=schema, lake=ArrowLake(now=[rows])))
    began = time.monotonic()
    found = list(compare_tables(Sides(three, tables, arrivals=lambda _wanted: Told(2)), Limits(timeout_s=60)))
    took = time.monotonic() - began
    assert found[0].table == "public.t2"
    assert found[0].equal
    assert sorted((one.table, one.missing, one.different) for one in found[1:]) == [
        ("public.t0", 1, 0),
        ("public.t1", 1, 0),
        ("public.t3", 2, 0),
        ("public.t4", 2, 1),
    ]
    assert took < sum(one.seconds for one in found[1:]) / 2


@dataclasses.dataclass(frozen=True, kw_only=True)
class FarLake(Lake):
    """A table whose newest commit has consumed this object last."""

    consumed: str | None
    base_uri: str = "memory://lake"

    def last_commit(self) -> str | None:
        return "1"

    def progress(self) -> str | None:
        return self.consumed and json.dumps({"watermarks": {"0": self.consumed}})


ARRIVED: dict[str, Callable[..., Any]] = {
    "is_sent": lambda _p: True,
    "topic_end": lambda: 42,
    "landed": lambda: 42,
    "is_there": lambda _n: True,
    "lands_behind": lambda _n: False,
}


def unanswered(*_: object) -> bool:
    raise KafkaException("no broker")


@pytest.mark.parametrize(
    ("last", "steps", "there"),
    [
        (FILE, {}, True),
        (FILE, {"is_sent": lambda _p: False}, False),
        (FILE, {"is_sent": unanswered}, False),
        (None, {}, False),
        (None, {"topic_end": lambda: 0}, True),
        # Two more events, which become no line of an object: the sink has them, but no object does.
        (FILE, {"topic_end": lambda: 44, "landed": lambda: 43}, False),
        (FILE, {"topic_end": lambda: 44, "landed": lambda: 44}, True),
        (FILE, {"topic_end": lambda: 44, "landed": lambda: 44, "lands_behind": lambda name: name == FILE}, False),
        # While changes continue, another object always follows.
        (FILE, {"landed": lambda: 50, "lands_behind": lambda _n: True}, True),
        # The object is a former topic's, and the recreated one has landed objects.
        (FILE, {"topic_end": lambda: 3, "is_there": lambda _n: False, "lands_behind": lambda name: name == ""}, False),
        (FILE, {"topic_end": lambda: 3, "is_there": lambda _n: False}, True),
    ],
)
def test_the_lake_has_a_position_once_each_step_of_the_way_has(
    last: str | None, steps: dict[str, Callable[..., Any]], there: bool
) -> None:
    arrivals = LogArrivals(cast("Any", Mock()), cast("Any", SimpleNamespace(lake=FarLake(consumed=last))))
    for name, step in {**ARRIVED, **steps}.items():
        setattr(arrivals, f"_{name}", step)
    assert arrivals.has("0/1") is there


@pytest.mark.parametrize(
    ("progress", "name"),
    [
        (None, ""),
        ("1700000000000", ""),
        ("topic,0:7", ""),
        (json.dumps({"watermarks": {}}), ""),
        (json.dumps({"watermarks": {"1": "1/000000000007_1_2.json", "0": FILE}}), FILE),
        (json.dumps({"watermarks": {"demo/0": f"demo/{FILE}"}}), FILE),
    ],
)
def test_the_last_object_is_what_a_commits_progress_names(progress: str | None, name: str) -> None:
    assert consumed(progress) == name


@pytest.fixture
def now() -> list[float]:
    """The clock's seconds, of which the last counts."""
    return [100.5]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "address"


@pytest.fixture
def arrivals(file: Path, now: list[float]) -> QueriedArrivals:
    return QueriedArrivals(file, clock=lambda: now[-1])


def test_only_a_look_that_began_after_the_question_counts(
    arrivals: QueriedArrivals, file: Path, now: list[float]
) -> None:
    file.write_text("100499\n")
    assert not arrivals.has("0/1")
    now.append(200.0)
    assert not arrivals.has("0/1")
    file.write_text("100500\n")
    assert arrivals.has("0/1")


def test_another_look_at_the_same_position_is_another_question(
    arrivals: QueriedArrivals, file: Path, now: list[float]
) -> None:
    """A transaction in progress has its place in the log before others see it."""
    file.write_text("100500\n")
    assert arrivals.has("0/1")
    now.append(101.0)
    assert not arrivals.has("0/1")
    assert not arrivals.has("0/2")


@pytest.mark.parametrize("text", [None, "", "soon"])
def test_a_job_that_has_not_looked_has_brought_nothing(arrivals: QueriedArrivals, file: Path, text: str | None) -> None:
    if text is not None:
        file.write_text(text)
    assert not arrivals.has("0/1")
