"""The last lines that a connector's workers logged: why it failed, which MSK Connect doesn't report."""

import functools
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from stacks.handlers import framework
from stacks.handlers.redaction import hidden
from stacks.handlers.transient import error_code

if TYPE_CHECKING:
    from mypy_boto3_logs import CloudWatchLogsClient

STREAMS = 50
EVENTS = 200
LINES = 8
LINE_CHARACTERS = 240
_TELLING = re.compile(r"\b(ERROR|FATAL)\b|Exception|Caused by")


@functools.cache
def client() -> "CloudWatchLogsClient":
    return boto3.client("logs", config=framework.CLIENT_CONFIG)


def last_lines(wanted: Mapping[str, Any]) -> str:
    """Return the newest telling lines of the connector's log, or why there are none. Never raises for a log error."""
    delivery = wanted["logDelivery"].get("workerLogDelivery", {}).get("cloudWatchLogs", {})
    group = delivery.get("logGroup") if delivery.get("enabled") else None
    if not group:
        return "it logs to no log group"
    try:
        lines = _newest(group, wanted["connectorName"])
    except (ClientError, BotoCoreError) as error:
        reason = error_code(error) if isinstance(error, ClientError) else type(error).__name__
        return f"its log group {group} couldn't be read: {reason}"
    telling = [line for line in lines if _TELLING.search(line)] or lines
    if not telling:
        return f"nothing in its log group {group}"
    return f"last lines of {group}:\n" + "\n".join(_shown(line) for line in telling[-LINES:])


def _newest(group: str, connector: str) -> list[str]:
    """Return the newest events of the connector's newest stream; several connectors may share a group."""
    streams = client().describe_log_streams(
        logGroupName=group, orderBy="LastEventTime", descending=True, limit=STREAMS
    )["logStreams"]
    for stream in streams:
        if stream["logStreamName"].startswith(connector):
            events = client().get_log_events(
                logGroupName=group, logStreamName=stream["logStreamName"], startFromHead=False, limit=EVENTS
            )["events"]
            return [event["message"].strip() for event in events]
    return []


def _shown(line: str) -> str:
    # A worker may print a setting that its plugin didn't declare as a password. The cut-off part may close a quotation,
    # so redact before cutting.
    return hidden(line[: 4 * LINE_CHARACTERS])[:LINE_CHARACTERS]
