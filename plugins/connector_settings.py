"""What an environment decides about the two connectors, checked: what a connector would only find out when it runs."""

import re
from dataclasses import dataclass, field

from contract import source
from contract.lake import LANDING_PREFIX
from contract.sizes import LARGEST_EVENT_BYTES, LOCAL_HEAP_BYTES, SizeLimits
from contract.source import CONNECTOR_ROLE
from plugins import captured
from plugins.captured import CapturedTable
from plugins.connector_names import OUTBOX
from plugins.connector_properties import SHORTEST_SESSION_MS
from plugins.kcql import Kcql, build_all
from plugins.setting_checks import (
    HOST,
    IDENTIFIER,
    NAME,
    REGION,
    SSL_MODES,
    TOPIC_PREFIX,
    check_certificate,
    check_endpoint,
    check_match,
    check_one_of,
    check_password,
    check_within,
)

HEARTBEAT_PROCEDURE = f"{source.SCHEMA}.{source.HEARTBEAT_PROCEDURE}"
SNAPSHOT_MODES = ("initial", "initial_only", "no_data", "when_needed", "always")
DAY_MS = 86_400_000
LONGEST_TIMEOUT_MS = 300_000
# An object is finished after so many seconds or records.
FLUSH_INTERVAL_S = 60
FLUSH_COUNT = 5_000

_SLOT = re.compile(r"[a-z0-9_]{1,63}\Z")
# A salt stands in the name of a property, where Connect resolves no reference: whoever sends the configuration does.
SALT = "@salt@"
_SALT = re.compile(r"@salt@\Z|[A-Za-z0-9]{16,128}\Z")


@dataclass(frozen=True, kw_only=True)
class SourceSettings:
    """What an environment decides about the Debezium connector. Raises ValueError naming the field that is wrong.

    `database_password` is a reference that a config provider of the worker resolves, such as
    `${file:/run/secrets/connect.properties:password}` or `${secretManager:orders:password}`; the worker stores
    configurations in a topic, so a password itself is refused. `database_root_certificate` names a resource on the
    plugin's class path (plugins/archive.py), or by its whole path a file of the worker's: verify-ca and verify-full
    check the server's certificate by the one in it, or by those in such a file.
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
        check_match(NAME, "name", self.name)
        check_match(HOST, "database_hostname", self.database_hostname)
        check_within("database_port", self.database_port, 1, 65_535)
        check_match(IDENTIFIER, "database_name", self.database_name)
        check_match(IDENTIFIER, "database_user", self.database_user)
        check_password(self.database_password)
        check_one_of("database_sslmode", self.database_sslmode, SSL_MODES)
        check_certificate(self.database_root_certificate, self.database_sslmode)
        check_match(TOPIC_PREFIX, "topic_prefix", self.topic_prefix)
        check_match(IDENTIFIER, "publication_name", self.publication_name)
        check_match(_SLOT, "slot_name", self.slot_name)
        check_one_of("snapshot_mode", self.snapshot_mode, SNAPSHOT_MODES)
        check_within("heartbeat_interval_ms", self.heartbeat_interval_ms, 100, DAY_MS)
        check_within("poll_interval_ms", self.poll_interval_ms, 1, 5_000)
        check_within("retry_wait_ms", self.retry_wait_ms, 100, LONGEST_TIMEOUT_MS)
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
    `largest_event_bytes` is the source's; `heap_bytes` what a task has of its worker's heap.
    """

    name: str = "orders-sink"
    topics: tuple[str, ...]
    bucket: str
    prefix: str = LANDING_PREFIX
    region: str
    endpoint: str | None = None
    flush_interval_seconds: int = FLUSH_INTERVAL_S
    flush_count: int = FLUSH_COUNT
    flush_bytes: int | None = None
    partition_by: tuple[str, ...] = ()
    tasks_max: int = 1
    session_timeout_ms: int = SHORTEST_SESSION_MS
    dead_letter_topic: str | None = None
    largest_event_bytes: int = LARGEST_EVENT_BYTES
    heap_bytes: int = LOCAL_HEAP_BYTES

    def __post_init__(self) -> None:
        check_match(NAME, "name", self.name)
        check_match(REGION, "region", self.region)
        if self.endpoint is not None:
            check_endpoint(self.endpoint)
        check_within("tasks_max", self.tasks_max, 1, 1_000)
        check_within("session_timeout_ms", self.session_timeout_ms, SHORTEST_SESSION_MS, LONGEST_TIMEOUT_MS)
        if self.dead_letter_topic is not None:
            check_match(TOPIC_PREFIX, "dead_letter_topic", self.dead_letter_topic)
        SizeLimits(self.largest_event_bytes)
        if not self.topics or len(set(self.topics)) < len(self.topics):
            raise ValueError("topics must be named, at least one and each once")
        if self.partition_by and len(self.topics) > 1:
            raise ValueError("partition_by goes with one topic alone: objects of several would share folders")
        # Both raise ValueError for what they can't take: Kcql checks bucket, prefix, topic and flush settings.
        build_all(self.statements)

    @property
    def topic(self) -> str:
        """The first topic: the only one of the outbox's sink."""
        return self.topics[0]

    @property
    def statements(self) -> tuple[Kcql, ...]:
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
