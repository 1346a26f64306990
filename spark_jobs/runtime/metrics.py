"""Publishes the commits' figures, and that the job is alive, to CloudWatch: once a minute, from its own thread.

Per table, with the dimension `table`: Commits, Events, Upserts, Deletes, Quarantined, MissingOffsets, LateFiles and
FailedAttempts (0 in a minute without any), CommitSeconds and LagSeconds (only with commits), and CommitAgeSeconds: the
time since the job last knew that the table holds all that has landed, from a commit or a look that found nothing new.
An idle pipeline has an age of 0, a hanging or failing job a growing age, a dead one no data. For a table whose
TRUNCATEs are ignored also IgnoredTruncates: 1 while rows of one may be in the lake, else 0. For a queried table also
HorizonAgeSeconds: how long one transaction of the source has been open, as long as the job looks.
"""

import math
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from contract import metrics as names
from spark_jobs.errors import Log, first_line
from spark_jobs.runtime import aws


@dataclass(frozen=True, kw_only=True)
class CommitReport:
    """What one commit did.

    `upserts` and `deletes` are rows; `folded` are events without effect because something newer of their key was in the
    batch, in the table or among the remembered deletes; `lag_seconds` is the time from the newest event's change in the
    source to this commit.
    """

    commit: str
    files: int
    events: int
    upserts: int
    deletes: int
    quarantined: int = 0
    folded: int = 0
    seconds: float
    lag_seconds: float | None = None
    missing_offsets: int = 0
    late_files: int = 0

    def line(self) -> str:
        lag = "-" if self.lag_seconds is None else f"{self.lag_seconds:.1f}"
        return (
            f"commit={self.commit} files={self.files} events={self.events} upserts={self.upserts}"
            f" deletes={self.deletes} quarantined={self.quarantined} folded={self.folded}"
            f" seconds={self.seconds:.1f} lag_seconds={lag}"
            f" missing_offsets={self.missing_offsets} late_files={self.late_files}"
        )


INTERVAL_S = 60.0
# Longer than one call with its retries may take.
FINISH_S = 30.0
_CONNECT_S, _READ_S, _ATTEMPTS = 3, 5, 2
COUNTERS = {
    names.EVENTS: "events",
    names.UPSERTS: "upserts",
    names.DELETES: "deletes",
    names.QUARANTINED: "quarantined",
    names.MISSING_OFFSETS: "missing_offsets",
    names.LATE_FILES: "late_files",
}
STATES = {names.IGNORED_TRUNCATES: "Count", names.HORIZON_AGE_SECONDS: "Seconds"}
DURATIONS = {names.COMMIT_SECONDS: "seconds", names.LAG_SECONDS: "lag_seconds"}


@dataclass
class _Statistics:
    """CloudWatch's StatisticSet of the values since the last publication, one per commit."""

    count: int = 0
    total: float = 0
    low: float = math.inf
    high: float = -math.inf

    def add(self, *values: float) -> None:
        self.take(_Statistics(len(values), sum(values), min(values), max(values)))

    def take(self, other: "_Statistics") -> None:
        self.count += other.count
        self.total += other.total
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)

    def to_request(self) -> dict[str, float]:
        return {"SampleCount": self.count, "Sum": self.total, "Minimum": self.low, "Maximum": self.high}


