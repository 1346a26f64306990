"""Reads ordinary tables again while changes continue: all rows, those of a condition, or those of some keys.

The running connector is asked for an incremental snapshot; the job puts its rows in order (docs/decisions/0021, 0034).
Rows that only the lake has are deleted there with events of our own. Shared by the local platform and AWS: they differ
in how the connector's progress is read, and in how Kafka is reached.
"""

import base64
import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any, Protocol

import psycopg2
from confluent_kafka import KafkaException, Message, Producer
from psycopg2.extensions import cursor as Cursor  # noqa: N812 - a class with a lower-case name

from contract import events
from contract.column_types.canonical import EPOCH
from contract.events import LSN
from db.connecting import LoadError, connect, explain
from db.rewriting import wal_position
from db.source import signals
from db.source.signals import Name, Reading
from local.errors import PlatformError
from plugins.connector_settings import SourceSettings

SEND_TIMEOUT_S = 60
_CYCLE_MICROS = 146_097 * 86_400 * 1_000_000
LOOK_S = 0.5
ASK_S = 5
# A connector asked for a blocking snapshot keeps streaming for a moment.
BEGIN_S = 2.0
# Offsets have these while a snapshot runs (AbstractIncrementalSnapshotContext of Debezium 3.7).
_RUNNING = "incremental_snapshot_collections"
Say = Callable[[str], None]


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
    """Convert a key's value in the lake to its Avro type's form in events. Raises PlatformError if that is unknown.

    Dates are days, and instants microseconds, since 1970; times of day are texts.
    """
    kind = _kind(avro)
    if isinstance(value, Decimal):
        return f"{value:f}"
    if value is None or isinstance(value, list | tuple | dict) or kind.endswith("data.Bits"):
        raise PlatformError(
            f"a key of the type {json.dumps(avro)} can't be written as an event: delete its row by hand"
        )
    if kind == events.TEXT_AS_BYTES or isinstance(value, bytes):
        return base64.b64encode(value.encode() if isinstance(value, str) else value).decode()
    if kind.endswith("ZonedTimestamp") or kind == "timestamp-micros":
        return events.INFINITE_MICROS.get(value) or _iso(value)
    if kind.endswith(("time.MicroTime", "time.Time")):
        hours, minutes, seconds = map(Decimal, value.split(":"))
        value = int(((hours * 60 + minutes) * 60 + seconds) * 1_000_000)
    is_millis = kind.endswith(("time.Time", "time.Timestamp", "timestamp-millis"))
    return value // 1_000 if is_millis and value not in events.INFINITE_MICROS else value


def _kind(avro: Any) -> str:
    """Name the type that decides how Debezium writes a value: the semantic type, or Avro's logical one."""
    if isinstance(avro, list):
        [avro] = [branch for branch in avro if branch != "null"] or ["null"]
    if isinstance(avro, Mapping):
        return str(avro.get("connect.name") or avro.get("logicalType") or avro.get("type"))
    return str(avro)


def _iso(micros: int) -> str:
    """Write an instant in ISO 8601; PostgreSQL's years begin before Python's and end later, so 400 are a cycle."""
    cycles, rest = divmod(micros, _CYCLE_MICROS)
    moment = EPOCH + timedelta(microseconds=rest)
    year = moment.year + 400 * cycles
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04d}{moment.isoformat()[4:-6]}Z"


def write_events(
    client: Mapping[str, Any], topic: str, keyed: Sequence[tuple[Mapping[str, Any] | None, Mapping[str, Any]]]
) -> None:
    """Write (key, event) pairs to a topic and wait until the broker has them; a whole table's event has no key.

    `client`: login of a role that may write. Raises PlatformError unless all are taken.
    """
    problems: list[str] = []

    def delivered(problem: Any, _message: Message) -> None:
        if problem is not None:
            problems.append(str(problem))

    try:
        producer = Producer({**client, "enable.idempotence": True, "log_level": 0})
        for key, value in keyed:
            producer.produce(topic, key=None if key is None else _json(key), value=_json(value), on_delivery=delivered)
            producer.poll(0)
        left = producer.flush(SEND_TIMEOUT_S)
    except (KafkaException, BufferError) as error:
        raise PlatformError(f"{topic} can't be written to: {error}") from error
    if left or problems:
        reason = problems[0] if problems else f"no answer within {SEND_TIMEOUT_S} s"
        raise PlatformError(f"{topic} can't be written to: {reason}; run this again")


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


