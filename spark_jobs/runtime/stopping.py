"""Ends the job between two commits: on SIGTERM and SIGINT, or on a file for users who can't send a signal.

Under spark-submit in client mode a signal reaches the JVM, whose own handling stops the SparkContext immediately. So
the JVM gets a handler that calls back into Python; Python's own handlers are for signals that reach this process.
"""

import signal
import threading
import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from py4j.protocol import Py4JNetworkError
from pyspark import java_gateway
from pyspark.sql import SparkSession

from spark_jobs.errors import Log, first_line

_NAMES = ("TERM", "INT")


class _JvmHandler:
    """Java's view of the stop event."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop

    def handle(self, _signal: Any) -> None:
        """Runs in Python, called by the JVM for each signal."""
        self._stop.set()

    class Java:
        """The interface that py4j needs."""

        implements = ("sun.misc.SignalHandler",)


def stop_on_signals(spark: SparkSession, stop: threading.Event) -> None:
    """Set `stop` at each SIGTERM or SIGINT from now on, whether it reaches the JVM or this process."""
    for name in _NAMES:
        signal.signal(getattr(signal, f"SIG{name}"), lambda _number, _frame: stop.set())
    gateway: Any = spark.sparkContext._gateway
    start_callbacks: Any = java_gateway.ensure_callback_server_started
    start_callbacks(gateway)
    handler = _JvmHandler(stop)
    for name in _NAMES:
        gateway.jvm.sun.misc.Signal.handle(gateway.jvm.sun.misc.Signal(name), handler)


_LOOK_SECONDS = 10.0


@dataclass(eq=False)
class StopFile:
    """Sets `stop` once the file at `path` exists; checks every 10 s at most."""

    path: str
    _: KW_ONLY
    exists: Callable[[str], bool]
    stop: threading.Event
    log: Log
    clock: Callable[[], float] = time.monotonic
    _next_look: float = field(default=float("-inf"), init=False)
    _failing: bool = field(default=False, init=False)

    def look(self) -> None:
        """Check when it is due; a failure is logged once, and the job continues."""
        if self.clock() < self._next_look:
            return
        self._next_look = self.clock() + _LOOK_SECONDS
        try:
            there = self.exists(self.path)
        except Py4JNetworkError:
            raise
        except Exception as error:  # noqa: BLE001  (S3, HDFS and Hadoop each raise their own; the next look may succeed)
            if not self._failing:
                self.log(f"stop file {self.path} can't be looked for: {first_line(error)}")
            self._failing = True
            return
        self._failing = False
        if there:
            self.log(f"stopped by {self.path}")
            self.stop.set()
