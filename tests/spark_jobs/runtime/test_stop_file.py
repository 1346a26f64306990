"""The stop file: when it is checked, and the effect of a failing check."""

import threading
from collections.abc import Callable

import pytest
from py4j.protocol import Py4JNetworkError

from spark_jobs.runtime.application import StopFile


class Watched:
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
    watched = Watched(lambda: there)
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

    watched = Watched(refused)
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
        Watched(gone).file.look()
