"""The settings of the two connectors, as plain data.

Settings from files are validated where they are read (settings/); a platform's own are correct as written.
"""

from dataclasses import dataclass

from contract import source
from contract.lake import LANDING_PREFIX
from contract.sizes import LARGEST_EVENT_BYTES, LOCAL_HEAP_BYTES
from plugins.connector_names import OUTBOX
from plugins.sink.kcql import Kcql
from plugins.source import captured
from plugins.source.captured import CapturedTable

# An object is finished after this many seconds or records.
FLUSH_INTERVAL_S = 60
FLUSH_COUNT = 5_000


@dataclass(frozen=True, kw_only=True)
class SourceSettings:
    """The Debezium connector's settings. Raises ValueError for tables that can't be captured together.

    `database_password` is a reference that a config provider of the worker resolves, such as
    `${file:/run/secrets/connect.properties:password}` or `${secretManager:orders:password}`; it can't be a password,
    because the worker stores configurations in a topic. `database_root_certificate` names a resource on the plugin's
    class path (plugins/releases/archive.py), or by its whole path a file of the worker's: verify-ca and verify-full
    check the server's certificate against its one certificate, or those in such a file. Intervals are in milliseconds.
    `largest_event_bytes` is the size of an event's JSON that must get through (contract/sizes.py).

    `tables` are those of one database. `signal_table` (`schema.table`, published, with INSERT granted to the
    connector's role) receives requests for incremental snapshots. `heartbeat_query` runs at each heartbeat; with None
    only the tables' own changes advance the slot.
    """

    name: str = "orders-source"
    database_hostname: str
    database_port: int = 5432
    database_name: str = source.DATABASE
    database_user: str = source.CONNECTOR_ROLE
    database_password: str
    database_sslmode: str = "require"
    database_root_certificate: str | None = None
    topic_prefix: str
    publication_name: str = source.PUBLICATION
    slot_name: str = source.SLOT
    heartbeat_interval_ms: int = 10_000
    poll_interval_ms: int = 500
    retry_wait_ms: int = 10_000
    largest_event_bytes: int = LARGEST_EVENT_BYTES
    tables: tuple[CapturedTable, ...] = (OUTBOX,)
    signal_table: str | None = None
    heartbeat_query: str | None = f"CALL {source.SCHEMA}.{source.HEARTBEAT_PROCEDURE}()"

    def __post_init__(self) -> None:
        if not self.tables:
            raise ValueError("tables: none is named, and then Debezium would capture all")
        captured.check_topics(self.tables, self.topic_prefix)

    @property
    def topic(self) -> str:
        """The topic of the first table's events: the outbox's, if that is captured."""
        return self.topics[0]

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics of the tables' events, in the tables' order."""
        return tuple(table.topic(self.topic_prefix) for table in self.tables)


@dataclass(frozen=True, kw_only=True)
class SinkSettings:
    """The S3 sink's settings. Its `statements` raise ValueError for what KCQL can't express.

    Never change the `name` of a sink that has run: its progress in the bucket and its consumer group are stored under
    it. Each of `topics` is landed by a statement of its own, under `<prefix>/<topic>/`; `partition_by` allows only one
    topic, because its folders don't name the topic. `endpoint` is the URL of an S3 server other than AWS. An object is
    finished after `flush_interval_seconds`, `flush_count` records or, if given, `flush_bytes`. `warnings` are for the
    user. Unreadable values go to `dead_letter_topic`; without one they stop the sink, so that none is lost.
    `largest_event_bytes` is the source's; `heap_bytes` a task's share of its worker's heap.
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
    dead_letter_topic: str | None = None
    largest_event_bytes: int = LARGEST_EVENT_BYTES
    heap_bytes: int = LOCAL_HEAP_BYTES

    def __post_init__(self) -> None:
        if self.partition_by and len(self.topics) > 1:
            raise ValueError("partition_by goes with one topic alone: objects of several would share folders")

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
