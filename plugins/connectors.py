"""The configurations of the two connectors, written once: the local platform and MSK Connect take the same.

Each is a function from an environment's settings to Kafka Connect's string-to-string configuration (without `name`,
which is `settings.name`). Property names are those of Debezium 3.7 and of the Lenses S3 sink 11.7.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from contract import events, source
from contract.capture_objects import CONNECTOR_ROLE
from contract.lake import LANDING_PREFIX
from contract.sizes import LARGEST_EVENT_BYTES, SizeLimits
from plugins import captured
from plugins.captured import CapturedTable
from plugins.kcql import Kcql, build_all
from plugins.sink_properties import ASSIGNMENT, CONNECTOR_CLASS, JSON_CONVERTER, ROUND_ROBIN
from plugins.versions import load_versions

OUTBOX = CapturedTable(schema=source.SCHEMA, table=source.OUTBOX_TABLE)
EVENTS_TABLE = OUTBOX.name
HEARTBEAT_PROCEDURE = f"{source.SCHEMA}.{source.HEARTBEAT_PROCEDURE}"

SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
SNAPSHOT_MODES = ("initial", "initial_only", "no_data", "when_needed", "always")
DAY_MS = 86_400_000
INCLUDED_TABLES = "table.include.list"
OFFSET_MISMATCH = "offset.mismatch.strategy"
LONGEST_TIMEOUT_MS = 300_000
# How many of the largest events Debezium keeps in memory: four fit into the local worker's 512 MB with their copies.
QUEUED_EVENTS = 4

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?\Z|[0-9A-Fa-f:]+\Z")
_IDENTIFIER = re.compile(r"[a-z_][a-z0-9_]{0,62}\Z")
_SLOT = re.compile(r"[a-z0-9_]{1,63}\Z")
_TOPIC_PREFIX = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}\Z")
_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-\d\Z")
# A salt stands in the name of a property, where Connect resolves no reference: whoever sends the configuration does.
SALT = "@salt@"
_SALT = re.compile(r"@salt@\Z|[A-Za-z0-9]{16,128}\Z")
_REFERENCE = re.compile(r"\$\{[A-Za-z][A-Za-z0-9_-]*:[^${}]+\}\Z")


def events_topic(topic_prefix: str) -> str:
    """Name the topic that the outbox table's events go to."""
    return OUTBOX.topic(topic_prefix)


def heartbeat_topic(topic_prefix: str) -> str:
    """Name the topic that Debezium's heartbeats go to (`topic.heartbeat.prefix` is the default)."""
    return f"__debezium-heartbeat.{topic_prefix}"


# Stands for the source's generation, which is known when it is deployed (docs/decisions/0061).
GENERATION = "@generation@"


def offset_topic(connector: str, generation: str | None = None) -> str:
    """Name the topic of a source connector's offsets on AWS: ours, so they survive a connector that is made anew.

    `generation` is another one when the slot is (docs/decisions/0061); `*` stands for any.
    """
    return f"__cdc_lake_offsets_{connector}" + (f"-{generation}" if generation else "")


def sink_group(connector: str) -> str:
    """Name a sink connector's consumer group, as Kafka Connect does."""
    return f"connect-{connector}"


