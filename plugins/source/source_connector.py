"""Debezium's configuration, shared by the local platform and MSK Connect.

Kafka Connect's string-to-string configuration (without `name`, which is `settings.name`) with the property names of
Debezium 3.7.
"""

import re
from collections.abc import Mapping, Sequence

from contract import events
from contract.sizes import SizeLimits
from contract.table_names import table_topic
from plugins.connector_names import EVENTS_TABLE, OUTBOX
from plugins.connector_properties import CONVERTERS, STANDARD, Transform, override, properties
from plugins.connector_settings import SourceSettings
from plugins.source import captured
from plugins.source.captured import INCLUDED_TABLES, CapturedTable
from plugins.workers.connect_workers import (
    EVERY_VALUE,
    HASHED_COLUMNS,
    IS_TRUNCATE,
    RESUMABLE_OFFSETS,
    WITHOUT_DEFAULTS,
)

OFFSET_MISMATCH = "offset.mismatch.strategy"
# The caller sets it to a config provider's reference, if columns are hashed. Debezium masks this suffix in its log.
SALT_PROPERTY = "hashed.salt.secret"
# Number of the largest events Debezium keeps in memory: four fit into the local worker's 512 MB with their copies.
QUEUED_EVENTS = 4


def source_connector(settings: SourceSettings) -> dict[str, str]:
    """Configure Debezium: tables of one database, flattened to one JSON object per change."""
    return {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "tasks.max": "1",
        "database.hostname": settings.database_hostname,
        "database.port": str(settings.database_port),
        "database.dbname": settings.database_name,
        "database.user": settings.database_user,
        "database.password": settings.database_password,
        "database.sslmode": settings.database_sslmode,
        **_root_certificate(settings),
        "topic.prefix": settings.topic_prefix,
        **_tables(settings),
        **_snapshot(settings.tables),
        "poll.interval.ms": str(settings.poll_interval_ms),
        **_replication(settings),
        **_VALUES,
        **transformations(settings.tables, settings.topic_prefix, settings.signal_table),
        **CONVERTERS,
        **_TOPIC_CREATION,
        **override("producer", SizeLimits(settings.largest_event_bytes).producer),
        # By default 8,192 events may wait in the worker's memory, whatever their size.
        "max.queue.size.in.bytes": str(QUEUED_EVENTS * settings.largest_event_bytes),
        **_signals(settings),
    }


def _tables(settings: SourceSettings) -> dict[str, str]:
    """Return the captured tables and columns; the outbox's properties must stay as existing connectors have them."""
    if settings.tables == (OUTBOX,):
        return {INCLUDED_TABLES: EVENTS_TABLE}
    optional = {
        "column.exclude.list": captured.columns(settings.tables, "leave_out"),
        "message.key.columns": captured.keys(settings.tables),
    }
    return {
        INCLUDED_TABLES: ",".join(table.pattern for table in settings.tables),
        **_value_converters(captured.columns(settings.tables, "hashed")),
        **{name: value for name, value in optional.items() if value},
    }


def _value_converters(hashed: str) -> dict[str, str]:
    """Return our converters of columns' values; the first one that takes a column has it."""
    types = {"hashed": HASHED_COLUMNS.name} if hashed else {}
    types["every"] = EVERY_VALUE.name
    return {
        "converters": ",".join(types),
        **{f"{name}.type": converter for name, converter in types.items()},
        **{f"{name}.placeholder": events.PLACEHOLDER for name in types},
        **({"hashed.columns": hashed} if hashed else {}),
    }


def _snapshot(tables: Sequence[CapturedTable]) -> dict[str, str]:
    """Return which tables the connector reads at first."""
    read = [table.pattern for table in tables if not table.loaded_directly]
    if not read:
        return {"snapshot.mode": "no_data"}
    return {
        "snapshot.mode": "initial",
        **({"snapshot.include.collection.list": ",".join(read)} if len(read) < len(tables) else {}),
    }


