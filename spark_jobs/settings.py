"""Decides once what options and properties mean together; everything after reads `Settings` only."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from contract.lake import QUARANTINE_FOLDER
from spark_jobs import hudi_keys, keys
from spark_jobs.beside import CLAIMS_FOLDER, EVENTS_FOLDER, beside
from spark_jobs.errors import SettingsError
from spark_jobs.history_settings import HistorySettings
from spark_jobs.jdbc_settings import CatalogueSettings, catalogue_settings
from spark_jobs.options import Options
from spark_jobs.property_checks import refuse_beyond_bounds, refuse_contradictions, refuse_unknown
from spark_jobs.property_values import flag, number, required
from spark_jobs.source_settings import FileSettings, KafkaSettings, SourceSettings, source_settings
from spark_jobs.sql_settings import SqlSettings
from spark_jobs.table_settings import SyncSettings, TableSettings, sync_settings, table_settings


@dataclass(frozen=True)
class TransformerSettings:
    """The query that changes each batch's rows, and how often it is applied."""

    query: str
    times: int


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All that one run of the job needs to know."""

    source: SourceSettings
    table: TableSettings
    sync: SyncSettings | None
    # Empty for a derived table and a history: the columns are those of what they are made of.
    schema_file: str
    target_schema_file: str
    transformer: TransformerSettings | None
    quarantine_path: str
    claim_path: str
    # Where the events of commits go; None where no history takes them.
    events_path: str | None
    quarantine_limit: int
    deletes_limit: int
    new_columns_limit: int
    # None: the types of new columns are guessed by their values.
    catalogue: CatalogueSettings | None
    poll_seconds: float
    min_interval_seconds: int
    continuous: bool
    checkpoint: str | None
    ignore_checkpoint: str | None
    max_retries: int
    retry_seconds: int
    stop_file: str | None
    metrics_namespace: str | None


def decide(options: Options, properties: Mapping[str, str], warn: Callable[[str], None]) -> Settings:
    """Turn options and properties into settings; `warn` gets a line for each property that has no use here.

    Raises SettingsError, naming the key, for one that is unknown, unsupported, missing or contradicts an option.
    """
    refuse_unknown(properties)
    refuse_beyond_bounds(properties)
    refuse_contradictions(options, properties)
    hudi_keys.check(properties, [*keys.NOT_USED, *keys.OURS], warn)
    for key, reason in keys.NOT_USED.items():
        if key in properties:
            warn(f"{key} is not used: {reason}")
    table = table_settings(options, properties)
    source = source_settings(options, properties, warn)
    derived = isinstance(source, SqlSettings | HistorySettings)
    schema_file = "" if derived else required(properties, keys.SCHEMA_FILE, "FilebasedSchemaProvider")
    transformer = None if derived else _transformer(options, properties)
    return Settings(
        source=source,
        table=table,
        sync=sync_settings(options, properties, table),
        schema_file=schema_file,
        target_schema_file=_target_schema_file(properties, schema_file, transformer),
        transformer=transformer,
        quarantine_path=properties.get(keys.QUARANTINE_PATH, beside(table.base_path, QUARANTINE_FOLDER)).rstrip("/"),
        claim_path=beside(table.base_path, CLAIMS_FOLDER),
        events_path=_events_path(properties, table, source, transformer, warn),
        quarantine_limit=int(number(properties, keys.QUARANTINE_LIMIT)),
        deletes_limit=int(number(properties, keys.DELETES_LIMIT)),
        new_columns_limit=int(number(properties, keys.NEW_COLUMNS_LIMIT)),
        catalogue=catalogue_settings(options, properties),
        poll_seconds=number(properties, keys.POLL_INTERVAL),
        min_interval_seconds=options.min_sync_interval_seconds,
        continuous=options.continuous,
        checkpoint=options.checkpoint,
        ignore_checkpoint=options.ignore_checkpoint,
        max_retries=options.max_retry_count,
        retry_seconds=options.retry_interval_seconds,
        stop_file=properties.get(keys.STOP_FILE),
        metrics_namespace=properties.get(keys.METRICS_NAMESPACE),
    )


def _transformer(options: Options, properties: Mapping[str, str]) -> TransformerSettings | None:
    if options.transformers:
        query = required(properties, keys.TRANSFORMER_SQL, "SqlQueryBasedTransformer")
        return TransformerSettings(query, options.transformers)
    if keys.TRANSFORMER_SQL in properties:
        raise SettingsError(f"{keys.TRANSFORMER_SQL} needs --transformer-class SqlQueryBasedTransformer")
    return None


def _events_path(
    properties: Mapping[str, str],
    table: TableSettings,
    source: SourceSettings,
    transformer: TransformerSettings | None,
    warn: Callable[[str], None],
) -> str | None:
    if not flag(properties, keys.HISTORY_KEPT):
        return None
    if not isinstance(source, FileSettings | KafkaSettings):
        warn(f"{keys.HISTORY_KEPT} is not used: only events say what was between two commits")
        return None
    for contradicting, found in ((keys.APPEND_ONLY, table.append_only), ("--transformer-class", transformer)):
        if found:
            raise SettingsError(f"{keys.HISTORY_KEPT}=true isn't supported with {contradicting}")
    return beside(table.base_path, EVENTS_FOLDER)


def _target_schema_file(properties: Mapping[str, str], source: str, transformer: TransformerSettings | None) -> str:
    path = properties.get(keys.TARGET_SCHEMA_FILE, source)
    if path != source and transformer is None:
        raise SettingsError(
            f"{keys.TARGET_SCHEMA_FILE} isn't supported without --transformer-class: the table has the events' schema"
        )
    return path