@dataclass(frozen=True, kw_only=True)
class SourceSettings:
    """What an environment decides about the Debezium connector. Raises ValueError naming the field that is wrong.

    `database_password` is a reference that a config provider of the worker resolves, such as
    `${file:/run/secrets/connect.properties:password}` or `${secretManager:orders:password}`; the worker stores
    configurations in a topic, so a password itself is refused. `database_root_certificate` names a resource on the
    plugin's class path (plugins/archive.py), whose certificate verify-ca and verify-full check the server's by.
    Intervals are in milliseconds. `largest_event_bytes` is the size of an event's JSON that must get through
    (contract/sizes.py).

    `tables` are those of one database. `signal_table` (`schema.table`, in the publication, the connector's role may
    insert into it) is how an incremental snapshot is asked for. `heartbeat_query` is run at each heartbeat; None
    leaves the slot to the changes of the tables alone.
    `hash_salt` goes before each value that is hashed: whoever knows it can try values.
    """

    name: str = "orders-source"
    database_hostname: str
    database_port: int = 5432
    database_name: str = source.DATABASE
    database_user: str = CONNECTOR_ROLE
    database_password: str
    database_sslmode: str = "require"
    database_root_certificate: str | None = None
    topic_prefix: str
    publication_name: str = source.PUBLICATION
    slot_name: str = source.SLOT
    snapshot_mode: str = "initial"
    heartbeat_interval_ms: int = 10_000
    poll_interval_ms: int = 500
    retry_wait_ms: int = 10_000
    largest_event_bytes: int = LARGEST_EVENT_BYTES
    tables: tuple[CapturedTable, ...] = (OUTBOX,)
    signal_table: str | None = None
    heartbeat_query: str | None = f"CALL {HEARTBEAT_PROCEDURE}()"
    hash_salt: str = field(default=SALT, repr=False)

    def __post_init__(self) -> None:
        _match(_NAME, "name", self.name)
        _match(_HOST, "database_hostname", self.database_hostname)
        _within("database_port", self.database_port, 1, 65_535)
        _match(_IDENTIFIER, "database_name", self.database_name)
        _match(_IDENTIFIER, "database_user", self.database_user)
        if not _REFERENCE.match(self.database_password):
            # The value isn't repeated: it may be a password.
            raise ValueError("database_password must be a config provider's reference such as ${file:/path:key}")
        _one_of("database_sslmode", self.database_sslmode, SSL_MODES)
        if self.database_root_certificate is not None and not self.database_sslmode.startswith("verify-"):
            raise ValueError(
                "database_sslmode must be verify-full with a root certificate, which nothing else looks at"
            )
        _match(_TOPIC_PREFIX, "topic_prefix", self.topic_prefix)
        _match(_IDENTIFIER, "publication_name", self.publication_name)
        _match(_SLOT, "slot_name", self.slot_name)
        _one_of("snapshot_mode", self.snapshot_mode, SNAPSHOT_MODES)
        _within("heartbeat_interval_ms", self.heartbeat_interval_ms, 100, DAY_MS)
        _within("poll_interval_ms", self.poll_interval_ms, 1, 5_000)
        _within("retry_wait_ms", self.retry_wait_ms, 100, LONGEST_TIMEOUT_MS)
        SizeLimits(self.largest_event_bytes)
        if not _SALT.match(self.hash_salt):
            # The value isn't repeated: it is a secret.
            raise ValueError("hash_salt must be 16 to 128 letters and digits")
        if not self.tables:
            raise ValueError("tables: none is named, and then Debezium would capture all")
        captured.check_topics(self.tables, self.topic_prefix)

    @property
    def topic(self) -> str:
        """The topic that the first table's events go to: the outbox's, where that is captured."""
        return self.topics[0]

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that the tables' events go to, in the tables' order."""
        return tuple(table.topic(self.topic_prefix) for table in self.tables)


@dataclass(frozen=True, kw_only=True)
class SinkSettings:
    """What an environment decides about the S3 sink. Raises ValueError naming the field that is wrong.

    Never change `name` of a sink that has run: its progress in the bucket and its consumer group are kept under it.
    `topics` are landed each by a statement of its own, under `<prefix>/<topic>/`; with `partition_by` there can be but
    one, since its folders don't tell the topic.
    `endpoint` is the URL of an S3 server other than AWS. An object is finished after `flush_interval_seconds`,
    `flush_count` records or, when given, `flush_bytes`. `warnings` holds what should be shown to the user.
    Values that can't be read go to `dead_letter_topic`; without one they stop the sink, so that none is lost.
    `largest_event_bytes` is the source's.
    """

    name: str = "orders-sink"
    topics: tuple[str, ...]
    bucket: str
    prefix: str = LANDING_PREFIX
    region: str
    endpoint: str | None = None
    flush_interval_seconds: int = 60
    flush_count: int = 5_000
    flush_bytes: int | None = None
    partition_by: tuple[str, ...] = ()
    tasks_max: int = 1
    session_timeout_ms: int = 6_000
    dead_letter_topic: str | None = None
    largest_event_bytes: int = LARGEST_EVENT_BYTES
    connector_version: str = field(default_factory=lambda: load_versions().lenses_s3.version)

    def __post_init__(self) -> None:
        _match(_NAME, "name", self.name)
        _match(_REGION, "region", self.region)
        if self.endpoint is not None:
            _check_endpoint(self.endpoint)
        _within("tasks_max", self.tasks_max, 1, 1_000)
        _within("session_timeout_ms", self.session_timeout_ms, 6_000, LONGEST_TIMEOUT_MS)
        if self.dead_letter_topic is not None:
            _match(_TOPIC_PREFIX, "dead_letter_topic", self.dead_letter_topic)
        SizeLimits(self.largest_event_bytes)
        if not self.topics or len(set(self.topics)) < len(self.topics):
            raise ValueError("topics must be named, at least one and each once")
        if self.partition_by and len(self.topics) > 1:
            raise ValueError("partition_by goes with one topic alone: objects of several would share folders")
        # Both raise ValueError for what they can't take: Kcql checks bucket, prefix, topic and flush settings.
        build_all(self.statements, version=self.connector_version)

    @property
    def topic(self) -> str:
        """The first topic: the only one of the outbox's sink."""
        return self.topics[0]

    @property
    def statements(self) -> tuple[Kcql, ...]:
        """The statements that these settings make, one per topic."""
        return tuple(
            Kcql(
                bucket=self.bucket,
                prefix=self.prefix,
                topic=topic,
                flush_interval_seconds=self.flush_interval_seconds,
                flush_count=self.flush_count,
                flush_bytes=self.flush_bytes,
                partition_by=self.partition_by,
            )
            for topic in self.topics
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the user should know before deploying these settings, one sentence each."""
        return self.statements[0].warnings


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
        "snapshot.mode": settings.snapshot_mode,
        "poll.interval.ms": str(settings.poll_interval_ms),
        **_replication(settings),
        **source_values(),
        **captured.guards(settings.tables, settings.topic_prefix, settings.signal_table),
        **_topic_creation(),
        **_large_events(settings),
        **_signals(settings),
    }


def _tables(settings: SourceSettings) -> dict[str, str]:
    """Say which tables and columns are captured; the outbox alone as ever, since connectors that run have it so."""
    if settings.tables == (OUTBOX,):
        return {INCLUDED_TABLES: EVENTS_TABLE}
    optional = {
        "column.exclude.list": captured.columns(settings.tables, "leave_out"),
        f"column.mask.hash.v2.SHA-256.with.salt.{settings.hash_salt}": captured.columns(settings.tables, "hashed"),
        "message.key.columns": captured.keys(settings.tables),
    }
    return {
        INCLUDED_TABLES: ",".join(table.pattern for table in settings.tables),
        **{name: value for name, value in optional.items() if value},
    }


def with_salt(configuration: Mapping[str, str], salt: str) -> dict[str, str]:
    """Return a source connector's configuration with the salt in its place."""
    return {name.replace(SALT, salt): value for name, value in configuration.items()}


def _signals(settings: SourceSettings) -> dict[str, str]:
    if settings.signal_table is None:
        return {}
    return {
        "signal.enabled.channels": "source",
        "signal.data.collection": settings.signal_table,
        # Each chunk's marks are taken away again; by default they stay in the table.
        "incremental.snapshot.watermarking.strategy": "insert_delete",
        # A chunk ends at a key that Debezium binds as text ("timestamp with time zone <= character varying" where a key
        # has such a column, and the table is passed over): PostgreSQL finds out the type.
        "driver.stringtype": "unspecified",
    }


def _root_certificate(settings: SourceSettings) -> dict[str, str]:
    """Give PostgreSQL's driver the certificate by its class loader: MSK Connect documents no path of a plugin's files.

    `driver.` passes on what follows. Without the resource the driver connects to nobody; it checks names as always.
    """
    if settings.database_root_certificate is None:
        return {}
    return {
        "driver.sslfactory": "org.postgresql.ssl.SingleCertValidatingFactory",
        "driver.sslfactoryarg": f"classpath:{settings.database_root_certificate}",
    }


def following_slot(configuration: Mapping[str, str]) -> dict[str, str]:
    """Return a source connector's configuration that goes on from the slot, whatever offset is stored.

    For the time of a repair only: with it, a slot that is gone would be made anew without a word.
    """
    return {**configuration, OFFSET_MISMATCH: "trust_slot"}


def not_following_slot(configuration: Mapping[str, str]) -> dict[str, str]:
    """Return a configuration as it was before `following_slot`."""
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
        # Without a change of our own the slot would hold back WAL that other tables fill. The procedure also does what
        # the outbox has queued (docs/decisions/0011).
        "heartbeat.interval.ms": str(settings.heartbeat_interval_ms),
        **({"heartbeat.action.query": settings.heartbeat_query} if settings.heartbeat_query else {}),
        # Whoever may log in may write messages to the log: they would be events of a topic that isn't planned.
        "message.prefix.exclude.list": ".*",
        # A database that is away is waited for, as long as it takes.
        "errors.max.retries": "-1",
        "retriable.restart.connector.wait.ms": str(settings.retry_wait_ms),
        "errors.log.enable": "true",
        "errors.log.include.messages": "false",
    }


