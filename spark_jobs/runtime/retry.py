"""Distinguishes outages, which are waited for, from other failures; waits between attempts, longer each time."""

import threading
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from py4j.protocol import Py4JNetworkError

from spark_jobs.errors import JobError, Log, user_message

# Exception classes in the JVM and in boto3, and their base classes, for a service or a network that is gone, slow or
# overloaded. Not IOException or OSError as such: a broken file is one, too.
_PASSING = (
    "java.net.SocketException",
    "java.net.UnknownHostException",
    "java.io.InterruptedIOException",
    "java.nio.channels.ClosedChannelException",
    "java.util.concurrent.TimeoutException",
    "javax.net.ssl.SSLException",
    "org.apache.http.NoHttpResponseException",
    "org.apache.hadoop.fs.s3a.AWSStatus500Exception",
    "org.apache.hadoop.fs.s3a.AWSServiceThrottledException",
    "org.apache.hadoop.fs.s3a.AWSNoResponseException",
    "org.apache.hadoop.fs.s3a.auth.NoAuthWithAWSException",
    "org.apache.hadoop.ipc.StandbyException",
    "org.apache.kafka.common.errors.RetriableException",
    "org.apache.kafka.common.errors.DisconnectException",
    "botocore.exceptions.HTTPClientError",
    "botocore.exceptions.IncompleteReadError",
    "botocore.exceptions.NoCredentialsError",
    "botocore.exceptions.CredentialRetrievalError",
    "urllib3.exceptions.HTTPError",
    "builtins.ConnectionError",
    "builtins.TimeoutError",
    "socket.gaierror",
)
# Java's exceptions for a value: division by zero, too large, no number, nested too deep. I/O raises IOException.
_OF_VALUES = ("java.lang.RuntimeException", "java.lang.StackOverflowError")
# Kafka's client raises it for an unreachable name server; for a misspelt host, too.
_UNRESOLVED = "No resolvable bootstrap urls"
# S3's and AWS's error codes, where the class says only that the service refused.
_PASSING_CODES = frozenset(
    {
        *("SlowDown", "ServiceUnavailable", "InternalError", "InternalFailure", "RequestTimeout", "Throttling"),
        *("ThrottlingException", "RequestLimitExceeded", "TooManyRequestsException", "RequestTimeTooSkewed"),
        *("ExpiredToken", "ExpiredTokenException", "RequestExpired"),
    }
)
# PostgreSQL's answers (SQLSTATE, or its prefix): a connection that is lost or unavailable, too few resources, a server
# that starts or stops, a standby that needed to continue, a lock held by another session.
_PASSING_STATES = ("08", "53", "57P", "40", "55P03", "58")
_TOO_MANY_REQUESTS, _SERVER_ERROR = 429, 500
_DEPTH = 20


def is_outage(error: BaseException) -> bool:
    """Check whether waiting may cure an error, going by its causes in Python and in the JVM.

    It cures neither our own errors, whatever their causes, nor a JVM that is gone.
    """
    return not isinstance(error, JobError | Py4JNetworkError) and any(_passes(cause) for cause in _causes(error))


def may_be_a_value(error: BaseException) -> bool:
    """Check whether a value may have caused an error; outages, lack of memory and denied access are excluded."""
    last = list(_causes(error))[-1]
    known = not isinstance(last, BaseException) and not is_outage(error)
    return known and any(name in _OF_VALUES for name in _class_names(last))


def _passes(cause: Any) -> bool:
    kinds = set(_class_names(cause))
    status, code = _answer(cause, kinds)
    if status:
        return status >= _SERVER_ERROR or status == _TOO_MANY_REQUESTS or code in _PASSING_CODES
    if "java.sql.SQLException" in kinds and str(cause.getSQLState() or "").startswith(_PASSING_STATES):
        return True
    return _UNRESOLVED in str(cause) or not kinds.isdisjoint(_PASSING)


def _answer(cause: Any, kinds: Collection[str]) -> tuple[int, str]:
    """Return HTTP status and error code of AWS's answer; 0 without one."""
    if "com.amazonaws.AmazonServiceException" in kinds:
        return int(cause.getStatusCode()), str(cause.getErrorCode())
    if "software.amazon.awssdk.core.exception.SdkServiceException" in kinds:
        return int(cause.statusCode()), ""
    response = getattr(cause, "response", None) if isinstance(cause, BaseException) else None
    if not isinstance(response, dict):
        return 0, ""
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    return int(status or 0), str(response.get("Error", {}).get("Code", ""))


def _causes(error: BaseException) -> Iterator[Any]:
    python: BaseException | None = error
    for _ in range(_DEPTH):
        if python is None:
            return
        yield python
        java = getattr(python, "java_exception", None) or getattr(python, "_origin", None)
        for _ in range(_DEPTH):
            if java is None:
                break
            yield java
            java = java.getCause()
        python = python.__cause__ or python.__context__


def _class_names(cause: Any) -> Iterator[str]:
    if isinstance(cause, BaseException):
        yield from (f"{kind.__module__}.{kind.__qualname__}" for kind in type(cause).__mro__)
        return
    kind = cause.getClass()
    while kind is not None:
        yield str(kind.getName())
        kind = kind.getSuperclass()


_FIRST_PAUSE_S = 1.0
# Between two log lines while an outage lasts.
LINE_S = 600.0


@dataclass(eq=False, kw_only=True)
class Backoff:
    """Waits 1, 2, 4 … s up to `longest_seconds`, or until `stop`; logs at first, every 10 minutes, and at the end."""

    stop: threading.Event
    longest_seconds: float
    log: Log
    clock: Callable[[], float] = time.monotonic
    attempts: int = field(default=0, init=False)
    _began: float = field(default=0.0, init=False)
    _last_line: float = field(default=0.0, init=False)

    def wait(self, error: Exception) -> None:
        now = self.clock()
        self._began = self._began if self.attempts else now
        pause = min(_FIRST_PAUSE_S * 2.0 ** min(self.attempts, 30), self.longest_seconds)
        self.attempts += 1
        growing = self.attempts == 1 or pause < self.longest_seconds
        if growing or now - self._last_line >= LINE_S:
            self._last_line = now
            lasting = f" for {now - self._began:.0f} s" if self.attempts > 1 else ""
            self.log(f"attempt {self.attempts} failed{lasting}, again in {pause:.0f} s: {user_message(error)}")
        self.stop.wait(pause)

    def over(self) -> None:
        """Note a successful attempt."""
        if self.attempts:
            self.log(f"works again, after {self.attempts} failed attempts in {self.clock() - self._began:.0f} s")
        self.attempts = 0