class Connector(Protocol):
    """The source connector, on any platform. Methods raise PlatformError."""

    @property
    def slot(self) -> str:
        """The replication slot's name."""

    def newest_position(self) -> int:
        """Return the highest log position known to have been read, 0 without one."""

    def failure(self) -> str | None:
        """Return why it has failed; None when it hasn't or that is unknown."""

    def offsets(self) -> Sequence[Mapping[str, Any]]:
        """Return its stored offsets, as it wrote them."""

    def release(self) -> None:
        """Release the slot, where that can be requested."""

    def follow_slot(self) -> None:
        """Start, and resume at the slot's position, whatever offset is stored."""

    def restart(self) -> None:
        """Restart what has failed."""

    def settle(self) -> None:
        """Run as configured again."""

    def end_following(self) -> None:
        """Run as configured where a run that was broken off has left it following its slot."""


@contextlib.contextmanager
def committing(parameters: Mapping[str, Any]) -> Iterator[Cursor]:
    """Connect, each statement in its own transaction; errors become one line. Raises PlatformError."""
    try:
        with contextlib.closing(connect(parameters)) as connection, connection.cursor() as cursor:
            connection.autocommit = True
            yield cursor
    except LoadError as error:
        raise PlatformError(str(error)) from error
    except psycopg2.Error as error:
        raise PlatformError(explain(error)) from error


def position_of(value: bytes | str | None) -> int:
    """Return an event's log position; 0 without one, as in a tombstone or a record of foreign origin."""
    with contextlib.suppress(ValueError, TypeError, KeyError):
        return int(json.loads(value or "")[LSN])
    return 0


def signal_table(settings: SourceSettings) -> Name:
    """Return schema and name of the table that takes signals. Raises PlatformError without one."""
    if settings.signal_table is None:
        raise PlatformError(f"{settings.name} has no signal table: prepare the database (`./lake source prepare`)")
    schema, _, name = settings.signal_table.partition(".")
    return schema, name


def read_again(
    cursor: Cursor,
    settings: SourceSettings,
    readings: Sequence[Reading],
    connector: Connector,
    *,
    timeout_s: float,
    say: Say = lambda _line: None,
) -> None:
    """Have rows of a connector's tables read again, and wait until all are in their topics.

    `cursor` commits each statement. Raises LoadError, and PlatformError when the connector has failed or nothing moves
    for `timeout_s`.
    """
    left_out = {(table.schema, table.table): table.leave_out for table in settings.tables}
    for reading in readings:
        signals.check_readable(cursor, settings.database_user, reading.table, left_out.get(reading.table, ()))
    for blocks in (False, True):
        some = [reading for reading in readings if reading.blocks == blocks]
        if not some:
            continue
        position = signals.ask_for_snapshot(cursor, signal_table(settings), some, publication=settings.publication_name)
        others = ", while the others wait" if blocks else ""
        say(f"asked for a snapshot of {', '.join(sorted({reading.shown for reading in some}))}{others}")
        _await_read(connector, position, timeout_s)
        if blocks:
            # Its rows' offsets carry the position of the snapshot's beginning; later changes come after them.
            time.sleep(BEGIN_S)
            _await_read(connector, wal_position(cursor), timeout_s)


def is_read(offsets: Sequence[Mapping[str, Any]], position: int) -> bool:
    """Tell whether a connector is beyond a log position and in no snapshot; stored offsets lag behind the topics."""
    beyond = any(int(offset.get("lsn") or 0) > position for offset in offsets)
    return beyond and not any(_RUNNING in offset for offset in offsets)


def _await_read(connector: Connector, position: int, timeout_s: float) -> None:
    seen: object = None
    asked = moved = time.monotonic()
    while not is_read(offsets := connector.offsets(), position):
        if (reached := _reached(offsets)) != seen:
            seen, moved = reached, time.monotonic()
        if time.monotonic() - asked > ASK_S:
            asked = time.monotonic()
            if reason := connector.failure():
                raise PlatformError(f"the connector has failed during the snapshot: {reason}")
        if time.monotonic() - moved > timeout_s:
            raise PlatformError(
                f"the snapshot doesn't move for {timeout_s:.0f} s: see the connector's log, then run this again"
            )
        time.sleep(LOOK_S)


def _reached(offsets: Sequence[Mapping[str, Any]]) -> object:
    """Return what changes while a snapshot progresses: its tables and the last key read; heartbeats move the rest."""
    running = [offset for offset in offsets if _RUNNING in offset]
    if not running:
        return [offset.get("lsn") for offset in offsets]
    return [(offset[_RUNNING], offset.get("incremental_snapshot_primary_key")) for offset in running]