def source_values() -> dict[str, str]:
    """How a row becomes JSON, for every environment: everything that the job relies on, default or not."""
    return {**_values(), **_converters()}


def _values() -> dict[str, str]:
    return {
        # Numbers that may exceed a long or a double travel as text: the sink would change them.
        "decimal.handling.mode": "string",
        "time.precision.mode": "adaptive",
        "interval.handling.mode": "string",
        "hstore.handling.mode": "json",
        # The text of what Debezium has no type for, in Base64; without it, `name` is null in changes, too.
        "include.unknown.datatypes": "true",
        # JSON has bytes in Base64 as well, and a large value that is missing is told apart in this mode alone.
        "binary.handling.mode": "bytes",
        "unavailable.value.placeholder": events.PLACEHOLDER,
        # By default a value that can't be converted would be logged and arrive as null.
        "event.converting.failure.handling.mode": "fail",
        "event.processing.failure.handling.mode": "fail",
        # A delete is an event of its own here (events.DELETED); a tombstone behind it would say nothing more.
        "tombstones.on.delete": "false",
        "transforms": "unwrap",
        "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
        "transforms.unwrap.delete.tombstone.handling.mode": "rewrite",
        "transforms.unwrap.add.fields": ",".join(events.METADATA_FIELDS),
        "transforms.unwrap.add.fields.prefix": events.PREFIX,
    }


