"""Decides once what the job reads, and what options and properties mean together; later code reads only `Settings`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from contract.events import READ_MS
from contract.history import COLUMNS, COMMIT, VERSION, column
from contract.lake import QUARANTINE_FOLDER
from contract.sizes import HEADROOM_BYTES, LARGEST_SETTING_BYTES
from spark_jobs.errors import Log, SettingsError
from spark_jobs.options import keys
from spark_jobs.options.command_line import JDBC_SOURCES, KAFKA_SOURCES, Options
from spark_jobs.options.jdbc_settings import (
    Accepted,
    CatalogueSettings,
    FirstLoadSettings,
    JdbcSettings,
    Password,
    Server,
    catalogue_settings,
    first_load_settings,
    jdbc_settings,
    refuse_secrets_in_arguments,
)
from spark_jobs.options.properties import DAY_S, declare, declared_in, folder, listed, number, read
from spark_jobs.options.table_settings import (
    CLAIMS_FOLDER,
    EVENTS_FOLDER,
    SyncSettings,
    TableSettings,
    refuse,
    sibling_path,
    sync_settings,
    table_settings,
)

# By default the source's limit (contract/sizes.py), and some more.
_LINE_BYTES = LARGEST_SETTING_BYTES + HEADROOM_BYTES


@dataclass(frozen=True, kw_only=True)
class KafkaSettings:
    """A topic to read, and its consumer's settings (`bootstrap.servers`, security)."""

    topic: str = declare(keys.KAFKA_TOPIC, needed_by="JsonKafkaSource")
    consumer: Mapping[str, str] = field(repr=False)
    from_earliest: bool = declare(keys.KAFKA_RESET)
    max_events: int = number("hoodie.streamer.kafka.source.maxEvents", 5_000_000, 1, 1_000_000_000)
    line_bytes: int
    fail_on_loss: bool = declare("hoodie.streamer.source.kafka.enable.failOnDataLoss", default=False)
    # A continuous job waits for a missing topic or folder.
    must_exist: bool

    @property
    def servers(self) -> str:
        return self.consumer["bootstrap.servers"]


@dataclass(frozen=True, kw_only=True)
class FileSettings:
    """A folder of JSON files to read."""

    root: str = declare(keys.FILES_ROOT, take=folder, needed_by="JsonDFSSource")
    remembered_files: int = number("hoodie.streamer.source.dfs.remembered.files", 5000, 1, 100_000)
    sweep_seconds: float = number(keys.FILES_SWEEP, 300, 0, DAY_S, whole=False)
    line_bytes: int = number(keys.LINE_BYTES, _LINE_BYTES, 1000, 1_000_000_000)
    max_bytes: int | None
    must_exist: bool


_FILES_ONLY = declared_in(FileSettings, FirstLoadSettings).keys() - {keys.LINE_BYTES}


def _paths(key: str, text: str) -> Mapping[str, str]:
    tables: dict[str, str] = {}
    for pair in text.split(","):
        name, sign, path = (part.strip() for part in pair.partition("="))
        if not (name and sign and path) or name in tables:
            raise SettingsError(f"{key}: {pair.strip()!r} isn't a table's name=path, each once")
        tables[name] = folder(key, path)
    return tables


@dataclass(frozen=True, kw_only=True)
class SqlSettings:
    """A derived table's query in Spark's SQL, and the base path of each table that it names."""

    query: str = declare(keys.SQL_QUERY)
    tables: Mapping[str, str] = declare(keys.SQL_TABLES, take=_paths, needed_by=keys.SQL_QUERY)


@dataclass(frozen=True, kw_only=True)
class HistorySettings:
    """The base path of the table whose versions are kept, and the history's names for that table's key columns.

    `events_path`: where its job stores the events of its commits.
    """

    path: str = declare(keys.HISTORY_OF, take=folder)
    events_path: str
    key_fields: tuple[str, ...]


SourceSettings = FileSettings | KafkaSettings | JdbcSettings | SqlSettings | HistorySettings