def _fields(tables: Sequence[CapturedTable]) -> tuple[str, ...]:
    """Return the metadata that events get: with a transaction's number, rows read directly and events meet exactly."""
    more = (events.TRANSACTION_FIELD,) if any(table.loaded_directly for table in tables) else ()
    return (*events.METADATA_FIELDS, *more)


def _signals(settings: SourceSettings) -> dict[str, str]:
    if settings.signal_table is None:
        return {}
    return {
        "signal.enabled.channels": "source",
        "signal.data.collection": settings.signal_table,
        # Deletes each chunk's marks; by default they stay in the table.
        "incremental.snapshot.watermarking.strategy": "insert_delete",
        # Debezium binds a chunk's last key as text; with a key column of another type that fails ("timestamp with time
        # zone <= character varying") and the table is skipped: this lets PostgreSQL infer the type.
        "driver.stringtype": "unspecified",
    }


def _root_certificate(settings: SourceSettings) -> dict[str, str]:
    """Pass the certificate to PostgreSQL's driver through the class loader: MSK Connect documents no path for a plugin.

    `driver.` passes on what follows. Without the resource the driver can't connect; it still checks host names.
    """
    certificate = settings.database_root_certificate
    if certificate is None:
        return {}
    if certificate.startswith("/"):
        return {"database.sslrootcert": certificate}
    return {
        "driver.sslfactory": "org.postgresql.ssl.SingleCertValidatingFactory",
        "driver.sslfactoryarg": f"classpath:{certificate}",
    }


def following_slot(configuration: Mapping[str, str]) -> dict[str, str]:
    """Return a source connector's configuration that continues from the slot, whatever offset is stored.

    Only during a repair: with it, a missing slot would silently be created again.
    """
    return {**configuration, OFFSET_MISMATCH: "trust_slot"}


def not_following_slot(configuration: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in configuration.items() if name != OFFSET_MISMATCH}


def _replication(settings: SourceSettings) -> dict[str, str]:
    return {
        "plugin.name": "pgoutput",
        "publication.name": settings.publication_name,
        "publication.autocreate.mode": "disabled",
        "slot.name": settings.slot_name,
        "slot.drop.on.stop": "false",
        # After a kill the old session may hold the slot until the server notices.
        "slot.max.retries": "60",
        "slot.retry.delay.ms": "1000",
        # Without our own change the slot would hold back WAL that other tables fill. The procedure also sends what
        # the outbox has queued (docs/decisions/0010).
        "heartbeat.interval.ms": str(settings.heartbeat_interval_ms),
        **({"heartbeat.action.query": settings.heartbeat_query} if settings.heartbeat_query else {}),
        # Any user who can log in can write messages to the log: they would be events of an unplanned topic.
        "message.prefix.exclude.list": ".*",
        # Retries an unavailable database for as long as it takes.
        "errors.max.retries": "-1",
        "retriable.restart.connector.wait.ms": str(settings.retry_wait_ms),
        "errors.log.enable": "true",
        "errors.log.include.messages": "false",
    }


# How a row becomes JSON: every property that the job relies on, default or not.
_VALUES = {
    # Numbers that may exceed a long or a double travel as text: the sink would change them.
    "decimal.handling.mode": "string",
    "time.precision.mode": "adaptive",
    "interval.handling.mode": "string",
    "hstore.handling.mode": "json",
    # The text of types unknown to Debezium, in Base64; without it, `name` is null in changes, too.
    "include.unknown.datatypes": "true",
    # JSON has bytes in Base64 as well, and only this mode marks a missing large value.
    "binary.handling.mode": "bytes",
    "unavailable.value.placeholder": events.PLACEHOLDER,
    # By default a value that can't be converted would be logged and arrive as null.
    "event.converting.failure.handling.mode": "fail",
    "event.processing.failure.handling.mode": "fail",
    # A delete has its own event here (events.DELETED); a tombstone after it would add nothing.
    "tombstones.on.delete": "false",
}


# Let a missing topic fail the task, with a reason: otherwise it would silently wait for ever.
# With these two Connect first looks for the topic, then tries to create it, which the task's role may not
# (docs/decisions/0042). -1 is the brokers' default.
_TOPIC_CREATION = {"topic.creation.default.partitions": "-1", "topic.creation.default.replication.factor": "-1"}


