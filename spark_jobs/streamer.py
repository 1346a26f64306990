"""Keeps a Hudi table in sync with Debezium's change events: HoodieDeltaStreamer's equivalent in PySpark.

Run it by spark-submit with HoodieStreamer's own options (docs/reference/streaming-job.md).
"""

import sys
import threading
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TypeVar

from py4j.protocol import Py4JNetworkError
from pyspark.sql import SparkSession

from spark_jobs import table_job
from spark_jobs.errors import UndescribedError, log, user_message
from spark_jobs.options import command_line, properties, settings
from spark_jobs.options.command_line import Options
from spark_jobs.options.settings import Settings
from spark_jobs.runtime import archive, session
from spark_jobs.runtime.application import stop_on_signals, watched
from spark_jobs.runtime.hadoop import read_text
from spark_jobs.runtime.retry import Backoff, is_outage
from spark_jobs.table.kept_table import SharedParts

T = TypeVar("T")


def program(run: Callable[[Sequence[str]], int]) -> Callable[[Sequence[str]], int]:
    """Run a program with the libraries that its archive ships; its exit code is 1 after one line of an error."""

    @wraps(run)
    def main(arguments: Sequence[str]) -> int:
        shipped = None
        try:
            shipped = archive.use_shipped(archive.__loader__)
            return run(arguments)
        except Py4JNetworkError:
            log("error: Spark's JVM is gone")
        except Exception as error:  # noqa: BLE001  (the user gets one line for any error)
            log(f"error: {user_message(error)}")
        finally:
            if shipped:
                shipped.cleanup()
        return 1

    return main


def when_readable(read: Callable[[], T], given: Options, stop: threading.Event) -> T | None:
    """Return the result of `read`; in continuous mode wait out outages; None when told to stop."""
    backoff = Backoff(stop=stop, longest_seconds=given.retry_interval_seconds, log=log)
    while not stop.is_set():
        try:
            found = read()
        except Exception as error:
            if not (given.continuous and is_outage(error)):
                raise
            backoff.wait(error)
        else:
            backoff.over()
            return found
    return None


@program
def main(arguments: Sequence[str]) -> int:
    """Run the job; return the exit code: 0, or 1 after one line on standard error."""
    given = command_line.parse(arguments)
    stop = threading.Event()
    spark = session.start(given.spark_app_name or f"streamer-{given.target_table}", given.spark_master)
    stop_on_signals(spark, stop)
    decided = when_readable(lambda: read_settings(given, spark), given, stop)
    if decided is not None:
        with watched(spark, stop=stop, log=log, stop_file=decided.stop_file):
            run(spark, decided, stop)
    return 0


def read_settings(given: command_line.Options, spark: SparkSession) -> Settings:
    """Read the properties that the options name and decide the settings."""
    pairs = properties.load(given.props, lambda path: read_text(path, spark)) if given.props else []
    return settings.decide(given, properties.combine(pairs, properties.parse_overrides(given.hoodie_conf)), log)


def run(spark: SparkSession, decided: Settings, stop: threading.Event) -> None:
    """Keep the table until all is read or a stop is requested; wait out outages, and new columns without a type."""
    given = decided.options
    table_job.keep(
        f"{decided.table.database}.{decided.table.name}",
        SharedParts(stop=stop, log=log),
        attempt=lambda shared, status: table_job.run(spark, decided, shared, status),
        waits_out=lambda error: given.continuous and (isinstance(error, UndescribedError) or is_outage(error)),
        longest_pause_s=given.retry_interval_seconds,
        metrics_namespace=decided.metrics_namespace,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
