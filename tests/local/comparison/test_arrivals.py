"""Late rows are never reported as different; real differences are reported once the lake has all earlier changes."""

import dataclasses
import itertools
import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pyarrow
import pytest
from confluent_kafka import KafkaException

from local.comparison.arrivals import LogArrivals, QueriedArrivals
from local.comparison.compare import Arrivals
from local.comparison.run import Sides, compare_tables
from local.look.json_lines import consumed
from local.look.lake import Lake
from local.services.postgres import ConnectionParameters
from local.services.source_database import Slot
from spark_jobs.options.keys import PROGRESS
from tests.conftest import execute
from tests.local.comparison.sides import ArrowLake, before_each_pass, compare, compared, entry, login
from tests.waiting import crowd

A_WHILE_S = 2.0
COLUMNS = {"id": "int8", "name": "text"}
FILE = "0/000000000041_1_2.json"


def after(checks: int) -> Arrivals:
    """Stand in for the path to the lake: it reaches a position after this many checks."""
    answers = itertools.chain([False] * checks, itertools.repeat(True))
    return lambda _position: next(answers)


def never(_position: str) -> bool:
    return False


def lake(*names: str | None) -> pyarrow.Table:
    return pyarrow.table({"id": pyarrow.array(range(1, len(names) + 1), pyarrow.int64()), "name": list(names)})


@pytest.fixture
def three(database: ConnectionParameters) -> ConnectionParameters:
    execute(
        database, "CREATE TABLE t (id bigint PRIMARY KEY, name text); INSERT INTO t VALUES (1,'a'), (2,'b'), (3,'c')"
    )
    return database


