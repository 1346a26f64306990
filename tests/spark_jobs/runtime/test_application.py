"""The watch on Spark's application detects its end, a lack of executors and a stop; the stop file."""

import threading
from contextlib import nullcontext
from typing import Any
from unittest.mock import Mock

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError

from spark_jobs.runtime.application import ApplicationEndedError, SparkApplication, Watch


class Watched:
    """The watch on a stand-in for Spark's application, without a stop file."""

    def __init__(self, executors: int | None) -> None:
        self.application = Mock(spec=SparkApplication)
        self.application.name = "application_1_0001"
        self.application.has_ended.return_value = self.application.has_file.return_value = False
        self.application.executors.return_value = executors
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
    ("asked", "end", "error", "reason"),
    [
        ("has_ended", [True, True], ApplicationEndedError, "^application_1_0001 has ended, killed or after too many"),
        ("has_ended", Py4JNetworkError("gone"), Py4JNetworkError, "^gone$"),
        ("has_file", Py4JNetworkError("gone"), None, ""),
    ],
)
def test_an_application_that_has_ended_stops_its_jobs(
    asked: str, end: Any, error: type[Exception] | None, reason: str
) -> None:
    watched = Watched(2)
    watched.watch.look()
    watched.watch.raise_if_ended()
    assert not watched.stop.is_set()
    getattr(watched.application, asked).side_effect = end
    watched.seconds = 20
    watched.watch.look()
    assert (watched.stop.is_set(), watched.log) == (True, [])
    with pytest.raises(error, match=reason) if error else nullcontext():
        watched.watch.raise_if_ended()


def test_a_call_that_fails_on_the_way_is_made_again() -> None:
    watched = Watched(0)
    watched.application.executors.side_effect = Py4JError("An error occurred while calling o25.size")
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
    watched.application.executors.return_value = 1
    watched.look_until(610)
    assert watched.log[1:] == ["has executors again"]
    watched.application.executors.return_value = 0
    watched.look_until(729)
    assert len(watched.log) == 2
    watched.look_until(731)
    assert watched.log[2:] == [line]


@pytest.mark.parametrize(("executors", "is_cancelled"), [(0, True), (1, False), (None, False)])
def test_only_what_waits_for_executors_is_cancelled_by_a_stop(executors: int | None, *, is_cancelled: bool) -> None:
    watched = Watched(executors)
    watched.watch.look()
    watched.application.cancel_jobs.assert_not_called()
    watched.stop.set()
    watched.watch.look()
    assert watched.application.cancel_jobs.called == is_cancelled


def test_a_stop_file_stops_the_job_and_is_looked_for_every_ten_seconds() -> None:
    watched = Watched(1)
    watched.look_until(31)
    assert watched.application.has_file.call_count == 4
    watched.application.has_file.assert_called_with("s3://b/stop")
    assert not watched.stop.is_set()
    watched.application.has_file.return_value = True
    watched.look_until(41)
    assert watched.stop.is_set()
    assert watched.log == ["stopped by s3://b/stop"]


def test_a_look_for_the_stop_file_that_fails_is_logged_once_and_stops_nothing() -> None:
    watched = Watched(1)
    watched.application.has_file.side_effect = OSError("403\nForbidden")
    watched.look_until(60)
    assert watched.log == ["stop file s3://b/stop can't be looked for: OSError: 403"]
    assert not watched.stop.is_set()
    watched.application.has_file.side_effect = [True]
    watched.look_until(61)
    assert watched.stop.is_set()
