"""Commits with their rows, and errors with their times."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from local.dashboard.history import Commits, Failures, instant_time, read_commit, restarted, rows
from local.look.lake import Lake
from local.platform.supervisor import Restarts
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
    assert lake.asked == ["20261122112531744", "20261122112945201"]


def test_rows_are_added_up_by_table() -> None:
    commits = Commits("t")
    found = commits.read(Timeline(found={INSTANT: metadata((829, 0, 0)), "20261122112945201": metadata((0, 1, 2))}))
    (of_table,) = rows(found)
    assert (of_table.table, of_table.commits) == ("t", 2)
    assert (of_table.inserted, of_table.updated, of_table.deleted) == (829, 1, 2)
    assert of_table.since == instant_time(INSTANT)


def test_an_error_begins_and_ends_and_keeps_its_beginning_while_its_words_change() -> None:
    failures = Failures()
    failures.note(["job is dead, restarted once, last at 11:00:00: see job.log"], 10)
    failures.note(["job is dead, restarted 2 times, last at 11:00:04: see job.log"], 14)
    (lasting,) = failures.all()
    assert (lasting.at, lasting.ended) == (10, None)
    assert "2 times" in lasting.text
    failures.note([], 20)
    (past,) = failures.all()
    assert (past.at, past.ended) == (10, 20)


def test_an_error_goes_on_while_its_counts_grow() -> None:
    failures = Failures()
    failures.note(["999 lines in quarantine: see the table"], 10)
    failures.note(["1,004 lines in quarantine: see the table"], 14)
    assert [(failure.at, failure.ended) for failure in failures.all()] == [(10, None)]


@pytest.mark.parametrize(
    "line",
    [
        "table {} is set aside: an event of {} has 17 bytes",
        "the job fails at table {} and tries again: {} (see job.log)",
    ],
)
@pytest.mark.parametrize("names", [("public.t1", "public.t2"), ("public.a,b", "public.a,c"), ("x.a: 1", "x.a: 2")])
def test_each_table_has_errors_of_its_own(line: str, names: tuple[str, str]) -> None:
    failures = Failures()
    wrong = [line.format(name, name) for name in names]
    failures.note(wrong, 10)
    assert [failure.text for failure in failures.all()] == wrong


def test_a_table_whose_line_begins_with_its_name_has_an_error_of_its_own() -> None:
    failures = Failures()
    failures.note(["public.t1: the publication lacks a", "public.t2: the publication lacks a"], 10)
    assert len(failures.all()) == 2


def test_of_what_lasts_the_newest_comes_first() -> None:
    failures = Failures()
    failures.note(["kafka hangs"], 10)
    failures.note(["kafka hangs", "job is dead"], 12)
    assert [failure.text for failure in failures.all()] == ["job is dead", "kafka hangs"]


def test_what_lasts_comes_before_what_has_ended() -> None:
    failures = Failures()
    failures.note(["kafka hangs"], 10)
    failures.note(["job is dead"], 12)
    failures.note(["job is dead"], 14)
    assert [failure.text for failure in failures.all()] == ["job is dead", "kafka hangs"]


def test_a_restart_is_an_error_that_has_ended() -> None:
    (found,) = restarted({"job": Restarts(total=2, tries=1, last_at=7.0, reason="died")})
    assert (found.text, found.at, found.ended) == ("job was restarted (2 times): died", 7.0, 7.0)
