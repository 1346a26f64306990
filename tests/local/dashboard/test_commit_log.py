"""Commits over time from the job's log: each line is read once, and the page's restart loses none."""

from pathlib import Path

import pytest

from local.dashboard.commit_log import POINTS, CommitLog, Logged, over_time, parse
from tests.local.dashboard.pictures import AT, line

FIRST, SECOND, THIRD = (f"202611221126{second}000" for second in (10, 20, 30))


def test_new_whole_lines_are_read_once_and_after_a_rotation_too(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    follower, whole = CommitLog(log), line(SECOND)
    assert not follower.read()
    log.write_text("INFO commit=1\n" + line(FIRST) + whole[:30])
    assert follower.read()
    assert not follower.read()
    with log.open("a") as file:
        file.write(whole[30:])
    log.rename(tmp_path / "job.log.1")
    log.write_text(line(THIRD, table="lake.t"))
    assert follower.read()
    assert len(follower.commits) == 3
    restarted = CommitLog(log)
    restarted.read()
    assert restarted.commits == follower.commits


def test_the_log_of_another_platform_in_the_folder_begins_again(tmp_path: Path) -> None:
    follower = CommitLog(tmp_path / "job.log")
    (tmp_path / "job.log").write_text(line(FIRST))
    follower.read()
    (tmp_path / "job.log").rename(tmp_path / "moved")
    (tmp_path / "job.log").write_text(line(SECOND, upserts=7))
    follower.read()
    assert [one.rows for one in follower.commits] == [7]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (line("20261122112525000"), [Logged(at=AT + 2, rows=3, lag_s=1.5)]),
        (line("20261122112525000", lag="-"), [Logged(at=AT + 2, rows=3, lag_s=None)]),
        ("commit=20261122112525000 upserts=x", []),
        ("table=lake.t state=running", []),
    ],
)
def test_a_line_is_a_commit_or_none(text: str, found: list[Logged]) -> None:
    assert parse(text) == found


def test_points_are_the_greatest_age_and_the_rate_of_spans_up_to_the_newest_commit() -> None:
    given = ((0, 6, 9.0), (480, 1, 2.0), (481, 2, None))
    commits = [Logged(at=AT + at, rows=rows, lag_s=lag) for at, rows, lag in given]
    ages, rates = over_time(commits)
    begin = int(AT) * 1000
    assert ages == [(begin, 9.0), (begin + 480_000, 2.0)]
    assert len(rates) <= POINTS
    assert (rates[0], rates[1], rates[-1]) == ((begin, 2.0), (begin + 3_000, 0.0), (begin + 480_000, 1.0))
    assert over_time([]) == ([], [])
