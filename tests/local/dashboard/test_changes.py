"""The last changes of captured tables, from events, and of queried tables, from commits."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import fastavro
import pyarrow
import pytest
from confluent_kafka import KafkaException

from local.dashboard import commit_changes
from local.dashboard.changes import COLUMNS, FIRST_EVENTS, SHOWN, Change, TopicChanges, differing
from local.dashboard.commit_changes import COMMITS, CommitChanges, read_versions
from local.look.topic import RawEvent
from local.state.history import Commit, instant_time
from spark_jobs.sources.postgres.detection import Mark, Progress
from tests.hudi_files import HudiFiles

KEY = b'{"id": 1}'
DATE = {"type": "int", "connect.name": "io.debezium.time.Date"}
SCHEMA = json.dumps({"fields": [{"name": "day", "type": ["null", DATE]}, {"name": "n", "type": "int"}]})
UNSEEN = ("", "not seen", "")


def event(operation: str, offset: int = 0, *, key: bytes = KEY, **row: Any) -> RawEvent:
    value = {"id": 1, **row, "__op": operation, "__source_ts_ms": 1_795_346_725_000}
    value["__deleted"] = "true" if operation == "d" else "false"
    return RawEvent(offset=offset, key=key, value=json.dumps(value).encode())


TRUNCATED, SETTLED = (RawEvent(offset=0, key=b"{}", value=json.dumps({"__op": one}).encode()) for one in "ts")


class Growing:
    """A topic of these events, which records where reads begin; `late` ones come after its end was queried."""

    def __init__(self, *events: RawEvent) -> None:
        self.found, self.late, self.read = list(events), 0, list[int]()

    def bounds(self) -> tuple[int, int]:
        return 0, len(self.found) - self.late

    def raw_events(self, start: int) -> list[RawEvent]:
        self.read.append(start)
        return self.found[start:]


def followed(*events: RawEvent) -> list[Change]:
    return TopicChanges("t", cast("Any", Growing(*events)), SCHEMA).read()


@pytest.mark.parametrize(
    ("events", "what", "columns"),
    [
        ([event("r", name="a", city="x"), event("u", name="b", city="x")], "updated", [("name", "a", "b")]),
        ([event("c", name="a")], "inserted", [("id", "", "1"), ("name", "", "a")]),
        ([event("c", name="a"), event("d", name="a")], "deleted", [("id", "1", ""), ("name", "a", "")]),
        ([event("u", name="b")], "updated", [UNSEEN, ("id", "", "1"), ("name", "", "b")]),
        ([event("r", name="a"), event("u", name="a")], "updated", [("", "", "the same")]),
        (
            [event("r", day=None, n=1), event("u", day=2, n=2)],
            "updated",
            [("day", "NULL", "1970-01-03"), ("n", "1", "2")],
        ),
        ([event("c", name="a"), TRUNCATED], "emptied", [("", "", "")]),
        ([event("c", name="a"), TRUNCATED, event("c", name="a")], "inserted", [("id", "", "1"), ("name", "", "a")]),
    ],
    ids=["update", "insert", "delete", "never seen", "the same", "date", "truncate", "after a truncate"],
)
def test_a_change_is_the_columns_that_differ(
    events: list[RawEvent], what: str, columns: list[tuple[str, str, str]]
) -> None:
    newest = followed(*events)[0]
    assert (newest.what, [*newest.columns]) == (what, columns)


def test_loaded_rows_tombstones_and_what_is_no_json_are_no_changes() -> None:
    tombstone, broken = (RawEvent(offset=1, key=KEY, value=value) for value in (None, b"{"))
    assert followed(event("r"), tombstone, broken, SETTLED) == []


def test_of_wide_rows_and_long_keys_the_beginning_is_shown() -> None:
    wide = {f"c{number}": number for number in range(1_599)}
    (change,) = followed(event("c", key=json.dumps({"id": "x" * 100_000}).encode(), **wide))
    assert [*change.columns][COLUMNS:] == [("and 1,560 more", "", "")]
    assert len(change.key) == 200


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("", "x" * 200, ("", "x" * 79 + "…")),
        ("x" * 200 + "old", "x" * 200 + "new", ("…" + "x" * 20 + "old", "…" + "x" * 20 + "new")),
        ("x" * 200, "x" * 200 + "new", ("…" + "x" * 20, "…" + "x" * 20 + "new")),
    ],
)
def test_of_long_values_the_part_that_differs_is_shown(before: str, after: str, shown: tuple[str, str]) -> None:
    ((_, *found),) = differing({"text": before}, {"text": after})
    assert tuple(found) == shown


def test_a_topic_is_read_on_from_where_the_last_look_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    topic = Growing(*(event("u", number, name=f"{number}") for number in range(FIRST_EVENTS + 50)))
    changes = TopicChanges("t", cast("Any", topic), SCHEMA)
    changes.read()
    assert len(changes.read()) == SHOWN
    topic.found += [event("u", FIRST_EVENTS + number, name=f"{number}") for number in (50, 51)]
    topic.late = 1
    for late in (1, 0):
        topic.late = late
        assert [change.columns for change in changes.read()[:2]] == [(("name", "50", "51"),), (("name", "1049", "50"),)]
    assert topic.read == [50, FIRST_EVENTS + 50]
    # A topic that was made again is shorter.
    topic.found = topic.found[:2]
    assert (found := changes.read())[0].columns == (("name", "0", "1"),)
    # While one can't be read, no other table's changes are missed.
    monkeypatch.setattr(topic, "bounds", Mock(side_effect=KafkaException("gone")))
    assert changes.read() == found


MARK = Mark(system="s", shape="t", horizon=1)
READ_MS = 1_795_346_725_500
CLEANING = {"name": "clean", "type": "record", "fields": [{"name": "earliestCommitToRetain", "type": "string"}]}


class Table(HudiFiles):
    """A queried table, with its commits as the page knows them."""

    def __init__(self, folder: Path, **columns: pyarrow.DataType) -> None:
        super().__init__(folder, pyarrow.schema([("id", pyarrow.int32()), *columns.items()]))
        self.commits: list[Commit] = []
        self.changes = self.follow()

    def follow(self) -> CommitChanges:
        return CommitChanges("t", self.lake, ["id"], cast("Any", SimpleNamespace(all=self.commits)))

    def look(self, *written: dict[str, Any], deleted: tuple[int, ...] = (), mark: Mark | None = MARK) -> None:
        instant = f"202611221100{len(self.commits):02d}000"
        self.commit(instant, *written, deleted=deleted)
        progress = Progress(table="t", mark=mark, read_ms=READ_MS + len(self.commits)).to_text()
        numbers = {"inserted": len(written), "updated": 0, "deleted": len(deleted)}
        self.commits.append(Commit(instant=instant, at=instant_time(instant), progress=progress, **numbers))

    @property
    def told(self) -> list[tuple[str, str, tuple[tuple[str, str, str], ...]]]:
        return [(change.what, change.key, change.columns) for change in self.changes.read()]


def row(number: int, name: str) -> dict[str, Any]:
    return {"id": number, "name": name}


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = Table(tmp_path / "t", name=pyarrow.string())
    table.look(row(1, "a"), row(2, "b"), row(9, "z"))
    return table


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The instants whose files are read."""
    found: list[str] = []

    def noting(*given: object, instant: str, **asked: object) -> object:
        found.append(instant)
        return read_versions(*given, instant=instant, **asked)  # type: ignore[arg-type]

    monkeypatch.setattr(commit_changes, "read_versions", noting)
    return found