class Metrics:
    """Collects one table's figures; `client` is boto3's CloudWatch client. Its failures never reach the job."""

    def __init__(
        self, client: Any, *, namespace: str, table: str, log: Log, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._dimensions = [{"Name": names.DIMENSION, "Value": table}]
        self._log = log
        self._clock = clock
        self._lock = threading.Lock()
        self._statistics = defaultdict[str, _Statistics](_Statistics)
        self._current_at = clock()
        # Values that stay as they are, however often they are set.
        self._states: dict[str, float] = {}
        self._failures = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="metrics", daemon=True)

    def start(self) -> None:
        """Publish from now on, immediately and then every minute."""
        self._thread.start()

    def committed(self, report: CommitReport) -> None:
        with self._lock:
            self._current_at = self._clock()
            for name, attribute in (COUNTERS | DURATIONS).items():
                value = getattr(report, attribute)
                if value is not None:
                    self._statistics[name].add(value)

    def idle(self) -> None:
        """Note a look that found nothing new."""
        with self._lock:
            self._current_at = self._clock()

    def state(self, name: str, value: float | None) -> None:
        """Note a value that holds until it is set again; None where the table has none."""
        if value is not None:
            with self._lock:
                self._states[name] = value

    def failed(self) -> None:
        """Note a failed attempt that will be retried."""
        with self._lock:
            self._statistics[names.FAILED_ATTEMPTS].add(1)

    def finish(self) -> None:
        """Publish the rest, for half a minute at most."""
        self._ended.set()
        self._thread.join(FINISH_S)

    def publish(self) -> None:
        """Send the figures since the last success; after a failure they are kept for the next attempt."""
        with self._lock:
            taken, self._statistics = self._statistics, defaultdict(_Statistics)
            age, states = self._clock() - self._current_at, dict(self._states)
        try:
            self._client.put_metric_data(Namespace=self._namespace, MetricData=list(self._data(taken, age, states)))
        except Exception as error:  # noqa: BLE001  (boto3, botocore and urllib3 each raise their own)
            self._failed(error, taken)
            return
        if self._failures:
            self._log(f"metrics are published again, after {self._failures} failures")
        self._failures = 0

    def _run(self) -> None:
        self.publish()
        while not self._ended.wait(INTERVAL_S):
            self.publish()
        # Figures that came in while the last publication ran.
        self.publish()

    def _data(self, taken: dict[str, _Statistics], age: float, states: Mapping[str, float]) -> Iterator[dict[str, Any]]:
        for name, value in states.items():
            yield self._datum(name, STATES[name], Value=value)
        yield self._datum(names.COMMIT_AGE_SECONDS, "Seconds", Value=age)
        commits = taken[names.EVENTS].count
        yield self._datum(names.COMMITS, "Count", Value=commits)
        yield self._datum(names.FAILED_ATTEMPTS, "Count", Value=taken[names.FAILED_ATTEMPTS].total)
        for name in COUNTERS | DURATIONS:
            unit = "Count" if name in COUNTERS else "Seconds"
            statistics = taken[name]
            if statistics.count:
                yield self._datum(name, unit, StatisticValues=statistics.to_request())
            elif name in COUNTERS:
                yield self._datum(name, unit, Value=0)

    def _datum(self, name: str, unit: str, **value: Any) -> dict[str, Any]:
        return {"MetricName": name, "Dimensions": self._dimensions, "Unit": unit, **value}

    def _failed(self, error: Exception, unsent: Mapping[str, _Statistics]) -> None:
        with self._lock:
            for name, statistics in unsent.items():
                self._statistics[name].take(statistics)
        self._failures += 1
        if self._failures == 1:
            self._log(f"metrics can't be published, tried again each minute: {first_line(error)}")


@contextmanager
def publishing(metrics: Metrics | None) -> Iterator[None]:
    """Publish a table's metrics, if it has any, until the block ends."""
    if metrics is None:
        yield
        return
    metrics.start()
    try:
        yield
    finally:
        metrics.finish()


def metrics_for(namespace: str | None, table: str, log: Log) -> Metrics | None:
    """Return a table's metrics; None without a namespace, or, with a line to the log, without boto3 or a region."""
    if not namespace:
        return None
    limits = {
        "connect_timeout": _CONNECT_S,
        "read_timeout": _READ_S,
        "retries": {"total_max_attempts": _ATTEMPTS, "mode": "standard"},
    }
    try:
        client = aws.client("cloudwatch", limits=limits)
    except ModuleNotFoundError:
        log("boto3 is missing: no metrics are published")
        return None
    except Exception as error:  # noqa: BLE001  (botocore's errors, which can't be named where it is missing)
        log(f"no metrics are published: {first_line(error)}")
        return None
    return Metrics(client, namespace=namespace, table=table, log=log)