def _topic_creation() -> dict[str, str]:
    """Let a topic that is missing end the task, with a reason: it would wait for it for ever, and in silence.

    With these two Connect looks for the topic first, and tries to make it, which the task's role may not
    (docs/decisions/0060). -1 is whatever the brokers say.
    """
    return {"topic.creation.default.partitions": "-1", "topic.creation.default.replication.factor": "-1"}


def _large_events(settings: SourceSettings) -> dict[str, str]:
    return {
        **_override("producer", SizeLimits(settings.largest_event_bytes).producer),
        # By default 8,192 events may wait in the worker's memory, whatever their size.
        "max.queue.size.in.bytes": str(QUEUED_EVENTS * settings.largest_event_bytes),
    }


def _override(client: str, properties: Mapping[str, str]) -> dict[str, str]:
    return {f"{client}.override.{name}": value for name, value in properties.items()}


def sink_connector(settings: SinkSettings) -> dict[str, str]:
    """Configure the Lenses S3 sink: the topics' values as JSON lines. Exactly-once stays on, which is its default."""
    return {
        "connector.class": CONNECTOR_CLASS,
        "tasks.max": str(settings.tasks_max),
        "topics": ",".join(settings.topics),
        "connect.s3.kcql": build_all(settings.statements, version=settings.connector_version),
        "connect.s3.aws.region": settings.region,
        "connect.s3.aws.auth.mode": "Default",
        # A tombstone kills the task when there are partition folders.
        "connect.s3.skip.null.values": "true",
        # S3 that is away for an hour is waited for; the default stops the task at the first error.
        "connect.s3.error.policy": "RETRY",
        "connect.s3.retry.interval": "10000",
        "connect.s3.max.retries": "360",
        **_endpoint(settings.endpoint),
        **_sink_errors(settings),
        **_override("consumer", SizeLimits(settings.largest_event_bytes).consumer),
        # A misspelt topic stays missing, whatever the brokers make for whoever asks.
        "consumer.override.allow.auto.create.topics": "false",
        # A dead consumer holds its partitions for the session timeout.
        "consumer.override.session.timeout.ms": str(settings.session_timeout_ms),
        "consumer.override.heartbeat.interval.ms": str(settings.session_timeout_ms // 3),
        **_assignment(settings),
        **_converters(),
    }


def _assignment(settings: SinkSettings) -> dict[str, str]:
    """Spread topics of one partition over the tasks: by default (ranges per topic) the first task would get all."""
    return {ASSIGNMENT: ROUND_ROBIN} if len(settings.topics) > 1 else {}


def _endpoint(endpoint: str | None) -> dict[str, str]:
    if endpoint is None:
        return {}
    return {"connect.s3.custom.endpoint": endpoint, "connect.s3.path.style.access": "true"}


def _sink_errors(settings: SinkSettings) -> dict[str, str]:
    # Messages hold customers' data: they stay out of the logs.
    log = {"errors.log.enable": "true", "errors.log.include.messages": "false"}
    if settings.dead_letter_topic is None:
        return {"errors.tolerance": "none", **log}
    return {
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": settings.dead_letter_topic,
        "errors.deadletterqueue.context.headers.enable": "true",
        # What was small enough for the topic is so for this one.
        **_override("producer", SizeLimits(settings.largest_event_bytes).producer),
        **log,
    }


def _converters() -> dict[str, str]:
    return {
        "key.converter": JSON_CONVERTER,
        "key.converter.schemas.enable": "false",
        "value.converter": JSON_CONVERTER,
        "value.converter.schemas.enable": "false",
    }


def _match(pattern: re.Pattern[str], name: str, value: str) -> None:
    if not pattern.match(value):
        raise ValueError(f"{name} isn't valid: {value!r}")


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")


def _within(name: str, value: int, low: int, high: int) -> None:
    if isinstance(value, bool) or not low <= value <= high:
        raise ValueError(f"{name} must be from {low:,} to {high:,}, not {value!r}")


def _check_endpoint(endpoint: str) -> None:
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.username:
        raise ValueError(f"endpoint must be a URL such as http://127.0.0.1:9000, not {endpoint!r}")
