"""Commits with their rows, errors with their times, and rows that are counted once."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow

from local.look.lake import Lake
from local.platform.supervisor import Restarts
from local.state.history import Commits, Failures, instant_time, read_commit, restarted
from local.state.problems import Problem
from local.state.tables import RowCounts
from spark_jobs.options.keys import PROGRESS

INSTANT = "20261122112531744"


def metadata(*stats: tuple[int, int, int], progress: str | None = "p") -> dict[str, Any]:
    names = ("numInserts", "numUpdateWrites", "numDeletes")
    extra = {} if progress is None else {PROGRESS: progress}
    written = [dict(zip(names, one, strict=True)) for one in stats]
    return {"extraMetadata": extra, "partitionToWriteStats": {"a": written[:1], "b": written[1:]}}


@dataclass(frozen=True, kw_only=True)
class Timeline(Lake):
    """A lake of commit metadata, which records what was requested."""

    found: dict[str, dict[str, Any]]
    base_uri: str = ""
    asked: list[str] = field(default_factory=list)

    def commit_metadata(self, known: Collection[str] = ()) -> dict[str, Mapping[str, Any]]:
        new = {instant: found for instant, found in self.found.items() if instant not in known}
        self.asked.extend(new)
        return {**new}


def test_a_commits_rows_are_those_of_all_its_files() -> None:
    found = read_commit("t", INSTANT, metadata((5, 1, 0), (2, 3, 4)))
    assert found is not None
    assert (found.inserted, found.updated, found.deleted) == (7, 4, 4)
    assert found.at == instant_time(INSTANT) == 1795346731.744


def test_a_commit_that_only_moves_rows_counts_for_nothing() -> None:
    assert read_commit("t", INSTANT, metadata((5, 0, 0), progress=None)) is None


def test_a_commits_metadata_is_read_once_and_kept_when_the_timeline_forgets_it() -> None:
    lake = Timeline(found={"20261122112531744": metadata((829, 0, 0))})
    commits = Commits("t")
    commits.read(lake)
    lake.found.clear()
    lake.found["20261122112945201"] = metadata((0, 1, 0))
    assert [commit.instant for commit in commits.read(lake)] == ["20261122112531744", "20261122112945201"]
    commits.read(lake)
    assert commits.newest == ("20261122112945201", {PROGRESS: "p"})
    assert lake.asked == ["20261122112531744", "20261122112945201"]


def problem(part: str, what: str = "is dead", reason: str = "") -> Problem:
    return Problem(part=part, what=what, reason=reason)


def test_an_error_begins_and_ends_and_keeps_its_beginning_while_its_reason_changes() -> None:
    failures = Failures()
    failures.note([problem("job", reason="restarted once")], 10)
    failures.note([problem("job", reason="restarted 2 times")], 14)
    (lasting,) = failures.all()
    assert (lasting.at, lasting.ended) == (10, None)
    assert "2 times" in lasting.text
    failures.note([], 20)
    (past,) = failures.all()
    assert (past.at, past.ended) == (10, 20)


def test_each_part_has_errors_of_its_own() -> None:
    failures = Failures()
    failures.note([problem("table x.a: 1"), problem("table x.a: 2"), problem("table x.a: 2", "fails")], 10)
    assert len(failures.all()) == 3


def test_a_restart_is_an_error_that_has_ended() -> None:
    (found,) = restarted({"job": Restarts(total=2, tries=1, last_at=7.0, reason="died")})
    assert (found.text, found.at, found.ended) == ("job was restarted (2 times): died", 7.0, 7.0)


@dataclass(frozen=True, kw_only=True)
class Growing(Lake):
    """A table that has one row more with each commit, and records when they are counted."""

    commits: list[str] = field(default_factory=list)
    counted: list[list[str] | None] = field(default_factory=list)

    def rows(self, columns: list[str] | None = None) -> pyarrow.Table:  # type: ignore[override]
        self.counted.append(columns)
        return pyarrow.table({"id": self.commits})


def test_rows_are_counted_again_only_after_another_commit() -> None:
    lake, counts = Growing(base_uri="s3://lake/t"), RowCounts()
    for number in range(1, 3):
        lake.commits.append(f"{number}")
        assert [counts.count(lake, "id", f"{number}") for _ in range(3)] == [number] * 3
    assert lake.counted == [["id"]] * 2