# A source connector's processing of each event before its topic: Kafka Connect's transformations and predicates.
#
# Signals are dropped first. Then changes become rows (`unwrap`). A TRUNCATE stops the task; or it bypasses the
# unwrapping, which would drop it, and becomes an event of its own (docs/decisions/0021).

_UNWRAP, _SIGNALS, _TRUNCATES = "unwrap", "signals", "truncates"
# Fields of Debezium's envelope.
_OPERATION, _SOURCE = "op", "source"


def transformations(tables: Sequence[CapturedTable], prefix: str, signal_table: str | None) -> dict[str, str]:
    """Return the properties that name transformations and predicates, and the operations that Debezium skips.

    Signals are for the connector alone: Debezium would write them to a topic of their own, which doesn't exist. Our
    predicate stops the task at a TRUNCATE of a table with `stops_at_truncate`, and leads the event of one with
    `tells_of_truncate` past the unwrapping. Before that, rows lose their columns' defaults.
    """
    before, predicates = [], {}
    if signal_table is not None:
        topic = table_topic(prefix, *signal_table.split(".", 1))
        before.append(Transform(_SIGNALS, {"type": f"{STANDARD}.Filter"}, _SIGNALS))
        matches = f"{STANDARD}.predicates.TopicNameMatches"
        predicates[_SIGNALS] = {"type": matches, "pattern": re.escape(topic)}
    topics = [table.topic(prefix) for table in tables if table.stops_at_truncate]
    behind = _truncate_events(_fields(tables)) if any(table.tells_of_truncate for table in tables) else []
    if looked_for := bool(topics or behind):
        stops = {"stops": "|".join(map(re.escape, topics))} if topics else {}
        predicates[_TRUNCATES] = {"type": IS_TRUNCATE.name, **stops}
    ours = {"offsets": RESUMABLE_OFFSETS, "nulls": WITHOUT_DEFAULTS}
    # The outbox has no column with a DEFAULT, and an LSN for each row.
    rows = [] if tuple(tables) == (OUTBOX,) else [Transform(name, {"type": each.name}) for name, each in ours.items()]
    unwrap = Transform(_UNWRAP, _unwrap(_fields(tables)), _TRUNCATES if looked_for else None, negate=looked_for)
    return {
        **properties([*before, *rows, unwrap, *behind]),
        **({"predicates": ",".join(predicates)} if predicates else {}),
        **{f"predicates.{name}.{key}": value for name, entry in predicates.items() for key, value in entry.items()},
        # By default Debezium emits no TRUNCATE events.
        **({"skipped.operations": "none"} if looked_for else {}),
    }


def _unwrap(fields: Sequence[str]) -> dict[str, str]:
    return {
        "type": "io.debezium.transforms.ExtractNewRecordState",
        "delete.tombstone.handling.mode": "rewrite",
        "add.fields": ",".join(fields),
        "add.fields.prefix": events.PREFIX,
    }


def _truncate_events(fields: Sequence[str]) -> list[Transform]:
    """Turn a TRUNCATE's envelope into a flat event: the added fields of every event, without a row's."""
    # Debezium's metadata fields in its flattened envelope: `lsn` is the source's.
    flat = (each if each == _OPERATION else f"{_SOURCE}_{each.removeprefix(f'{_SOURCE}.')}" for each in fields)
    names = dict(zip(flat, map(events.added, fields), strict=True))
    renames = ",".join(f"{flat}:{name}" for flat, name in names.items())
    replace = f"{STANDARD}.ReplaceField$Value"
    steps = {
        "source": {"type": replace, "include": f"{_OPERATION},{_SOURCE}"},
        "flat": {"type": f"{STANDARD}.Flatten$Value", "delimiter": "_"},
        "names": {"type": replace, "include": ",".join(names), "renames": renames},
    }
    return [Transform(f"{_TRUNCATES}{name}", properties, _TRUNCATES) for name, properties in steps.items()]
