"""The watch on Spark's application detects its end, a lack of executors and a stop; the stop file."""

import threading

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError

from spark_jobs.runtime.application import ApplicationEndedError, SparkApplication, Watch


class Application(SparkApplication):
    """Stands in for Spark's; counts how often its jobs were cancelled and the stop file was looked for."""

    name = "application_1_0001"

    def __init__(self, executors: int | None) -> None:
        self.count = executors
        self.ended = False
        self.gone = False
        self.going = False
        self.cancelled = 0
        self.looks = 0
        self.stop_file: bool | Exception = False

    def has_ended(self) -> bool:
        if self.gone:
            raise Py4JNetworkError("gone")
        return self.ended

    def executors(self) -> int | None:
        if self.going:
            raise Py4JError("An error occurred while calling o25.size")
        return self.count

    def has_file(self, path: str) -> bool:
        assert path == "s3://b/stop"
        self.looks += 1
        if isinstance(self.stop_file, Exception):
            raise self.stop_file
        return self.stop_file

    def cancel_jobs(self) -> None:
        self.cancelled += 1


class Watched:
    def __init__(self, executors: int | None) -> None:
        self.application = Application(executors)
        self.stop = threading.Event()
        self.log: list[str] = []
        self.seconds = 0.0
        self.watch = Watch(
            self.application, stop=self.stop, log=self.log.append, stop_file="s3://b/stop", clock=lambda: self.seconds
        )

    def look_until(self, seconds: int) -> None:
        while self.seconds < seconds:
            self.watch.look()
            self.seconds += 1


@pytest.mark.parametrize(
    ("name", "error", "reason"),
    [
        ("ended", ApplicationEndedError, "^application_1_0001 has ended, killed or after too many failures: see `yarn"),
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


def test_a_stop_file_stops_the_job_and_is_looked_for_every_ten_seconds() -> None:
    watched = Watched(1)
    watched.look_until(31)
    assert watched.application.looks == 4
    assert not watched.stop.is_set()
    watched.application.stop_file = True
    watched.look_until(41)
    assert watched.stop.is_set()
    assert watched.log == ["stopped by s3://b/stop"]


def test_a_look_for_the_stop_file_that_fails_is_logged_once_and_stops_nothing() -> None:
    watched = Watched(1)
    watched.application.stop_file = OSError("403\nForbidden")
    watched.look_until(60)
    assert watched.log == ["stop file s3://b/stop can't be looked for: OSError: 403"]
    assert not watched.stop.is_set()
    watched.application.stop_file = True
    watched.look_until(61)
    assert watched.stop.is_set()


def test_a_jvm_that_is_gone_when_the_stop_file_is_looked_for_ends_the_job() -> None:
    watched = Watched(1)
    watched.application.stop_file = Py4JNetworkError("gone")
    watched.look_until(1)
    assert watched.stop.is_set()
    assert watched.log == []
