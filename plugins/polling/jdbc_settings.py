"""A JDBC source's settings: a database polled by timestamps, with its tables or a query, validated.

For workers that have such a connector: Aiven's, or Confluent's, which has the same properties.
docs/your-database/kafka-connect.md lists the changes that polls miss; the job's own JdbcSource misses none of them.
"""

import re
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from contract.table_names import table_topic
from plugins.connector_properties import Transform, check_within
from plugins.polling import joined_query
from plugins.source.captured import CapturedTable

AIVEN = "io.aiven.connect.jdbc.JdbcSourceConnector"
CONFLUENT = "io.confluent.connect.jdbc.JdbcSourceConnector"
CONNECTOR_CLASSES = (AIVEN, CONFLUENT)
DAY_MS = 86_400_000
MOST_REPLICAS = 10
MOST_TASKS = 1_000
# Connect splits lists at commas and trims their entries.
_LIST_SIGNS = ","
_SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?\Z|[0-9A-Fa-f:]+\Z")
_TOPIC_PREFIX = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}\Z")
_REFERENCE = re.compile(r"\$\{[A-Za-z][A-Za-z0-9_-]*:[^${}]+\}\Z")


def is_reference(value: str) -> bool:
    """Tell whether a worker's config provider replaces the value."""
    return _REFERENCE.match(value) is not None


@dataclass(frozen=True, kw_only=True)
class PolledDatabase:
    """A PostgreSQL to poll. Raises ValueError naming the wrong field.

    `password` and `root_certificate` are as in `connector_settings.SourceSettings`. `time_zone` is the one of
    timestamps without a time zone: with a wrong one, rows look hours older or younger than they are.
    """

    hostname: str
    port: int = 5432
    name: str
    user: str
    password: str
    sslmode: str = "verify-full"
    root_certificate: str | None = None
    time_zone: str = "UTC"

    def __post_init__(self) -> None:
        _check_match(_HOST, "database_hostname", self.hostname)
        check_within("database_port", self.port, 1, 65_535)
        if not is_reference(self.password):
            # The worker keeps configurations in a topic. The value isn't repeated: it may be a password.
            raise ValueError("database_password must be a config provider's reference such as ${file:/path:key}")
        _check_one_of("database_sslmode", self.sslmode, _SSL_MODES)
        if self.root_certificate is not None and not self.sslmode.startswith("verify-"):
            raise ValueError(
                "database_sslmode must be verify-full with a root certificate, which nothing else looks at"
            )

    @property
    def url(self) -> str:
        host = f"[{self.hostname}]" if ":" in self.hostname else self.hostname
        options = {"sslmode": self.sslmode, "tcpKeepAlive": "true", "ApplicationName": "kafka-connect"}
        if self.root_certificate is not None:
            options["sslfactory"] = "org.postgresql.ssl.SingleCertValidatingFactory"
            options["sslfactoryarg"] = f"classpath:{self.root_certificate}"
        return f"jdbc:postgresql://{host}:{self.port}/{quote(self.name, safe='')}?{urlencode(options, safe=':')}"


@dataclass(frozen=True, kw_only=True)
class Polled:
    """How changed rows are found: by `stamp`, the time of a row's last change, and among rows of one stamp by `key`.

    The key must be one column of whole numbers: with it, a stopped task resumes among rows that share a stamp.
    """

    key: str
    stamp: str

    def __post_init__(self) -> None:
        for name in (self.key, self.stamp):
            if not name or _LIST_SIGNS in name or name != name.strip():
                raise ValueError(f"{name!r} can't be polled by: it is no name, or no entry of a list")
        if self.key == self.stamp:
            raise ValueError(f"{self.key!r} can't be the key and the stamp")