def test_changes_are_told_with_the_time_of_the_look_that_found_them(table: Table) -> None:
    table.look(row(1, "A"))
    table.look(row(3, "c"), deleted=(2,))
    assert table.told == [
        ("inserted", "id = 3", (("id", "", "3"), ("name", "", "c"))),
        ("deleted", "id = 2", (("id", "2", ""), ("name", "b", ""))),
        ("updated", "id = 1", (("name", "a", "A"),)),
    ]
    assert [change.at for change in table.changes.read()] == [(READ_MS + number) / 1000 for number in (2, 2, 1)]


def test_values_of_all_kinds_become_text(tmp_path: Path) -> None:
    seen = datetime(2026, 11, 22, 1, 2, 3, tzinfo=UTC)
    kinds: dict[str, tuple[pyarrow.DataType, object, str]] = {
        "price": (pyarrow.decimal128(9, 2), Decimal("1.50"), "1.50"),
        "seen": (pyarrow.timestamp("us", tz="UTC"), seen, "2026-11-22 01:02:03.000000Z"),
        "day": (pyarrow.date32(), 20_779, "2026-11-22"),
        "tags": (pyarrow.list_(pyarrow.string()), ["a", "ß"], '["a", "ß"]'),
        "raw": (pyarrow.binary(), b"\xff\x00", "ff00"),
        "nothing": (pyarrow.string(), None, "NULL"),
    }
    table = Table(tmp_path / "kinds", **{name: kind for name, (kind, _, _) in kinds.items()})
    table.look({"id": 1})
    table.look({"id": 2, **{name: value for name, (_, value, _) in kinds.items()}})
    ((_, _, (_, *columns)),) = table.told
    assert columns == [(name, "", text) for name, (_, _, text) in kinds.items()]


def test_the_first_load_is_no_change_however_many_commits_it_took(tmp_path: Path) -> None:
    table = Table(tmp_path / "parts", name=pyarrow.string())
    table.look(row(1, "a"), mark=None)
    table.look(row(2, "b"), mark=None)
    table.look(row(3, "c"))
    assert table.told == []
    table.look(row(4, "d"))
    assert [key for _, key, _ in table.told] == ["id = 4"]


def test_only_the_newest_commits_are_read_once_and_none_more_than_is_shown(table: Table, read: list[str]) -> None:
    for number in range(COMMITS + 2):
        table.look(row(1, f"{number}"))
    assert len(table.told) == COMMITS
    assert read == [commit.instant for commit in reversed(table.commits[-COMMITS:])]
    table.look(row(1, "A"))
    assert table.told[0][2] == (("name", f"{COMMITS + 1}", "A"),)
    assert read[COMMITS:] == [table.commits[-1].instant]
    read.clear()
    table.look(*(row(number, "new") for number in range(100, 100 + 2 * SHOWN)))
    assert len(table.follow().read()) == SHOWN
    assert read == [table.commits[-1].instant]


def test_a_commit_of_large_or_cleaned_files_is_told_and_not_read(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    table.look(row(1, "A"), deleted=(2,))
    monkeypatch.setattr(commit_changes, "MOST_BYTES", 10)
    assert table.told == [("written", "rows: 2", (("", "", "not read: its files have 0 MB"),))]
    monkeypatch.undo()
    table.look(row(1, "B"))
    former, last = (commit.instant for commit in table.commits[-2:])
    with (table.folder / ".hoodie" / f"{last[:-3]}500.clean").open("wb") as file:
        fastavro.writer(file, CLEANING, [{"earliestCommitToRetain": last}])
    table.path(former).unlink()
    assert table.told[0] == ("written", "rows: 1", (("", "", "not read: the files before it are cleaned"),))


def test_while_the_lake_cant_be_read_the_former_changes_stay(table: Table) -> None:
    table.look(row(1, "A"))
    former = table.told
    table.look(row(1, "B"))
    table.path(table.commits[-1].instant).unlink()
    assert table.told == former
