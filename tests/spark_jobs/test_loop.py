"""The loop: what is tried again, what ends the job, and how it stops; the catalogue's decisions; the report's line."""

import threading
from collections.abc import Callable

import pytest
from py4j.protocol import Py4JNetworkError

from spark_jobs.errors import JobError, first_line
from spark_jobs.loop import Loop
from spark_jobs.report import CommitReport
from tests.spark_jobs.conftest import ROOT  # noqa: F401  (the folder's fixtures come with it)

REPORT = CommitReport(
    commit="20261121023013007",
    files=2,
    events=833,
    upserts=828,
    deletes=1,
    quarantined=2,
    folded=2,
    seconds=2.345,
    lag_seconds=1.26,
    missing_offsets=0,
    late_files=0,
)
Outcome = CommitReport | Exception | None


class Script:
    """Batches with given outcomes; the last one sets the stop event."""

    def __init__(self, stop: threading.Event, *outcomes: Outcome) -> None:
        self.stop = stop
        self.outcomes = list(outcomes)
        self.loads = 0

    def load(self) -> None:
        self.loads += 1

    def run_batch(self) -> CommitReport | None:
        outcome = self.outcomes.pop(0)
        if not self.outcomes:
            self.stop.set()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


Run = Callable[..., tuple[Script, list[CommitReport], list[str]]]


@pytest.fixture
def run() -> Run:
    def run_script(
        *outcomes: Outcome, continuous: bool = True, retries: int = 3
    ) -> tuple[Script, list[CommitReport], list[str]]:
        stop = threading.Event()
        script = Script(stop, *outcomes)
        committed: list[CommitReport] = []
        log: list[str] = []
        loop = Loop(
            script,
            stop=stop,
            committed=committed.append,
            idle=lambda: None,
            log=log.append,
            max_retries=retries,
            retry_seconds=0.01,
        )
        loop.run(continuous=continuous, poll_seconds=0.01)
        return script, committed, log

    return run_script


def test_without_continuous_it_ends_when_nothing_is_left(run: Run) -> None:
    script, committed, _ = run(REPORT, REPORT, None, REPORT, continuous=False)
    assert committed == [REPORT, REPORT]
    assert script.outcomes == [REPORT]


def test_continuous_goes_on_until_stopped(run: Run) -> None:
    _, committed, _ = run(None, REPORT, None, None, REPORT)
    assert len(committed) == 2


def test_failures_are_tried_again_from_the_tables_own_progress(run: Run) -> None:
    script, committed, log = run(OSError("refused"), OSError("refused"), REPORT, None)
    assert script.loads == 3
    assert committed == [REPORT]
    assert log == [
        "attempt 1 failed, again in 0 s: OSError: refused",
        "attempt 2 failed, again in 0 s: OSError: refused",
    ]


def test_a_success_makes_the_attempts_count_anew(run: Run) -> None:
    _, committed, log = run(OSError("a"), REPORT, OSError("b"), REPORT, OSError("c"), None, retries=1)
    assert committed == [REPORT, REPORT]
    assert [line.partition(" failed")[0] for line in log] == ["attempt 1"] * 3


def test_it_gives_up_with_one_line(run: Run) -> None:
    with pytest.raises(JobError, match=r"^given up after 3 attempts: OSError: gone$"):
        run(*[OSError("gone\nmore")] * 3, None, retries=2)


@pytest.mark.parametrize("error", [JobError("no use"), Py4JNetworkError("the JVM is gone")])
def test_what_cannot_get_better_is_not_tried_again(run: Run, error: Exception) -> None:
    with pytest.raises(type(error)):
        run(error, REPORT)


def test_errors_say_one_line() -> None:
    assert first_line(ValueError("a\nb")) == "ValueError: a"
    assert first_line(ValueError()) == "ValueError"


def test_the_line_of_a_commit_is_stable() -> None:
    assert REPORT.line() == (
        "commit=20261121023013007 files=2 events=833 upserts=828 deletes=1 quarantined=2 folded=2"
        " seconds=2.3 lag_seconds=1.3 missing_offsets=0 late_files=0"
    )
