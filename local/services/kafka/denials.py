"""Reads from the broker's log which right a role lacked: Kafka doesn't tell its clients."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

TAIL_BYTES = 65_536
SHOWN_S = 60
# Kafka 3.9's StandardAuthorizer, after the local time in the layout of local/services/jvm.py.
_LINE = re.compile(
    r"(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) .*Principal = User:(?P<role>\S+) is Denied"
    r" operation = (?P<operation>\w+) from host = \S+ on resource = (?P<kind>\w+):LITERAL:(?P<name>.*)"
    r" for request = (?P<request>\w+) "
)


@dataclass(frozen=True, kw_only=True, order=True)
class Denial:
    """A right that a role lacks: Kafka's names of operation, resource and request."""

    role: str
    operation: str
    kind: str
    name: str
    request: str

    def __str__(self) -> str:
        where = "the cluster" if self.kind == "Cluster" else f"{self.kind.lower()} {self.name}"
        return (
            f"Kafka denies {self.role} {self.operation} on {where} ({self.request}): plugins/kafka/topics.py says what"
            " each role may do"
        )


def denials(log: Path, *, since: datetime) -> list[Denial]:
    """Return the denials since a time, to the millisecond, each once; nothing without a log."""
    start = since.replace(microsecond=since.microsecond // 1000 * 1000)
    return sorted(
        {
            Denial(**{name: value for name, value in match.groupdict().items() if name != "at"})
            for match in _matches(log)
            if datetime.fromisoformat(match["at"]).astimezone() >= start
        }
    )


def recently(rights: Path, since: datetime | None = None) -> datetime:
    """Return since when denials are current: `since`, or the last update of the rights if that is later.

    `rights`: the file that is as old as they are (Kafka.rights_mark); it may be missing. `since` defaults to a minute
    ago.
    """
    since = since or datetime.now(UTC) - timedelta(seconds=SHOWN_S)
    try:
        return max(since, datetime.fromtimestamp(rights.stat().st_mtime, UTC))
    except FileNotFoundError:
        return since


def _matches(log: Path) -> Iterator[re.Match[str]]:
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return
    yield from filter(None, map(_LINE.match, text.splitlines()))
