"""Row changes of commits, and the last changes of captured and queried tables."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import fastavro
import pyarrow
import pytest

from local.dashboard import queried_changes
from local.dashboard.changes import COLUMNS, FIRST_EVENTS, SHOWN, Change, Changes, date_columns, differing
from local.dashboard.queried_changes import COMMITS, QueriedChanges, UnreadError, read_versions
from local.look.lake import LakeError
from local.look.topic import RawEvent
from local.state.history import Commit, instant_time
from spark_jobs.sources.postgres.detection import Mark, Progress
from tests.hudi_files import HudiFiles

FIRST, SECOND, THIRD = (f"2026112211000{second}000" for second in (1, 2, 3))
CLEANING = {"name": "clean", "type": "record", "fields": [{"name": "earliestCommitToRetain", "type": "string"}]}


@pytest.fixture
def table(tmp_path: Path) -> HudiFiles:
    table = HudiFiles(tmp_path / "t", pyarrow.schema([("id", pyarrow.int32()), ("name", pyarrow.string())]))
    table.commit(FIRST, {"id": 1, "name": "a"}, {"id": 2, "name": "b"}, {"id": 3, "name": "c"})
    return table


def versions(table: HudiFiles, since: str, instant: str) -> set[tuple[object, object]]:
    """Names before and after."""
    found = read_versions(table.lake, since=since, instant=instant)
    return {(before and before["name"], after and after["name"]) for before, after in found}


def clean(table: HudiFiles, removed: str, kept: str) -> None:
    """Remove a commit's files, and record that."""
    with (table.folder / ".hoodie" / f"{kept[:-3]}500.clean").open("wb") as file:
        fastavro.writer(file, CLEANING, [{"earliestCommitToRetain": kept}])
    table.path(removed).unlink()


def test_what_a_commit_wrote_is_told_before_and_after_and_nothing_else(table: HudiFiles) -> None:
    table.commit(SECOND, {"id": 1, "name": "A"}, {"id": 4, "name": "d"}, deleted=(2,))
    table.commit(THIRD, {"id": 3, "name": "C"})
    assert versions(table, FIRST, SECOND) == {("a", "A"), (None, "d"), ("b", None)}
    assert versions(table, SECOND, THIRD) == {("c", "C")}


def test_a_row_whose_former_file_is_cleaned_is_no_new_one(table: HudiFiles) -> None:
    table.commit(SECOND, {"id": 1, "name": "A"})
    clean(table, FIRST, SECOND)
    with pytest.raises(UnreadError, match="the files before it are cleaned"):
        versions(table, FIRST, SECOND)


def test_a_file_that_is_missing_but_not_cleaned_is_an_error(table: HudiFiles) -> None:
    table.commit(SECOND, {"id": 1, "name": "A"})
    table.path(SECOND).unlink()
    with pytest.raises(LakeError):
        versions(table, FIRST, SECOND)


def test_values_of_all_kinds_become_text(tmp_path: Path) -> None:
    kinds = {
        "price": (pyarrow.decimal128(9, 2), Decimal("1.50"), "1.50"),
        "seen": (
            pyarrow.timestamp("us", tz="UTC"),
            datetime(2026, 11, 22, 1, 2, 3, tzinfo=UTC),
            "2026-11-22 01:02:03.000000Z",
        ),
        "day": (pyarrow.date32(), 20_779, "2026-11-22"),
        "tags": (pyarrow.list_(pyarrow.string()), ["a", "ß"], '["a", "ß"]'),
        "raw": (pyarrow.binary(), b"\xff\x00", "ff00"),
        "nothing": (pyarrow.string(), None, None),
    }
    schema = pyarrow.schema([("id", pyarrow.int32()), *((name, kind) for name, (kind, _, _) in kinds.items())])
    table = HudiFiles(tmp_path / "kinds", schema)
    table.commit(FIRST, {"id": 1})
    table.commit(SECOND, {"id": 2, **{name: value for name, (_, value, _) in kinds.items()}})
    assert read_versions(table.lake, since=FIRST, instant=SECOND) == [
        (None, {"id": "2", **{name: text for name, (_, _, text) in kinds.items()}})
    ]


def event(offset: int, operation: str, **row: Any) -> RawEvent:
    value = {"id": 1, **row, "__op": operation, "__source_ts_ms": 1_795_346_725_000}
    value["__deleted"] = "true" if operation == "d" else "false"
    return RawEvent(offset=offset, key=b'{"id": 1}', value=json.dumps(value).encode())


