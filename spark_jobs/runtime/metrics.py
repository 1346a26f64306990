"""Publishes the commits' figures, and that the job is alive, to CloudWatch: once a minute, from its own thread.

Per table, with the dimension `table`: Commits, Events, Upserts, Deletes, Quarantined, MissingOffsets, LateFiles and
FailedAttempts (0 in a minute without any), CommitSeconds and LagSeconds (only with commits), and CommitAgeSeconds: the
time since the job last knew that the table holds all that has landed, from a commit or a look that found nothing new.
An idle pipeline has an age of 0, a hanging or failing job a growing age, a dead one no data. For a table that handles
TRUNCATEs also IgnoredTruncates: 1 while rows of an ignored one may be in the lake, else 0. For a queried table also
HorizonAgeSeconds: how long one transaction of the source has been open, as long as the job looks.
"""

import operator
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
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
        return " ".join(f"{one.name}={self._shown(one.name)}" for one in fields(self))

    def _shown(self, name: str) -> str:
        value = getattr(self, name)
        return "-" if value is None else f"{value:.1f}" if name in DURATIONS.values() else str(value)


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


# CloudWatch's StatisticSet of the values since the last publication, and how two become one.
_Statistics = dict[str, float]
_JOINED: Mapping[str, Callable[[float, float], float]]
_JOINED = {"SampleCount": operator.add, "Sum": operator.add, "Minimum": min, "Maximum": max}


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
        self._statistics: dict[str, _Statistics] = {}
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
            # What has landed since the commit began isn't in it.
            self._current_at = max(self._current_at, self._clock() - report.seconds)
            for name, attribute in (COUNTERS | DURATIONS).items():
                value = getattr(report, attribute)
                if value is not None:
                    self._add(name, value)

    def idle(self) -> None:
        """Note a look that found nothing new."""
        with self._lock:
            self._current_at = self._clock()

    def set_states(self, states: Mapping[str, float]) -> None:
        """Note values of STATES, each of which holds until it is set again."""
        with self._lock:
            self._states |= states

    def failed(self) -> None:
        with self._lock:
            self._add(names.FAILED_ATTEMPTS, 1)

    def finish(self) -> None:
        """Publish the rest, for half a minute at most."""
        self._ended.set()
        self._thread.join(FINISH_S)

    def publish(self) -> None:
        """Send the figures since the last success; after a failure they are kept for the next attempt."""
        with self._lock:
            taken, self._statistics = self._statistics, {}
            age, states = self._clock() - self._current_at, dict(self._states)
        try:
            self._client.put_metric_data(Namespace=self._namespace, MetricData=list(self._data(taken, age, states)))
        except Exception as error:  # noqa: BLE001  (boto3, botocore and urllib3 each raise their own)
            with self._lock:
                for name, statistics in taken.items():
                    self._join(name, statistics)
            self._failures += 1
            if self._failures == 1:
                self._log(f"metrics can't be published, tried again each minute: {first_line(error)}")
            return
        if self._failures:
            self._log(f"metrics are published again, after {self._failures} failures")
        self._failures = 0

    def _add(self, name: str, value: float) -> None:
        self._join(name, {"SampleCount": 1, "Sum": value, "Minimum": value, "Maximum": value})

    def _join(self, name: str, more: _Statistics) -> None:
        known = self._statistics.get(name)
        self._statistics[name] = {key: join(known[key], more[key]) for key, join in _JOINED.items()} if known else more

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
        yield self._datum(names.COMMITS, "Count", Value=taken.get(names.EVENTS, {}).get("SampleCount", 0))
        yield self._datum(names.FAILED_ATTEMPTS, "Count", Value=taken.get(names.FAILED_ATTEMPTS, {}).get("Sum", 0))
        for name in COUNTERS | DURATIONS:
            unit = "Count" if name in COUNTERS else "Seconds"
            if name in taken:
                yield self._datum(name, unit, StatisticValues=taken[name])
            elif name in COUNTERS:
                yield self._datum(name, unit, Value=0)

    def _datum(self, name: str, unit: str, **value: Any) -> dict[str, Any]:
        return {"MetricName": name, "Dimensions": self._dimensions, "Unit": unit, **value}


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
