"""Watches Spark's application, and ends the job between two commits: on SIGTERM, SIGINT, or a stop file.

A job that waits for Spark gets no notice of the application's end. Under spark-submit in client mode a signal reaches
the JVM, whose own handling stops the SparkContext immediately. So the JVM gets a handler that calls back into Python;
Python's own handlers are for signals that reach this process.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import KW_ONLY, dataclass, field

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.sql import SparkSession

from spark_jobs.errors import JobError, Log, first_line
from spark_jobs.runtime.hadoop import Hadoop
from spark_jobs.runtime.session import callback_gateway, java_object

_NAMES = ("TERM", "INT")


def stop_on_signals(spark: SparkSession, stop: threading.Event) -> None:
    """Set `stop` at each SIGTERM or SIGINT from now on, whether it reaches the JVM or this process."""
    for name in _NAMES:
        signal.signal(getattr(signal, f"SIG{name}"), lambda _number, _frame: stop.set())
    signals = callback_gateway(spark).jvm.sun.misc.Signal
    handler = java_object("sun.misc.SignalHandler", handle=lambda _signal: stop.set())
    for name in _NAMES:
        signals.handle(signals(name), handler)


# Between two looks, at the application and for the stop file: each of the latter is a request.
_LOOK_S, _FILE_S = 1.0, 10.0
# YARN starts an executor within seconds if it has capacity.
WITHOUT_EXECUTORS_S = 120.0


class ApplicationEndedError(JobError):
    """The cluster has ended the application: no job in it can continue."""


class SparkApplication:
    """A session's application."""

    def __init__(self, spark: SparkSession) -> None:
        self._hadoop = Hadoop(spark)
        self._context = spark.sparkContext
        self._scala = self._context._jsc.sc()
        self._is_local = bool(self._scala.isLocal())
        self.name = str(self._context.applicationId)

    def has_ended(self) -> bool:
        """Check whether its SparkContext is stopped. Raises Py4JNetworkError when the JVM is gone."""
        # The first call on a closed connection only reports failure, the next one that the connection is refused.
        for _ in range(2):
            with suppress(Py4JError, OSError):
                return bool(self._scala.isStopped())
        raise Py4JNetworkError("Spark's JVM is gone")

    def executors(self) -> int | None:
        """Return how many are registered; None where the driver does their work."""
        # The driver is one of the block managers.
        return None if self._is_local else int(self._scala.getExecutorMemoryStatus().size()) - 1

    def has_file(self, path: str) -> bool:
        return self._hadoop.exists(path)

    def cancel_jobs(self) -> None:
        self._context.cancelAllJobs()


@dataclass(eq=False)
class Watch:
    """Sets `stop` when the application has ended, or the stop file exists; logs a lack of executors."""

    application: SparkApplication
    _: KW_ONLY
    stop: threading.Event
    log: Log
    stop_file: str | None = None
    clock: Callable[[], float] = time.monotonic
    _without_since: float | None = field(default=None, init=False)
    _said: bool = field(default=False, init=False)
    _next_file: float = field(default=float("-inf"), init=False)
    _failing: bool = field(default=False, init=False)

    def look(self) -> None:
        try:
            self.raise_if_ended()
            self._look_for_stop_file()
            self._look_for_executors()
        except (ApplicationEndedError, Py4JNetworkError):
            self.stop.set()
        except (Py4JError, OSError):
            # The application or the JVM is just ending: the next check shows it.
            return

    def raise_if_ended(self) -> None:
        """Raise ApplicationEndedError, or Py4JNetworkError where the JVM is gone."""
        if self.application.has_ended():
            name = self.application.name
            raise ApplicationEndedError(
                f"{name} has ended, killed or after too many failures: see `yarn logs -applicationId {name}`, and "
                "start the job again"
            )

    def _look_for_stop_file(self) -> None:
        if self.stop_file is None or self.clock() < self._next_file:
            return
        self._next_file = self.clock() + _FILE_S
        try:
            there = self.application.has_file(self.stop_file)
        except Py4JNetworkError:
            raise
        except Exception as error:  # noqa: BLE001  (S3, HDFS and Hadoop each raise their own; the next look may succeed)
            if not self._failing:
                self.log(f"stop file {self.stop_file} can't be looked for: {first_line(error)}")
            self._failing = True
            return
        self._failing = False
        if there:
            self.log(f"stopped by {self.stop_file}")
            self.stop.set()

    def _look_for_executors(self) -> None:
        if self.application.executors() != 0:
            if self._said:
                self.log("has executors again")
            self._without_since, self._said = None, False
            return
        if self.stop.is_set():
            # A commit that waits for an executor would never finish.
            self.application.cancel_jobs()
            return
        now = self.clock()
        self._without_since = now if self._without_since is None else self._without_since
        if not self._said and now - self._without_since >= WITHOUT_EXECUTORS_S:
            self._said = True
            self.log(
                f"no executors for {WITHOUT_EXECUTORS_S:.0f} s: YARN has no room for one, or has lost its nodes; "
                "waiting for one (processing.executor_memory, processing.core_instances)"
            )


@contextmanager
def watched(spark: SparkSession, *, stop: threading.Event, log: Log, stop_file: str | None) -> Iterator[None]:
    """Watch a session's application while jobs run in it; raises `Watch.raise_if_ended`'s errors in place of theirs."""
    watch = Watch(SparkApplication(spark), stop=stop, log=log, stop_file=stop_file)
    watch.look()
    done = threading.Event()

    def look_until_done() -> None:
        while not done.wait(_LOOK_S):
            watch.look()

    thread = threading.Thread(target=look_until_done, name="watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        watch.raise_if_ended()
