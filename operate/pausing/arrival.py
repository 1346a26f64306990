"""Checks in CloudWatch whether everything that was read has arrived in the lake; this needs no VPN.

Events in a topic or in the landing bucket expire, and a pause may last longer. So both must be empty before the sinks
and the jobs stop. For the whole pause, the slot keeps what no connector has read yet.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from contract.metrics import COMMIT_AGE_SECONDS, DIMENSION, table_value
from plugins.connector_names import sink_group
from settings.connectors import sink_settings
from settings.environment import Environment

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_cloudwatch.type_defs import MetricDataQueryTypeDef

PERIOD_S = 60
# Maximum delay of the metrics of MSK and the job; older ones don't describe the present.
LATE = timedelta(minutes=10)
OF_A_CALL = 500
# The sink's flush, MSK's metric for it, the job's commit and its metric: a few minutes together.
LIMIT_S = 1_800.0


@dataclass(frozen=True)
class Figure:
    """A metric's newest value, and the start of its minute."""

    at: datetime
    value: float


@dataclass(frozen=True)
class Metric:
    """A metric of the environment; `what` is its topic, table or connector."""

    what: str
    namespace: str
    name: str
    dimensions: Mapping[str, str]

    def query(self, id_: str) -> "MetricDataQueryTypeDef":
        dimensions: Any = [{"Name": name, "Value": value} for name, value in self.dimensions.items()]
        metric: Any = {"Namespace": self.namespace, "MetricName": self.name, "Dimensions": dimensions}
        return {"Id": id_, "MetricStat": {"Metric": metric, "Period": PERIOD_S, "Stat": "Maximum"}}


def newest(
    client: "CloudWatchClient", metrics: Sequence[Metric], until: datetime, late: timedelta
) -> Iterator[tuple[Metric, Figure | None]]:
    """Yield each metric with its newest value since `late` before `until`; None if there is none."""
    for first in range(0, len(metrics), OF_A_CALL):
        some = metrics[first : first + OF_A_CALL]
        pages = client.get_paginator("get_metric_data").paginate(
            MetricDataQueries=[metric.query(f"m{number}") for number, metric in enumerate(some)],
            StartTime=until - late,
            EndTime=until,
            ScanBy="TimestampDescending",
        )
        found: dict[str, Figure] = {}
        for result in itertools.chain.from_iterable(page["MetricDataResults"] for page in pages):
            for figure in map(Figure, result.get("Timestamps", []), result.get("Values", [])):
                found.setdefault(result["Id"], figure)
        yield from ((metric, found.get(f"m{number}")) for number, metric in enumerate(some))


class Arrival:
    """Checks whether the tables hold everything that the sources had read by `clock` at creation."""

    def __init__(self, client: "CloudWatchClient", environment: Environment, clock: Callable[[], datetime]) -> None:
        self._client = client
        self._clock = clock
        self._since = clock()
        self._lags = list(_lags(environment))
        self._ages = list(_ages(environment))
        self._landed_at: datetime | None = None

    def missing(self) -> str | None:
        """Describe what hasn't arrived yet; None if everything has."""
        if self._landed_at is None:
            waiting, landed_at = self._waiting()
            if waiting:
                return waiting
            self._landed_at = landed_at
        behind = [
            metric.what
            for metric, figure in self._newest(self._ages)
            # A table holds what had landed by the time that its commit age points to.
            if figure is None or figure.at - timedelta(seconds=figure.value) < self._landed_at
        ]
        return f"what has landed to be in {_some(behind)}" if behind else None

    def _waiting(self) -> tuple[str | None, datetime]:
        """Name the topics with events that no sink has landed; otherwise return since when none has any."""
        landed_at, full, unknown = self._since, [], []
        for metric, figure in self._newest(self._lags):
            if figure is None or figure.at < self._since:
                unknown.append(metric.what)
            elif figure.value > 0:
                full.append(f"{metric.what} ({figure.value:,.0f} events)")
            else:
                landed_at = max(landed_at, figure.at + timedelta(seconds=PERIOD_S))
        if full:
            return f"the sink to land what waits in {_some(full)}", landed_at
        return (f"MSK's figure of what waits in {_some(unknown)}" if unknown else None), landed_at

    def _newest(self, metrics: Sequence[Metric]) -> Iterator[tuple[Metric, Figure | None]]:
        return newest(self._client, metrics, self._clock(), LATE)


def _lags(environment: Environment) -> Iterator[Metric]:
    for pipeline in environment.streamed:
        sink = sink_settings(environment, pipeline)
        for topic in sink.topics:
            dimensions = {"Cluster Name": environment.prefix, "Consumer Group": sink_group(sink.name), "Topic": topic}
            yield Metric(topic, "AWS/Kafka", "SumOffsetLag", dimensions)


def _ages(environment: Environment) -> Iterator[Metric]:
    """Query-based pipelines have nothing in transit: after the pause the job queries the changed rows."""
    for pipeline in environment.streamed:
        for entry in pipeline.captured.tables:
            table = table_value(environment.lake.database, pipeline.captured.lake_table(entry))
            yield Metric(table, environment.prefix, COMMIT_AGE_SECONDS, {DIMENSION: table})


def _some(names: list[str]) -> str:
    shown = 3
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + more
