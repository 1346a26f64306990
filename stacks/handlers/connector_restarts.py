"""Restarts connectors' failed tasks on a schedule: MSK Connect doesn't, and an S3 outage fails the sink's task.

`CONNECTORS` in the environment names them, separated by commas. Pauses grow from PAUSE to LONGEST_PAUSE; the number of
restarts comes from the connector's list of operations, so nothing is stored here. A connector that isn't RUNNING can't
be restarted: its alarm reports it. Source: MSK developer guide, "Restart a connector" (Kafka Connect 3.7 and later).
"""

import logging
import os
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

from stacks.handlers import framework
from stacks.handlers.msk_connect import resource

NAMESPACE, FAILED_TASKS, DIMENSION = "AWS/KafkaConnect", "ErroredTaskCount", "ConnectorName"
RESTART = "RESTART_CONNECTOR"
PAUSE, LONGEST_PAUSE = timedelta(minutes=5), timedelta(hours=1)
# After running this long, a connector starts with the shortest pause again.
REMEMBERED = timedelta(hours=6)
# Metrics come once a minute, some minutes late.
LOOK_BACK = timedelta(minutes=10)
_log = logging.getLogger(__name__)
_log.setLevel(logging.INFO)


def handler(_event: Mapping[str, Any], _context: object) -> dict[str, str]:
    """Check each connector; return what was done, by name."""
    return each_connector(_look_after)


def each_connector(look_after: Callable[[str], str]) -> dict[str, str]:
    """Call `look_after` for all at once: one that hangs delays no other. Return what was done, by name.

    Raises the first error once all are done.
    """
    names = os.environ["CONNECTORS"].split(",")
    with ThreadPoolExecutor(len(names)) as pool:
        answers = {name: pool.submit(look_after, name) for name in names}
    for name, answer in answers.items():
        error = answer.exception()
        _log.info("%s: %s", name, f"not looked after: {error}" if error else answer.result())
    return {name: answer.result() for name, answer in answers.items()}


def seconds_left(restarts: Collection[datetime], now: datetime) -> float:
    """Return how much of the pause after the last of these restarts is left: each restart doubles the pause."""
    if not restarts:
        return 0.0
    count = sum(now - at < REMEMBERED for at in restarts)
    pause = min(LONGEST_PAUSE, PAUSE * (1 << max(count - 1, 0)))
    return (max(restarts) + pause - now).total_seconds()


def figures_by_minute(name: str, namespace: str, metric: str, stat: str, *, since: timedelta, now: datetime) -> Any:
    """Return a connector's CloudWatch metric by minute, newest first: `Values` and their `Timestamps`."""
    shown = {"Namespace": namespace, "MetricName": metric, "Dimensions": [{"Name": DIMENSION, "Value": name}]}
    query: Any = {"Id": "figures", "MetricStat": {"Metric": shown, "Period": 60, "Stat": stat}}
    answer = framework.client("cloudwatch").get_metric_data(
        MetricDataQueries=[query], StartTime=now - since, EndTime=now, ScanBy="TimestampDescending"
    )
    return answer["MetricDataResults"][0]


def _look_after(name: str) -> str:
    found = resource.listed("list_connectors", "connectors", connectorNamePrefix=name)
    connector = next((each for each in found if each["connectorName"] == name), None)
    if connector is None:
        return "there is none"
    if (state := connector["connectorState"]) != "RUNNING":
        return f"{state}, so it can't be restarted"
    now = datetime.fromtimestamp(framework.now(), tz=UTC)
    failed = figures_by_minute(name, NAMESPACE, FAILED_TASKS, "Maximum", since=LOOK_BACK, now=now).get("Values", [])
    # The newest value counts.
    if not failed or not failed[0]:
        return "no failed task"
    arn = connector["connectorArn"]
    listed = resource.operations(arn)
    restarts = [each["creationTime"] for each in listed if each["connectorOperationType"] == RESTART]
    if (left := seconds_left(restarts, now)) > 0:
        return f"failed tasks, to be restarted in {left:.0f} s"
    try:
        resource.changing().restart_connector(connectorArn=arn, onlyFailedTasks=True)
    except resource.client().exceptions.BadRequestException as error:
        # Another operation has begun, such as an update, which also starts the tasks.
        return f"failed tasks, not restarted: {error}"
    return f"failed tasks restarted, {len(restarts) + 1} times by now"