@dataclass(frozen=True, kw_only=True)
class PolledTable(Polled):
    """A table, by the catalogue's names."""

    schema: str
    table: str

    @classmethod
    def of(cls, table: CapturedTable, stamp: str) -> "PolledTable":
        """Convert a pipeline's table. Raises ValueError for options that polling a whole table can't support."""
        if len(table.key) != 1:
            raise ValueError(
                f"{table.name}: rows of one stamp are told apart by one column of whole numbers, and its key has"
                f" {len(table.key)}: poll a query that has such a column"
            )
        if withheld := (*table.leave_out, *table.hashed):
            raise ValueError(
                f"{table.name}: {withheld[0]} would leave the database, all columns are read: poll a query without it"
            )
        return cls(schema=table.schema, table=table.table, key=table.key[0], stamp=stamp)

    @property
    def name(self) -> str:
        return f"{self.schema}.{self.table}"


@dataclass(frozen=True, kw_only=True)
class PolledQuery(Polled):
    """Rows of a query; a join's `stamp` is the newest of its tables'. Raises ValueError with what it would miss."""

    name: str
    query: str

    def __post_init__(self) -> None:
        super().__post_init__()
        for problem in joined_query.problems(self.query, self.stamp):
            raise ValueError(f"query {self.name}: {problem}")


@dataclass(frozen=True, kw_only=True)
class Polling:
    """Settings shared by the connectors of one database. Raises ValueError naming the wrong field.

    `name` begins the connectors' names, `topic_prefix` the topics'. Objects land in `bucket` under `prefix`, as for
    every S3 sink. Every `poll_interval_ms` a poll takes rows whose stamp is `delay_ms` old: it misses stamps of
    transactions that stay open longer.
    """

    name: str
    database: PolledDatabase
    topic_prefix: str
    bucket: str
    prefix: str
    region: str
    endpoint: str | None = None
    tasks_max: int = 1
    replicas: int = 3
    poll_interval_ms: int = 5_000
    delay_ms: int = 5_000
    connector_class: str = AIVEN

    def __post_init__(self) -> None:
        _check_match(_NAME, "name", self.name)
        _check_match(_TOPIC_PREFIX, "topic_prefix", self.topic_prefix)
        check_within("poll_interval_ms", self.poll_interval_ms, 100, DAY_MS)
        check_within("delay_ms", self.delay_ms, 0, DAY_MS)
        check_within("tasks_max", self.tasks_max, 1, MOST_TASKS)
        check_within("replicas", self.replicas, 1, MOST_REPLICAS)
        _check_one_of("connector_class", self.connector_class, CONNECTOR_CLASSES)


@dataclass(frozen=True, kw_only=True)
class JdbcSourceSettings:
    """One JDBC source. Raises ValueError naming what is wrong.

    `polled` are tables of one schema that share the names of key and stamp, because a connector has one property for
    each; or a query. A table's topic is `<topic_prefix>.<schema>.<table>`, a query's `<topic_prefix>.<its name>`.
    `with_schemas`: values carry their types, as Parquet needs.
    """

    name: str
    polling: Polling
    topic_prefix: str
    polled: tuple[PolledTable, ...] | PolledQuery
    steps: tuple[Transform, ...] = ()
    with_schemas: bool = False

    def __post_init__(self) -> None:
        prefix = self.topic_prefix
        for table in () if isinstance(self.polled, PolledQuery) else self.polled:
            if "." in table.table or table_topic(prefix, table.schema, table.table) != f"{prefix}.{table.name}":
                raise ValueError(f"{table.name}: no list of tables, or no topic, has such a name: poll a query instead")
        for topic in self.topics:
            _check_match(_TOPIC_PREFIX, "topic", topic)

    @property
    def topics(self) -> tuple[str, ...]:
        if isinstance(self.polled, PolledQuery):
            return (f"{self.topic_prefix}.{self.polled.name}",)
        return tuple(f"{self.topic_prefix}.{table.name}" for table in self.polled)


def _check_match(pattern: re.Pattern[str], name: str, value: str) -> None:
    if not pattern.match(value):
        raise ValueError(f"{name} isn't valid: {value!r}")


def _check_one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")
