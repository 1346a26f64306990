"""Commits with their rows, errors with their times, and rows that are counted once."""

from collections.abc import Collection
from typing import Any
from unittest.mock import Mock, call

import pyarrow
import pytest

from local.platform.supervisor import Restarts
from local.problem import Problem
from local.state.history import Commits, Failures, instant_time, restarted
from local.state.tables import RowCounts
from spark_jobs.options.keys import PROGRESS

INSTANT = "20261122112531744"


def metadata(*stats: tuple[int, int, int], progress: str | None = "p") -> dict[str, Any]:
    names = ("numInserts", "numUpdateWrites", "numDeletes")
    extra = {} if progress is None else {PROGRESS: progress}
    written = [dict(zip(names, one, strict=True)) for one in stats]
    return {"extraMetadata": extra, "partitionToWriteStats": {"a": written[:1], "b": written[1:]}}


def test_a_commits_metadata_is_read_once_and_kept_when_the_timeline_forgets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit's rows are those of all its files; one that only moves rows counts for nothing."""
    moved, second = "20261122112600000", "20261122112945201"
    timeline, asked, commits = {INSTANT: metadata((5, 1, 0), (2, 3, 4))}, list[str](), Commits()

    def new(known: Collection[str]) -> dict[str, Any]:
        asked.extend(timeline.keys() - known)
        return {instant: found for instant, found in timeline.items() if instant not in known}

    lake = Mock(**{"commit_metadata.side_effect": new})
    commits.read(lake)
    timeline = {second: metadata((0, 1, 0)), moved: metadata((5, 0, 0), progress=None)}
    for _ in range(2):
        commits.read(lake)
    assert commits.newest == (second, {PROGRESS: "p"})
    assert sorted(asked) == [INSTANT, moved, second]
    assert [(one.instant, one.inserted, one.updated, one.deleted) for one in commits.all] == [
        (INSTANT, 7, 4, 4),
        (second, 0, 1, 0),
    ]
    assert commits.all[0].at == instant_time(INSTANT) == 1795346731.744
    monkeypatch.setattr("local.state.history.MOST_COMMITS", 1)
    commits.read(lake)
    assert [one.instant for one in commits.all] == [second]


def test_an_error_begins_and_ends_and_keeps_its_beginning_while_its_reason_changes() -> None:
    """Each part has errors of its own."""
    once, again = (Problem(part="job", what="is dead", reason=f"restarted {times}") for times in ("once", "2 times"))
    others = [Problem(part="job", what="fails"), Problem(part="sink", what="is dead")]
    failures = Failures()
    failures.note([once], 10)
    failures.note([again, *others], 14)
    assert {(one.text, one.at, one.ended) for one in failures.all()} == {
        ("job is dead: restarted 2 times", 10, None),
        ("job fails", 14, None),
        ("sink is dead", 14, None),
    }
    failures.note(others, 20)
    assert [(one.at, one.ended) for one in failures.all()] == [(14, None), (14, None), (10, 20)]


def test_a_restart_is_an_error_that_has_ended() -> None:
    (found,) = restarted({"job": Restarts(total=2, tries=1, last_at=7.0, reason="died")})
    assert (found.text, found.at, found.ended) == ("job was restarted (2 times): died", 7.0, 7.0)


def test_rows_are_counted_again_only_after_another_commit_and_once_at_a_time() -> None:
    lake, counts = Mock(base_uri="s3://lake/t"), RowCounts()
    meanwhile = list[int | None]()

    def rows(_columns: list[str]) -> pyarrow.Table:
        meanwhile.append(counts.count(lake, "id", "the newest"))
        return pyarrow.table({"id": range(len(meanwhile))})

    lake.rows.side_effect = rows
    for number in range(1, 3):
        assert [counts.count(lake, "id", f"{number}") for _ in range(3)] == [number] * 3
    assert lake.rows.call_args_list == [call(["id"])] * 2
    assert meanwhile == [None, 1]