def taken(*events: RawEvent, dates: tuple[str, ...] = ()) -> list[tuple[str, tuple[tuple[str, str, str], ...], bool]]:
    changes = Changes("t", dates)
    changes.take(events)
    return [(change.what, change.columns, change.seen) for change in changes.newest]


class Following:
    """A topic with this many events of one row, which records where reads begin."""

    def __init__(self, end: int) -> None:
        self.has = 0, end
        self.read: list[int] = []

    def bounds(self) -> tuple[int, int]:
        return self.has

    def raw_events(self, start: int) -> list[RawEvent]:
        self.read.append(start)
        return [event(offset, "u", name=f"{offset}") for offset in range(start, self.has[1])]


def test_a_topic_is_read_on_from_where_the_last_look_ended() -> None:
    changes, topic = Changes("t"), cast("Any", Following(FIRST_EVENTS + 50))
    changes.read(topic)
    changes.read(topic)
    topic.has = 0, FIRST_EVENTS + 52
    assert changes.read(topic)[0].columns == (("name", f"{FIRST_EVENTS + 50}", f"{FIRST_EVENTS + 51}"),)
    assert topic.read == [50, FIRST_EVENTS + 50]


def test_a_topic_that_was_made_anew_is_read_from_its_beginning() -> None:
    changes, topic = Changes("t"), cast("Any", Following(9))
    changes.read(topic)
    topic.has = 0, 2
    assert changes.read(topic)[0].offset == 1
    assert topic.read == [0, 0]


def test_an_update_shows_the_columns_that_changed() -> None:
    (found,) = taken(event(0, "r", name="a", city="x"), event(1, "u", name="b", city="x"))
    assert found == ("updated", (("name", "a", "b"),), True)


def test_an_insert_has_no_before_and_a_delete_no_after() -> None:
    deleted, inserted = taken(event(0, "c", name="a"), event(1, "d", name="a"))
    assert inserted == ("inserted", (("id", "", "1"), ("name", "", "a")), True)
    assert deleted == ("deleted", (("id", "1", ""), ("name", "a", "")), True)


def test_a_row_that_was_never_seen_is_said_so() -> None:
    (found,) = taken(event(7, "u", name="b"))
    assert found[2] is False


def test_loaded_rows_tombstones_and_what_is_no_json_are_no_changes() -> None:
    no_row = RawEvent(offset=1, key=b"{}", value=None)
    assert taken(event(0, "r"), no_row, RawEvent(offset=2, key=b"{}", value=b"{")) == []


def test_days_are_dates_and_what_is_missing_is_null() -> None:
    (found,) = taken(event(0, "r", day=None), event(1, "u", day=20779), dates=("day",))
    assert found[1] == (("day", "NULL", "2026-11-22"),)


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


def test_the_dates_are_the_schemas(tmp_path: Path) -> None:
    schema = tmp_path / "t.avsc"
    date = {"type": "int", "connect.name": "io.debezium.time.Date"}
    schema.write_text(json.dumps({"fields": [{"name": "day", "type": ["null", date]}, {"name": "n", "type": "int"}]}))
    assert date_columns(schema) == {"day"}
    assert date_columns(tmp_path / "none.avsc") == frozenset()


class Growing:
    """A topic that gets its last event after its end was queried and before it is read."""

    def __init__(self, *events: RawEvent) -> None:
        self.found, self.ends = events, iter((len(events) - 1,))

    def bounds(self) -> tuple[int, int]:
        return 0, next(self.ends, len(self.found))

    def raw_events(self, start: int) -> list[RawEvent]:
        return list(self.found[start:])


def test_an_event_that_comes_while_others_are_read_is_taken_once() -> None:
    changes, topic = Changes("t"), cast("Any", Growing(event(0, "c", name="a"), event(1, "u", name="b")))
    assert [change.offset for change in changes.read(topic)] == [1, 0]
    assert [change.offset for change in changes.read(topic)] == [1, 0]


def test_of_a_wide_row_the_first_columns_are_shown_and_the_others_counted() -> None:
    changes = Changes("t")
    changes.take([event(0, "c", **{f"c{number}": number for number in range(1_599)})])
    (change,) = changes.newest
    assert (len(change.columns), change.more) == (COLUMNS, 1_600 - COLUMNS)


