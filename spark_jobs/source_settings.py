"""Decides what the job reads: a topic, a folder of files, a database's rows, or other tables of the lake."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from spark_jobs import keys
from spark_jobs.errors import SettingsError
from spark_jobs.history_settings import HistorySettings, history_settings
from spark_jobs.jdbc_settings import JdbcSettings, jdbc_settings
from spark_jobs.option_values import JDBC_SOURCES, KAFKA_SOURCES
from spark_jobs.options import Options
from spark_jobs.property_values import flag, number, required
from spark_jobs.sql_settings import SqlSettings, sql_settings


@dataclass(frozen=True, kw_only=True)
class KafkaSettings:
    """A topic to read, and what its consumer needs (`bootstrap.servers`, security)."""

    topic: str
    consumer: Mapping[str, str] = field(repr=False)
    from_earliest: bool
    max_events: int
    line_bytes: int
    fail_on_loss: bool
    # A continuous job waits for a topic or folder that isn't there yet.
    must_exist: bool

    @property
    def servers(self) -> str:
        """The brokers to begin with."""
        return self.consumer["bootstrap.servers"]


@dataclass(frozen=True, kw_only=True)
class FileSettings:
    """A folder of JSON files to read."""

    root: str
    remembered_files: int
    sweep_seconds: float
    line_bytes: int
    max_bytes: int | None
    must_exist: bool


SourceSettings = FileSettings | KafkaSettings | JdbcSettings | SqlSettings | HistorySettings


def source_settings(options: Options, properties: Mapping[str, str], warn: Callable[[str], None]) -> SourceSettings:
    """Return the settings of the source that the options name; `warn` gets a line per key of another one.

    A query makes the table a derived one, another table's path its history, whichever source the application's others
    have.
    """
    if keys.HISTORY_OF in properties:
        return history_settings(options, properties)
    if keys.SQL_QUERY in properties:
        return sql_settings(options, properties)
    if keys.SQL_TABLES in properties:
        raise SettingsError(f"{keys.SQL_TABLES} needs {keys.SQL_QUERY}, the query that names them")
    consumer = {key: value for key, value in properties.items() if not key.startswith("hoodie.")}
    given = set(properties)
    if options.source_class in JDBC_SOURCES:
        for key in [*consumer, *sorted((keys.FILES_ONLY | keys.KAFKA_ONLY) & given)]:
            warn(f"{key} is not used: it has no meaning for JDBC")
        return jdbc_settings(options, properties, warn)
    # Those say where the types of new columns are asked.
    asked = properties.get(keys.NEW_COLUMN_TYPES) == keys.TYPES_OF_SOURCE
    jdbc = set[str]() if asked else {key for key in given if key.startswith(keys.JDBC_PREFIX)}
    if options.source_class in KAFKA_SOURCES:
        for key in sorted(keys.FILES_ONLY & given | jdbc):
            warn(f"{key} is not used: it has no meaning for Kafka")
        reset = _reset(properties)
        consumer.pop(keys.KAFKA_NATIVE_RESET, None)
        if "bootstrap.servers" not in consumer:
            raise SettingsError("bootstrap.servers is missing: JsonKafkaSource needs it as a property")
        return KafkaSettings(
            topic=required(properties, keys.KAFKA_TOPIC, "JsonKafkaSource"),
            consumer=consumer,
            from_earliest=reset == "EARLIEST",
            max_events=options.source_limit or int(number(properties, keys.KAFKA_MAX_EVENTS)),
            line_bytes=int(number(properties, keys.LINE_BYTES)),
            fail_on_loss=flag(properties, keys.KAFKA_FAIL_ON_LOSS),
            must_exist=not options.continuous,
        )
    for key in [*consumer, *sorted(keys.KAFKA_ONLY & given | jdbc)]:
        warn(f"{key} is not used: it has no meaning for JSON files")
    return FileSettings(
        root=required(properties, keys.FILES_ROOT, "JsonDFSSource").rstrip("/"),
        remembered_files=int(number(properties, keys.FILES_REMEMBERED)),
        sweep_seconds=number(properties, keys.FILES_SWEEP),
        line_bytes=int(number(properties, keys.LINE_BYTES)),
        max_bytes=options.source_limit,
        must_exist=not options.continuous,
    )


def _reset(properties: Mapping[str, str]) -> str:
    """Say where a topic without a checkpoint starts, by Kafka's name of the setting or HoodieStreamer's older one."""
    given = {key: properties[key].upper() for key in (keys.KAFKA_NATIVE_RESET, keys.KAFKA_RESET) if key in properties}
    for key, value in given.items():
        if value not in ("EARLIEST", "LATEST"):
            raise SettingsError(f"{key}={value}: say EARLIEST or LATEST (progress is in the table, not in a group)")
    if len(set(given.values())) > 1:
        raise SettingsError(" and ".join(f"{key}={value}" for key, value in given.items()) + " contradict each other")
    return next(iter(given.values()), "LATEST")
