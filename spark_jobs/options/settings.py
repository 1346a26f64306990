"""Decides once what options and properties mean together; all later code reads only `Settings`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from contract.lake import QUARANTINE_FOLDER
from spark_jobs.errors import Log, SettingsError
from spark_jobs.options import keys
from spark_jobs.options.command_line import Options
from spark_jobs.options.declared import DAY_S, declare, declared_in, number, read
from spark_jobs.options.jdbc_settings import (
    Accepted,
    CatalogueSettings,
    JdbcSettings,
    Password,
    Server,
    catalogue_settings,
)
from spark_jobs.options.refusals import refuse
from spark_jobs.options.source_settings import FileSettings, HistorySettings, KafkaSettings, SourceSettings, SqlSettings
from spark_jobs.options.source_settings import source_settings as decide_source
from spark_jobs.options.table_settings import (
    CLAIMS_FOLDER,
    EVENTS_FOLDER,
    SyncSettings,
    TableSettings,
    sibling_path,
    sync_settings,
    table_settings,
)


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
    quarantine_path: str = declare(keys.QUARANTINE_PATH, default=QUARANTINE_FOLDER)
    claim_path: str
    # Where the events of commits are stored. None without a history.
    events_path: str | None
    quarantine_limit: int = number(keys.QUARANTINE_LIMIT, 1000, 0, 1_000_000)
    deletes_limit: int = number(keys.DELETES_LIMIT, 20_000, 0, 1_000_000)
    new_columns_limit: int = number(keys.NEW_COLUMNS_LIMIT, 50, 0, 10_000)
    # None: the types of new columns are guessed from their values.
    catalogue: CatalogueSettings | None
    history_kept: bool = declare(keys.HISTORY_KEPT, default=False)
    poll_seconds: float = number(keys.POLL_INTERVAL, 1, 0.1, DAY_S, whole=False)
    stop_file: str | None = declare(keys.STOP_FILE)
    metrics_namespace: str | None = declare(keys.METRICS_NAMESPACE)


@dataclass(frozen=True, kw_only=True)
class ApplicationSettings:
    """HoodieMultiTableStreamer's properties for all tables or, the last two, for one in its own file."""

    names: tuple[str, ...] = declare(keys.TABLES, default=())
    parallel_commits: int = number(keys.PARALLEL_COMMITS, 4, 1, 1000)
    base_path: str | None = declare(keys.TARGET_BASE_PATH)
    min_interval_seconds: int | None = number(keys.MIN_SYNC_INTERVAL, None, 0, DAY_S)


# In the README's order.
PROPERTIES = declared_in(
    *(FileSettings, KafkaSettings, Password, Server, JdbcSettings, Accepted, SqlSettings, HistorySettings),
    *(TransformerSettings, Settings, CatalogueSettings, TableSettings, SyncSettings),
)
OF_MANY_TABLES = declared_in(ApplicationSettings)


def decide(options: Options, properties: Mapping[str, str], warn: Log) -> Settings:
    """Turn options and properties into settings; `warn` gets a line for each property that has no use here.

    Raises SettingsError, naming the key, for unknown, unsupported or missing ones, and those that contradict an option.
    """
    refuse(options, properties, PROPERTIES, warn)
    table = table_settings(options, properties)
    source = decide_source(options, properties, warn)
    derived = isinstance(source, SqlSettings | HistorySettings)
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
        quarantine_path=properties.get(keys.QUARANTINE_PATH, sibling_path(table.base_path, QUARANTINE_FOLDER)).rstrip(
            "/"
        ),
        claim_path=sibling_path(table.base_path, CLAIMS_FOLDER),
        events_path=_events_path(properties, table, source, transformer, warn),
        catalogue=catalogue_settings(options, properties),
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
