"""Lets SIGTERM and SIGINT end the job between two commits instead of in the middle of one.

Under spark-submit in client mode the signal reaches the JVM, whose own handling stops the SparkContext at once. So the
JVM gets a handler that calls back into Python; Python's own handlers are for signals that reach this process.
"""

import signal
import threading
from typing import Any

from pyspark import java_gateway
from pyspark.sql import SparkSession

_NAMES = ("TERM", "INT")


class _JvmHandler:
    """Java's view of the stop event."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop

    def handle(self, _signal: Any) -> None:
        """Called by the JVM, once for each signal."""
        self._stop.set()

    class Java:
        """What py4j needs to know."""

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
