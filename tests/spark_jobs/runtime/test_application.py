"""The watch on Spark's application detects its end, a lack of executors and a stop; the stop file."""

import threading
from collections.abc import Callable

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError

from spark_jobs.runtime.application import ApplicationEndedError, SparkApplication, StopFile, Watch


class Application(SparkApplication):
    """Stands in for Spark's; counts how often its jobs were cancelled."""

    name = "application_1_0001"

    def __init__(self, executors: int | None) -> None:
        self.count = executors
        self.ended = False
        self.gone = False
        self.going = False
        self.cancelled = 0

    def has_ended(self) -> bool:
        if self.gone:
            raise Py4JNetworkError("gone")
        return self.ended

    def executors(self) -> int | None:
        if self.going:
            raise Py4JError("An error occurred while calling o25.size")
        return self.count

    def cancel_jobs(self) -> None:
        self.cancelled += 1


class Watched:
    """A watch with its own clock."""

    def __init__(self, executors: int | None) -> None:
        self.application = Application(executors)
        self.stop = threading.Event()
        self.log: list[str] = []
        self.seconds = 0.0
        self.watch = Watch(self.application, stop=self.stop, log=self.log.append, clock=lambda: self.seconds)

    def look_until(self, seconds: int) -> None:
        while self.seconds < seconds:
            self.watch.look()
            self.seconds += 1


@pytest.mark.parametrize(
    ("name", "error", "reason"),
    [
        (
            "ended",
            ApplicationEndedError,
            "^application_1_0001 has ended, killed or after too many failures: see `yarn",
        ),
        ("gone", Py4JNetworkError, "^gone$"),
    ],
)
def test_an_application_that_has_ended_stops_its_jobs(name: str, error: type[Exception], reason: str) -> None:
    watched = Watched(2)
    watched.watch.look()
    watched.watch.raise_if_ended()
    assert not watched.stop.is_set()
    setattr(watched.application, name, True)
    watched.watch.look()
    assert watched.stop.is_set()
    with pytest.raises(error, match=reason):
        watched.watch.raise_if_ended()


def test_a_call_that_fails_on_the_way_is_made_again() -> None:
    watched = Watched(0)
    watched.application.going = True
    watched.look_until(200)
    assert not watched.stop.is_set()
    assert watched.log == []


def test_two_minutes_without_executors_are_told_once_and_so_is_their_end() -> None:
    watched = Watched(0)
    watched.look_until(120)
    assert watched.log == []
    watched.look_until(600)
    [line] = watched.log
    assert line.startswith("no executors for 120 s: YARN has no room for one, or has lost its nodes; waiting")
    watched.application.count = 1
    watched.look_until(610)
    assert watched.log[1:] == ["has executors again"]
    watched.application.count = 0
    watched.look_until(729)
    assert len(watched.log) == 2
    watched.look_until(731)
    assert watched.log[2:] == [line]


@pytest.mark.parametrize(("executors", "is_cancelled"), [(0, True), (1, False), (None, False)])
def test_only_what_waits_for_executors_is_cancelled_by_a_stop(executors: int | None, *, is_cancelled: bool) -> None:
    watched = Watched(executors)
    watched.watch.look()
    assert watched.application.cancelled == 0
    watched.stop.set()
    watched.watch.look()
    assert (watched.application.cancelled > 0) == is_cancelled


class WatchedFile:
    """A stop file with its own clock; `answer`: whether it exists."""

    def __init__(self, answer: Callable[[], bool]) -> None:
        self.seconds = 0.0
        self.looks = 0
        self.stop = threading.Event()
        self.log: list[str] = []
        self.answer = answer
        self.file = StopFile(
            "s3://b/stop", exists=self.exists, stop=self.stop, log=self.log.append, clock=lambda: self.seconds
        )

    def exists(self, path: str) -> bool:
        assert path == "s3://b/stop"
        self.looks += 1
        return self.answer()


def test_a_stop_file_stops_the_job_and_is_looked_for_every_ten_seconds() -> None:
    there = False
    watched = WatchedFile(lambda: there)
    for watched.seconds in range(31):
        watched.file.look()
    assert watched.looks == 4
    assert not watched.stop.is_set()
    there = True
    watched.seconds = 40
    watched.file.look()
    assert watched.stop.is_set()
    assert watched.log == ["stopped by s3://b/stop"]


def test_a_look_that_fails_is_logged_once_and_stops_nothing() -> None:
    def refused() -> bool:
        raise OSError("403\nForbidden")

    watched = WatchedFile(refused)
    for watched.seconds in range(0, 60, 10):
        watched.file.look()
    assert watched.log == ["stop file s3://b/stop can't be looked for: OSError: 403"]
    watched.answer = lambda: True
    watched.seconds = 60
    watched.file.look()
    assert watched.stop.is_set()


def test_a_jvm_that_is_gone_ends_the_job() -> None:
    def gone() -> bool:
        raise Py4JNetworkError("gone")

    with pytest.raises(Py4JNetworkError):
        WatchedFile(gone).file.look()
