"""Writes events of our own: deletes of rows that only the lake has, and marks that no rows are left of a TRUNCATE.

Why they are needed: docs/decisions/0034, 0021.
"""

import json
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from confluent_kafka import KafkaException, Message, Producer

from contract import events
from local.errors import PlatformError

SEND_TIMEOUT_S = 60
_EPOCH = date(1970, 1, 1)
_STRUCTURE = (bytes, bytearray, list, tuple, dict)


def delete_event(table: tuple[str, str], database: str, key: Mapping[str, Any], position: int) -> dict[str, Any]:
    """Return the event that deletes a row: only the key, as in other events."""
    return {**key, events.DELETED: events.IS_DELETED, **_added(table, database, events.DELETE, position)}


def settled_event(table: tuple[str, str], database: str, position: int) -> dict[str, Any]:
    """Return the event stating that the lake has no rows left that TRUNCATEs before a position have removed."""
    return _added(table, database, events.SETTLED, position)


def _added(table: tuple[str, str], database: str, operation: str, position: int) -> dict[str, Any]:
    return {
        events.OPERATION: operation,
        events.DATABASE: database,
        events.TABLE: table[1],
        events.SCHEMA: table[0],
        events.LSN: position,
        events.SOURCE_TIME_MS: time.time_ns() // 1_000_000,
    }


def as_event(value: Any, avro: Any) -> Any:
    """Convert a key's value in the lake to its form in events; `avro` is the field's Avro type.

    Raises PlatformError for a type whose form in events is unknown here.
    """
    kind = _kind(avro)
    if isinstance(value, datetime):
        return _instant(value, kind)
    if isinstance(value, date):
        return (value - _EPOCH).days
    if isinstance(value, Decimal):
        return str(value)
    if value is None or isinstance(value, _STRUCTURE):
        raise PlatformError(
            f"a key of the type {json.dumps(avro)} can't be written as an event: delete its row by hand"
        )
    return value


def _kind(avro: Any) -> str:
    """Name the type that decides how Debezium writes a value: the semantic type, or Avro's logical one."""
    if isinstance(avro, list):
        [avro] = [branch for branch in avro if branch != "null"] or ["null"]
    if isinstance(avro, Mapping):
        return str(avro.get("connect.name") or avro.get("logicalType") or avro.get("type"))
    return str(avro)


def _instant(value: datetime, kind: str) -> Any:
    if kind.endswith("ZonedTimestamp") or kind == "timestamp-micros":
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    since = value.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    micros = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    return micros // 1_000 if kind.endswith(("time.Timestamp", "timestamp-millis")) else micros


class EventWriter:
    """Writes events to topics and waits until the broker has them; `client`: login of a role that may write."""

    def __init__(self, client: Mapping[str, Any]) -> None:
        self._producer = Producer({**client, "enable.idempotence": True, "log_level": 0})
        self._problems: list[str] = []

    def write(self, topic: str, keyed: Sequence[tuple[Mapping[str, Any] | None, Mapping[str, Any]]]) -> None:
        """Write (key, event) pairs, without key for an event of the whole table.

        Raises PlatformError when the broker doesn't take them all.
        """
        try:
            for key, value in keyed:
                self._producer.produce(
                    topic, key=None if key is None else _json(key), value=_json(value), on_delivery=self._delivered
                )
                self._producer.poll(0)
            left = self._producer.flush(SEND_TIMEOUT_S)
        except (KafkaException, BufferError) as error:
            raise PlatformError(f"{topic} can't be written to: {error}") from error
        if left or self._problems:
            reason = self._problems[0] if self._problems else f"no answer within {SEND_TIMEOUT_S} s"
            raise PlatformError(f"{topic} can't be written to: {reason}; run this again")

    def _delivered(self, problem: Any, _message: Message) -> None:
        if problem is not None:
            self._problems.append(str(problem))


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