def source_settings(options: Options, properties: Mapping[str, str], warn: Log) -> SourceSettings:
    """Return the settings of the source that the options name; `warn` gets a line per key of another source.

    A query makes the table a derived one, another table's path a history, regardless of the application's source.
    """
    if keys.HISTORY_OF in properties:
        return _history_settings(options, properties)
    if keys.SQL_QUERY in properties:
        _refuse_for_made(options, properties, READ_MS, "a derived table")
        return read(SqlSettings, properties)
    if keys.SQL_TABLES in properties:
        raise SettingsError(f"{keys.SQL_TABLES} needs {keys.SQL_QUERY}, the query that names them")
    consumer = {key: value for key, value in properties.items() if not key.startswith("hoodie.")}
    given = set(properties)
    # The JDBC settings say where to look up the types of new columns.
    asked = properties.get(keys.NEW_COLUMN_TYPES) == keys.TYPES_OF_SOURCE or keys.FIRST_LOAD_SLOT in properties
    ours = given - keys.refused("unused").keys()
    jdbc = set[str]() if asked else {key for key in ours if key.startswith(keys.JDBC_PREFIX)}
    if options.source_class in JDBC_SOURCES:
        _tell_unused(warn, "JDBC", consumer, (_FILES_ONLY | declared_in(KafkaSettings).keys()) & given)
        return jdbc_settings(options, properties)
    if options.source_class in KAFKA_SOURCES:
        _tell_unused(warn, "Kafka", (), _FILES_ONLY & given | jdbc)
        return _kafka_settings(options, properties, consumer)
    _tell_unused(warn, "JSON files", consumer, declared_in(KafkaSettings).keys() & given | jdbc)
    return read(FileSettings, properties, max_bytes=options.source_limit, must_exist=not options.continuous)


def _tell_unused(warn: Log, source: str, others: Iterable[str], ours: Iterable[str]) -> None:
    for key in [*others, *sorted(ours)]:
        warn(f"{key} is not used: it has no meaning for {source}")


def _kafka_settings(options: Options, properties: Mapping[str, str], consumer: Mapping[str, str]) -> KafkaSettings:
    reset = _reset(properties)
    if "bootstrap.servers" not in consumer:
        raise SettingsError("bootstrap.servers is missing: JsonKafkaSource needs it as a property")
    limit = {"max_events": options.source_limit} if options.source_limit else {}
    return read(
        KafkaSettings,
        properties,
        consumer={key: value for key, value in consumer.items() if key != keys.KAFKA_NATIVE_RESET},
        from_earliest=reset == "EARLIEST",
        line_bytes=declared_in(FileSettings)[keys.LINE_BYTES].read(properties),
        must_exist=not options.continuous,
        **limit,
    )


def _reset(properties: Mapping[str, str]) -> str:
    """Return where a topic without a checkpoint starts, from Kafka's setting or HoodieStreamer's older one."""
    given = {key: properties[key].upper() for key in (keys.KAFKA_NATIVE_RESET, keys.KAFKA_RESET) if key in properties}
    for key, value in given.items():
        if value not in ("EARLIEST", "LATEST"):
            raise SettingsError(f"{key}={value}: say EARLIEST or LATEST (progress is in the table, not in a group)")
    if len(set(given.values())) > 1:
        raise SettingsError(" and ".join(f"{key}={value}" for key, value in given.items()) + " contradict each other")
    return next(iter(given.values()), "LATEST")


def _refuse_for_made(options: Options, properties: Mapping[str, str], ordering: str, table: str) -> None:
    if options.ordering_field != ordering:
        raise SettingsError(
            f"--source-ordering-field {options.ordering_field}: {table}'s rows are ordered by {ordering}"
        )
    if options.operation != "upsert":
        raise SettingsError(f"--op {options.operation.upper()}: {table}'s rows are upserted")
    if properties.get(keys.PARTITION_PATH):
        raise SettingsError(f"{keys.PARTITION_PATH}: {table} has no partitions")


def _history_settings(options: Options, properties: Mapping[str, str]) -> HistorySettings:
    key = listed(properties.get(keys.RECORD_KEY, ""))
    if len(key) < 3 or key[-2:] != (COMMIT, VERSION):
        raise SettingsError(f"{keys.RECORD_KEY}: a history's is its table's key and, behind it, {COMMIT},{VERSION}")
    for name in key[:-2]:
        if name in COLUMNS:
            raise SettingsError(f"{keys.RECORD_KEY}: {name} is a column of each history: its table's is {column(name)}")
    _refuse_for_made(options, properties, COMMIT, "a history")
    path = declared_in(HistorySettings)[keys.HISTORY_OF].read(properties)
    return HistorySettings(path=path, events_path=sibling_path(path, EVENTS_FOLDER), key_fields=key[:-2])