def test_a_long_key_is_cut() -> None:
    changes = Changes("t")
    key = json.dumps({"id": "x" * 100_000}).encode()
    changes.take([RawEvent(offset=0, key=key, value=event(0, "c").value)])
    assert len(changes.newest[0].key) == 200


MARK = Mark(system="s", shape="t", horizon=1)
READ_MS = 1_795_346_725_500


class Table(HudiFiles):
    """A queried table, with its commits as the page knows them."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, pyarrow.schema([("id", pyarrow.int32()), ("name", pyarrow.string())]))
        self.commits: list[Commit] = []

    def look(self, *written: tuple[int, str], deleted: tuple[int, ...] = (), mark: Mark | None = MARK) -> None:
        """Commit the result of a query."""
        instant = f"202611221100{len(self.commits):02d}000"
        self.commit(instant, *({"id": number, "name": name} for number, name in written), deleted=deleted)
        progress = Progress(table="t", mark=mark, read_ms=READ_MS + len(self.commits)).to_text()
        numbers = {"inserted": len(written), "updated": 0, "deleted": len(deleted)}
        commit = Commit(table="t", instant=instant, at=instant_time(instant), progress=progress, **numbers)
        self.commits.append(commit)

    @property
    def changes(self) -> QueriedChanges:
        return QueriedChanges("t", self.lake, ["id"])


@pytest.fixture
def queried(tmp_path: Path) -> Table:
    queried = Table(tmp_path / "t")
    queried.look((1, "a"), (2, "b"))
    return queried


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The instants whose files are read."""
    found: list[str] = []

    def noting(*given: object, instant: str, **asked: object) -> object:
        found.append(instant)
        return read_versions(*given, instant=instant, **asked)  # type: ignore[arg-type]

    monkeypatch.setattr(queried_changes, "read_versions", noting)
    return found


def told(changes: list[Change]) -> list[tuple[str, str, tuple[tuple[str, str, str], ...]]]:
    return [(change.what, change.key, change.columns) for change in changes]


def test_changes_are_told_with_the_time_of_the_look_that_found_them(queried: Table) -> None:
    queried.look((1, "A"))
    queried.look((3, "c"), deleted=(2,))
    found = queried.changes.read(queried.commits)
    assert told(found) == [
        ("inserted", "id = 3", (("id", "", "3"), ("name", "", "c"))),
        ("deleted", "id = 2", (("id", "2", ""), ("name", "b", ""))),
        ("updated", "id = 1", (("name", "a", "A"),)),
    ]
    assert [change.at for change in found] == [(READ_MS + number) / 1000 for number in (2, 2, 1)]
    assert all(change.seen for change in found)


def test_the_first_load_is_no_change_however_many_commits_it_took(tmp_path: Path) -> None:
    queried = Table(tmp_path / "parts")
    queried.look((1, "a"), mark=None)
    queried.look((2, "b"), mark=None)
    queried.look((3, "c"))
    assert queried.changes.read(queried.commits) == []
    queried.look((4, "d"))
    assert [change.key for change in queried.changes.read(queried.commits)] == ["id = 4"]


def test_a_commits_files_are_read_once(queried: Table, read: list[str]) -> None:
    changes = queried.changes
    queried.look((1, "A"))
    changes.read(queried.commits)
    queried.look((1, "B"))
    assert [change.columns for change in changes.read(queried.commits)] == [
        (("name", "A", "B"),),
        (("name", "a", "A"),),
    ]
    changes.read(queried.commits)
    assert read == [commit.instant for commit in queried.commits[1:]]


def test_only_the_newest_commits_are_read_and_none_more_than_is_shown(queried: Table, read: list[str]) -> None:
    for number in range(COMMITS + 2):
        queried.look((1, f"{number}"))
    queried.changes.read(queried.commits)
    assert read == [commit.instant for commit in reversed(queried.commits[-COMMITS:])]
    read.clear()
    queried.look(*((number, "new") for number in range(100, 100 + 2 * SHOWN)))
    assert len(queried.changes.read(queried.commits)) == SHOWN
    assert read == [queried.commits[-1].instant]


def test_a_commit_of_large_files_is_told_and_not_read(queried: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    queried.look((1, "A"), deleted=(2,))
    monkeypatch.setattr(queried_changes, "MOST_BYTES", 10)
    assert told(queried.changes.read(queried.commits)) == [
        ("written", "rows: 2", (("", "", "not read: its files have 0 MB"),))
    ]
