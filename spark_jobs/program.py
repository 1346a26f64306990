"""Shared by the job's programs: log output, exit code, and the one line for an error."""

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

from py4j.protocol import Py4JNetworkError

from spark_jobs.errors import user_message
from spark_jobs.options.command_line import Options
from spark_jobs.runtime import archive
from spark_jobs.runtime.retry import Backoff, retry_outages

T = TypeVar("T")


def log(message: str) -> None:
    """Write a line to standard error; only commits go to standard output."""
    sys.stderr.write(f"{message}\n")
    sys.stderr.flush()


def exit_code(run: Callable[[], int]) -> int:
    """Run a program with the libraries that its archive ships; return its exit code, 1 after one line of an error."""
    shipped = archive.use_shipped(archive.__loader__)
    try:
        return run()
    except Py4JNetworkError:
        log("error: Spark's JVM is gone")
        return 1
    except Exception as error:  # noqa: BLE001  (the user gets one line, whatever it was)
        log(f"error: {user_message(error)}")
        return 1
    finally:
        if shipped:
            shipped.cleanup()


def when_readable(read: Callable[[], T], given: Options, stop: threading.Event) -> T | None:
    """Return the result of `read`; in continuous mode wait out outages; None when told to stop."""
    if not given.continuous:
        return read()
    backoff = Backoff(stop=stop, longest_seconds=given.retry_interval_seconds, log=log)
    return retry_outages(read, backoff=backoff, stop=stop)
