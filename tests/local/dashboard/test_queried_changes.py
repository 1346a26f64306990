"""The last changes of queried tables: those of commits after the first load."""

from pathlib import Path

import pyarrow
import pytest

from local.dashboard import queried_changes
from local.dashboard.changes import SHOWN, Change
from local.dashboard.history import Commit, instant_time
from local.dashboard.queried_changes import COMMITS, QueriedChanges, read_versions
from spark_jobs.sources.postgres.detection import Mark, Progress
from tests.local.dashboard.hudi_files import HudiFiles

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
def table(tmp_path: Path) -> Table:
    table = Table(tmp_path / "t")
    table.look((1, "a"), (2, "b"))
    return table


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


def test_changes_are_told_with_the_time_of_the_look_that_found_them(table: Table) -> None:
    table.look((1, "A"))
    table.look((3, "c"), deleted=(2,))
    found = table.changes.read(table.commits)
    assert told(found) == [
        ("inserted", "id = 3", (("id", "", "3"), ("name", "", "c"))),
        ("deleted", "id = 2", (("id", "2", ""), ("name", "b", ""))),
        ("updated", "id = 1", (("name", "a", "A"),)),
    ]
    assert [change.at for change in found] == [(READ_MS + number) / 1000 for number in (2, 2, 1)]
    assert all(change.seen for change in found)


def test_the_first_load_is_no_change_however_many_commits_it_took(tmp_path: Path) -> None:
    table = Table(tmp_path / "parts")
    table.look((1, "a"), mark=None)
    table.look((2, "b"), mark=None)
    table.look((3, "c"))
    assert table.changes.read(table.commits) == []
    table.look((4, "d"))
    assert [change.key for change in table.changes.read(table.commits)] == ["id = 4"]


def test_a_commits_files_are_read_once(table: Table, read: list[str]) -> None:
    changes = table.changes
    table.look((1, "A"))
    changes.read(table.commits)
    table.look((1, "B"))
    assert [change.columns for change in changes.read(table.commits)] == [(("name", "A", "B"),), (("name", "a", "A"),)]
    changes.read(table.commits)
    assert read == [commit.instant for commit in table.commits[1:]]


def test_only_the_newest_commits_are_read_and_none_more_than_is_shown(table: Table, read: list[str]) -> None:
    for number in range(COMMITS + 2):
        table.look((1, f"{number}"))
    table.changes.read(table.commits)
    assert read == [commit.instant for commit in reversed(table.commits[-COMMITS:])]
    read.clear()
    table.look(*((number, "new") for number in range(100, 100 + 2 * SHOWN)))
    assert len(table.changes.read(table.commits)) == SHOWN
    assert read == [table.commits[-1].instant]


def test_a_look_reads_so_many_bytes_and_the_next_one_goes_on(
    table: Table, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    table.look((1, "A"))
    table.look((1, "more than before"))
    size = sum(table.path(commit.instant).stat().st_size for commit in table.commits[1:])
    monkeypatch.setattr(queried_changes, "MOST_BYTES", size)
    changes = table.changes
    assert len(changes.read(table.commits)) == 1
    assert len(changes.read(table.commits)) == 2
    assert read == [table.commits[2].instant, table.commits[1].instant]


def test_a_commit_of_large_files_is_told_and_not_read(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    table.look((1, "A"), deleted=(2,))
    monkeypatch.setattr(queried_changes, "MOST_BYTES", 10)
    assert told(table.changes.read(table.commits)) == [
        ("written", "rows: 2", (("", "", "not read: its files have 0 MB"),))
    ]