@dataclass(frozen=True, kw_only=True)
class TransformerSettings:
    """The query that changes each batch's rows, and how often it is applied."""

    query: str = declare(keys.TRANSFORMER_SQL, needed_by="SqlQueryBasedTransformer")
    times: int


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything one run of the job needs; `options` as given, except where other settings decide."""

    options: Options = field(repr=False)
    source: SourceSettings
    table: TableSettings
    sync: SyncSettings | None
    # Empty for a derived table and a history: their columns come from their input tables.
    schema_file: str = declare(keys.SCHEMA_FILE, needed_by="FilebasedSchemaProvider")
    target_schema_file: str = declare(keys.TARGET_SCHEMA_FILE)
    transformer: TransformerSettings | None
    quarantine_path: str = declare(keys.QUARANTINE_PATH, default=QUARANTINE_FOLDER, take=folder)
    claim_path: str
    # Where the events of commits are stored. None without a history.
    events_path: str | None
    quarantine_limit: int = number(keys.QUARANTINE_LIMIT, 1000, 0, 1_000_000)
    deletes_limit: int = number(keys.DELETES_LIMIT, 20_000, 0, 1_000_000)
    new_columns_limit: int = number(keys.NEW_COLUMNS_LIMIT, 50, 0, 10_000)
    # None: the types of new columns are guessed from their values.
    catalogue: CatalogueSettings | None
    # None: events bring all rows.
    first_load: FirstLoadSettings | None
    read_again: str | None = declare(keys.READ_AGAIN)
    history_kept: bool = declare(keys.HISTORY_KEPT, default=False)
    poll_seconds: float = number(keys.POLL_INTERVAL, 1, 0.1, DAY_S, whole=False)
    stop_file: str | None = declare(keys.STOP_FILE)
    metrics_namespace: str | None = declare(keys.METRICS_NAMESPACE)


@dataclass(frozen=True, kw_only=True)
class ApplicationSettings:
    """HoodieMultiTableStreamer's properties for all tables or, the last two, for one in its own file."""

    names: tuple[str, ...] = declare(keys.TABLES, default=())
    parallel_commits: int = number(keys.PARALLEL_COMMITS, 4, 1, 1000)
    base_path: str | None = declare(keys.TARGET_BASE_PATH, take=folder)
    min_interval_seconds: int | None = number(keys.MIN_SYNC_INTERVAL, None, 0, DAY_S)


# In the README's order.
PROPERTIES = declared_in(
    *(FileSettings, KafkaSettings, Password, Server, JdbcSettings, Accepted, SqlSettings, HistorySettings),
    *(TransformerSettings, Settings, CatalogueSettings, FirstLoadSettings, TableSettings, SyncSettings),
)
OF_MANY_TABLES = declared_in(ApplicationSettings)


def decide(options: Options, properties: Mapping[str, str], warn: Log) -> Settings:
    """Turn options and properties into settings; `warn` gets a line per unused property. Raises SettingsError."""
    refuse_secrets_in_arguments(options)
    refuse(options, properties, PROPERTIES, warn)
    table = table_settings(options, properties)
    source = source_settings(options, properties, warn)
    derived = isinstance(source, SqlSettings | HistorySettings)
    default = {"quarantine_path": sibling_path(table.base_path, QUARANTINE_FOLDER)}
    schema_file = "" if derived else PROPERTIES[keys.SCHEMA_FILE].read(properties)
    transformer = None if derived else _transformer(options, properties)
    return read(
        Settings,
        properties,
        options=options,
        source=source,
        table=table,
        sync=sync_settings(options, properties, table),
        schema_file=schema_file,
        target_schema_file=_target_schema_file(properties, schema_file, transformer),
        transformer=transformer,
        claim_path=sibling_path(table.base_path, CLAIMS_FOLDER),
        events_path=_events_path(properties, table, source, transformer, warn),
        catalogue=catalogue_settings(options, properties),
        first_load=first_load_settings(options, properties) if isinstance(source, FileSettings) else None,
        **({} if keys.QUARANTINE_PATH in properties else default),
    )


def _transformer(options: Options, properties: Mapping[str, str]) -> TransformerSettings | None:
    if options.transformers:
        return read(TransformerSettings, properties, times=options.transformers)
    if keys.TRANSFORMER_SQL in properties:
        raise SettingsError(f"{keys.TRANSFORMER_SQL} needs --transformer-class SqlQueryBasedTransformer")
    return None


def _events_path(
    properties: Mapping[str, str],
    table: TableSettings,
    source: SourceSettings,
    transformer: TransformerSettings | None,
    warn: Log,
) -> str | None:
    if not PROPERTIES[keys.HISTORY_KEPT].read(properties):
        return None
    if not isinstance(source, FileSettings | KafkaSettings):
        warn(f"{keys.HISTORY_KEPT} is not used: only events say what was between two commits")
        return None
    for contradicting, found in ((keys.APPEND_ONLY, table.append_only), ("--transformer-class", transformer)):
        if found:
            raise SettingsError(f"{keys.HISTORY_KEPT}=true isn't supported with {contradicting}")
    return sibling_path(table.base_path, EVENTS_FOLDER)


def _target_schema_file(properties: Mapping[str, str], source: str, transformer: TransformerSettings | None) -> str:
    path = properties.get(keys.TARGET_SCHEMA_FILE, source)
    if path != source and transformer is None:
        raise SettingsError(
            f"{keys.TARGET_SCHEMA_FILE} isn't supported without --transformer-class: the table has the events' schema"
        )
    return path