@pytest.mark.integration
def test_a_row_that_was_another_in_between_is_not_proven_to_differ(
    three: ConnectionParameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row 2 is equal in each pass but changed and was restored in between; the lake has the interim state."""
    there_and_back = "UPDATE t SET name = 'meanwhile' WHERE id = 2; UPDATE t SET name = 'b' WHERE id = 2"
    before_each_pass(monkeypatch, lambda: execute(three, there_and_back))
    found = compare(
        three, compared("t", COLUMNS, lake("a", "meanwhile", "lost")), timeout_s=A_WHILE_S, arrivals=after(0)
    )
    assert (found.different, found.late) == (1, 1)


@pytest.mark.integration
def test_who_may_read_some_columns_only_hears_what_differs(three: ConnectionParameters) -> None:
    """That role can't read system columns."""
    role = login(three, "SELECT (id, name) ON t")
    found = compare(role, compared("t", COLUMNS, lake("a", "b")), timeout_s=60, arrivals=after(0))
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
def test_what_the_lake_may_get_yet_is_late_and_a_commit_is_read_once_however_often_is_looked(
    three: ConnectionParameters,
) -> None:
    table = compared("t", COLUMNS)
    still = CommittedLake(now=[lake("a", "old")])
    found = compare(three, dataclasses.replace(table, lake=still), timeout_s=A_WHILE_S, arrivals=never)
    assert (found.missing, found.extra, found.different, found.late, found.equal) == (0, 0, 0, 2, False)
    assert {one.kind for one in found.shown} == {"late"}
    assert found.looks >= 4
    # Everything for the sums, then the differing chunks, then these rows in Python.
    assert len(still.reads) == 3
    moving = CommittedLake(now=[*[lake("a", "b")] * 4, lake("a", "b", "c")], commits=map(str, itertools.count()))
    found = compare(three, dataclasses.replace(table, lake=moving), timeout_s=60, arrivals=never)
    assert found.equal
    assert len(moving.reads) == 5


@pytest.mark.integration
def test_while_a_table_waits_its_commits_are_asked_for_and_rows_seldom_read(
    three: ConnectionParameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pass over a large table takes seconds; here a fifth of one."""
    asked, passes = list[float](), list[float]()

    def slowly() -> None:
        passes.append(time.monotonic())
        time.sleep(0.2)

    def arrives(_position: str) -> bool:
        asked.append(time.monotonic())
        return len(asked) > 4

    before_each_pass(monkeypatch, slowly)
    table = compared("t", COLUMNS, *[lake("a", "b")] * 3, lake("a", "b", "c"))
    found = compare(three, table, timeout_s=60, arrivals=arrives)
    assert found.equal
    # The chunks, their rows, these in Python; then nothing but what the source has meanwhile, until the lake has them.
    assert (found.looks, len(passes), len(asked)) == (4, 5, 5)
    assert asked[-1] <= passes[-1] < asked[-1] + 1


@pytest.mark.integration
def test_tables_wait_at_the_same_time(three: ConnectionParameters, tmp_path: Path) -> None:
    """Each of four waits until the lake has all, no longer; one that doesn't wait is reported at once."""
    lakes = lake("a", "old", None, "d"), lake("a", "b"), lake("a", "b", "c"), lake("a"), lake("b")
    tables = []
    for number, rows in enumerate(lakes):
        execute(three, f"CREATE TABLE t{number} AS SELECT * FROM t")
        tables.append(entry(ArrowLake(now=[rows]), tmp_path, source=f"public.t{number}", arrivals=after(2)))
    began = time.monotonic()
    found = list(compare_tables(Sides(three, tables), timeout_s=60))
    took = time.monotonic() - began
    assert found[0].table == "public.t2"
    assert found[0].equal
    assert sorted((one.table, one.missing, one.extra, one.different, one.late) for one in found[1:]) == [
        ("public.t0", 0, 1, 2, 0),
        ("public.t1", 1, 0, 0, 0),
        ("public.t3", 2, 0, 0, 0),
        ("public.t4", 2, 0, 1, 0),
    ]
    assert took < min(20 * crowd(), sum(one.seconds for one in found[1:]) / 2)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FarLake(Lake):
    """A table whose newest commit has consumed this object last."""

    consumed: str | None
    base_uri: str = "memory://lake"

    def last_commit(self) -> str | None:
        return "1"

    def newest_of_job(self) -> tuple[str, Mapping[str, str]]:
        return "1", {PROGRESS: json.dumps({"watermarks": {"0": self.consumed}})} if self.consumed else {}


@pytest.mark.parametrize(
    ("last", "behind", "end", "landed", "objects", "there"),
    [
        (FILE, 0, 42, 42, [FILE], True),
        (FILE, 8, 42, 42, [FILE], False),
        (FILE, KafkaException("no broker"), 42, 42, [FILE], False),
        (None, 0, 42, 42, [FILE], False),
        (None, 0, 0, 0, [], True),
        # Two more events, which become no line of an object: the sink has them, but no object does.
        (FILE, 0, 44, 43, [FILE], False),
        (FILE, 0, 44, 44, [FILE], True),
        (FILE, 0, 44, 44, [FILE, "0/000000000043_1_2.json"], False),
        # While changes continue, another object always follows.
        (FILE, 0, 42, 50, [FILE, "0/000000000049_1_2.json"], True),
        # The object is a former topic's, and the recreated one has landed objects.
        (FILE, 0, 3, 42, ["0/000000000002_1_2.json"], False),
        (FILE, 0, 3, 42, [], True),
    ],
)
def test_the_lake_has_a_position_once_each_step_of_the_way_has(
    last: str | None, behind: Any, end: int, landed: int, objects: list[str], there: bool
) -> None:
    def listed(Bucket: str, Prefix: str, StartAfter: str = "", MaxKeys: int = 0) -> dict[str, Any]:  # noqa: N803, ARG001
        keys = [f"cdc/t/{name}" for name in objects]
        found = [{"Key": key} for key in keys if key.startswith(Prefix) and key > StartAfter]
        return {"Contents": found} if found else {}

    arrivals = LogArrivals(
        slot=Mock(side_effect=[Slot(active=True, behind_bytes=behind) if behind in (0, 8) else behind]),
        end=lambda: end,
        landed=lambda: landed,
        s3=Mock(list_objects_v2=listed),
        bucket="landing",
        prefix="cdc/t/",
        lake=FarLake(consumed=last),
    )
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


def test_only_a_look_that_began_after_the_question_counts(tmp_path: Path) -> None:
    file, now = tmp_path / "address", [100.5]
    arrivals = QueriedArrivals(file, clock=lambda: now[-1])
    # A job that has not looked has brought nothing.
    assert not arrivals.has("0/1")
    for text in ("", "soon", "100499\n"):
        file.write_text(text)
        assert not arrivals.has("0/1")
        now.append(200.0)
    file.write_text("100500\n")
    assert arrivals.has("0/1")
    # Another question: a transaction in progress has its place in the log before others see it.
    assert not arrivals.has("0/1")
    assert not arrivals.has("0/2")
