"""The last lines that a connector's workers logged: why it failed, which MSK Connect doesn't report.

`hidden` removes secrets from such text that others wrote: a worker's log line, a service's message. It goes by the text
before a value (a name that sounds like a secret's) or around it (a URL, an authorization header, an access key's own
form). It can't know every secret, so the text shown should also be as short as possible.
"""

import re
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from contract.secret_names import KEYS, WORDS
from stacks.handlers import framework
from stacks.handlers.framework import error_code

STREAMS = 50
EVENTS = 200
LINES = 8
LINE_CHARACTERS = 240
TELLING = re.compile(r"\b(ERROR|FATAL)\b|Exception|Caused by")
HIDDEN = "[hidden]"
_NAME = rf"(?<![\w.-])[\w.-]*(?:{WORDS}|{KEYS})[\w.-]*"
# Between a name and its value: `=`, `:`, `=>`, JSON's quotes, SQL's blank before a literal.
_BETWEEN = r"""(?:\\*["']?\s*(?:=>?|:=?)\s*|\s+(?=["']))"""
# A literal up to its closing quote, or to the end; a scheme and its credentials; anything else.
_VALUE = (
    r"""(?:\\+["'](?:(?!\\+["']).)*(?:\\+["']|$)|(?P<quote>["'])(?:\\.|(?!(?P=quote)).)*(?:(?P=quote)|$)"""
    r"""|\$\{[^}]*\}|(?:bearer|basic|digest|negotiate|aws4-hmac-sha256)\s+\S+|\S+)"""
)
_NAMED = re.compile(f"(?P<name>{_NAME})(?P<between>{_BETWEEN}){_VALUE}", re.IGNORECASE | re.DOTALL)
# `//user:password@host`; the password may contain any character, so match up to the word's last @.
_IN_URL = re.compile(r"""(?<=//)[^\s/:@"']*:[^\s"']*@""")
_SCHEME = re.compile(r"(?P<name>\b(?:bearer|basic)\s+)[\w.~+/=-]{6,}", re.IGNORECASE)
# IAM user guide, "Unique identifiers": AKIA is an access key's, ASIA a temporary one's.
_ACCESS_KEY = re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")


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
    telling = [line for line in lines if TELLING.search(line)] or lines
    if not telling:
        return f"nothing in its log group {group}"
    return f"last lines of {group}:\n" + "\n".join(_shown(line) for line in telling[-LINES:])


def _newest(group: str, connector: str) -> list[str]:
    """Return the newest events of the connector's newest stream; several connectors may share a group."""
    logs = framework.client("logs")
    found = logs.describe_log_streams(logGroupName=group, orderBy="LastEventTime", descending=True, limit=STREAMS)
    names = [stream["logStreamName"] for stream in found["logStreams"]]
    stream = next((name for name in names if name.startswith(connector)), None)
    if stream is None:
        return []
    found = logs.get_log_events(logGroupName=group, logStreamName=stream, startFromHead=False, limit=EVENTS)
    return [event["message"].strip() for event in found["events"]]


def _shown(line: str) -> str:
    # A worker may print a setting that its plugin didn't declare as a password. The cut-off part may close a quotation,
    # so redact before cutting.
    return hidden(line[: 4 * LINE_CHARACTERS])[:LINE_CHARACTERS]


def hidden(text: str) -> str:
    """Replace everything that looks like a secret, including references such as `${secretsmanager:…}`."""
    text = _IN_URL.sub(f"{HIDDEN}@", text)
    text = _NAMED.sub(lambda found: f"{found['name']}{found['between']}{HIDDEN}", text)
    text = _SCHEME.sub(lambda found: f"{found['name']}{HIDDEN}", text)
    return _ACCESS_KEY.sub(HIDDEN, text)
