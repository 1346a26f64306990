"""Decides once what options and properties mean together; everything after reads `Settings` only."""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from spark_jobs import hudi_keys, keys
from spark_jobs.errors import SettingsError
from spark_jobs.options import KAFKA_SOURCES, Options

_GENERATORS = "org.apache.hudi.keygen."
_SUPPORTED_GENERATORS = {
    "SIMPLE": f"{_GENERATORS}SimpleKeyGenerator",
    "COMPLEX": f"{_GENERATORS}ComplexKeyGenerator",
    "NON_PARTITION": f"{_GENERATORS}NonpartitionedKeyGenerator",
}


@dataclass(frozen=True, kw_only=True)
class KafkaSettings:
    """A topic to read, and what its consumer needs (`bootstrap.servers`, security)."""

    topic: str
    consumer: Mapping[str, str] = field(repr=False)
    from_earliest: bool
    max_events: int
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
    max_bytes: int | None
    must_exist: bool


@dataclass(frozen=True, kw_only=True)
class TableSettings:
    """The Hudi table to write: its identity, its layout and what is passed through to Hudi."""

    base_path: str
    database: str
    name: str
    table_type: str
    operation: str
    ordering_field: str
    key_fields: tuple[str, ...]
    partition_fields: tuple[str, ...]
    key_generator: str
    hive_style: bool
    # None: as the existing table has it, and encoded for a new one.
    url_encode: bool | None
    global_index: bool
    compaction: bool
    write_options: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class SyncSettings:
    """The Glue table to keep up to date."""

    database: str
    table: str
    partition_fields: tuple[str, ...]
    properties: Mapping[str, str]
    timeout_seconds: float


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All that one run of the job needs to know."""

    source: FileSettings | KafkaSettings
    table: TableSettings
    sync: SyncSettings | None
    schema_file: str
    quarantine_path: str
    claim_path: str
    quarantine_limit: int
    tombstones_limit: int
    new_columns_limit: int
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
    _refuse_unknown(properties)
    _refuse_contradictions(options, properties)
    hudi_keys.check(properties, [*keys.NOT_USED, *keys.OURS], warn)
    for key, reason in keys.NOT_USED.items():
        if key in properties:
            warn(f"{key} is not used: {reason}")
    table = _table(options, properties)
    return Settings(
        source=_source(options, properties, warn),
        table=table,
        sync=_sync(options, properties, table),
        schema_file=_schema_file(properties),
        quarantine_path=properties.get(keys.QUARANTINE_PATH, _beside(table.base_path, "_quarantine")).rstrip("/"),
        claim_path=_beside(table.base_path, "_claims"),
        quarantine_limit=int(_number(properties, keys.QUARANTINE_LIMIT)),
        tombstones_limit=int(_number(properties, keys.TOMBSTONES_LIMIT)),
        new_columns_limit=int(_number(properties, keys.NEW_COLUMNS_LIMIT)),
        poll_seconds=_number(properties, keys.POLL_INTERVAL),
        min_interval_seconds=options.min_sync_interval_seconds,
        continuous=options.continuous,
        checkpoint=options.checkpoint,
        ignore_checkpoint=options.ignore_checkpoint,
        max_retries=options.max_retry_count,
        retry_seconds=options.retry_interval_seconds,
        stop_file=properties.get(keys.STOP_FILE),
        metrics_namespace=properties.get(keys.METRICS_NAMESPACE),
    )


def _refuse_unknown(properties: Mapping[str, str]) -> None:
    for key in properties:
        if not key.startswith("hoodie.streamer.") or key in keys.STREAMER_PROPERTIES:
            continue
        if reason := _why_unsupported(key):
            raise SettingsError(f"{key} isn't supported: {reason}")
        close = difflib.get_close_matches(key, keys.STREAMER_PROPERTIES, n=1, cutoff=0.85)
        raise SettingsError(f"{key}: unknown property" + (f"; did you mean {close[0]}?" if close else ""))


def _why_unsupported(key: str) -> str | None:
    """Return the reason for a key of HoodieStreamer that this job hasn't; None for one that HoodieStreamer hasn't."""
    if key in keys.UNSUPPORTED:
        return keys.UNSUPPORTED[key]
    fitting = [prefix for prefix in keys.UNSUPPORTED_PREFIXES if key.startswith(prefix)]
    return keys.UNSUPPORTED_PREFIXES[max(fitting, key=len)] if fitting else None


def _refuse_contradictions(options: Options, properties: Mapping[str, str]) -> None:
    decided = {
        "hoodie.datasource.write.operation": options.operation,
        "hoodie.datasource.write.table.type": options.table_type,
        "hoodie.table.type": options.table_type,
        "hoodie.datasource.write.precombine.field": options.ordering_field,
        "hoodie.payload.ordering.field": options.ordering_field,
        "hoodie.table.precombine.field": options.ordering_field,
        "hoodie.payload.event.time.field": options.ordering_field,
        "hoodie.database.name": options.target_table.rpartition(".")[0],
        "hoodie.table.name": options.target_table.rpartition(".")[2],
        "hoodie.datasource.write.table.name": options.target_table.rpartition(".")[2],
        "hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.DefaultHoodieRecordPayload",
        "hoodie.write.record.merge.mode": "EVENT_TIME_ORDERING",
        "hoodie.datasource.write.commitmeta.key.prefix": "deltastreamer.checkpoint",
    }
    for key, option in keys.DECIDED_BY_OPTION.items():
        given = properties.get(key)
        if given is not None and given.lower() != decided[key].lower():
            raise SettingsError(f"{key}={given} contradicts {option}, which says {decided[key]}")
    base_path = properties.get("hoodie.base.path", options.target_base_path)
    if base_path.rstrip("/") != options.target_base_path:
        raise SettingsError(
            f"hoodie.base.path={base_path} contradicts --target-base-path, which says {options.target_base_path}"
        )


def _source(
    options: Options, properties: Mapping[str, str], warn: Callable[[str], None]
) -> FileSettings | KafkaSettings:
    consumer = {key: value for key, value in properties.items() if not key.startswith("hoodie.")}
    if options.source_class in KAFKA_SOURCES:
        for key in sorted(keys.FILES_ONLY & set(properties)):
            warn(f"{key} is not used: it has no meaning for Kafka")
        reset = _reset(properties)
        consumer.pop(keys.KAFKA_NATIVE_RESET, None)
        if "bootstrap.servers" not in consumer:
            raise SettingsError("bootstrap.servers is missing: JsonKafkaSource needs it as a property")
        return KafkaSettings(
            topic=_required(properties, keys.KAFKA_TOPIC, "JsonKafkaSource"),
            consumer=consumer,
            from_earliest=reset == "EARLIEST",
            max_events=options.source_limit or int(_number(properties, keys.KAFKA_MAX_EVENTS)),
            fail_on_loss=_flag(properties, keys.KAFKA_FAIL_ON_LOSS),
            must_exist=not options.continuous,
        )
    for key in [*consumer, *sorted(keys.KAFKA_ONLY & set(properties))]:
        warn(f"{key} is not used: it has no meaning for JSON files")
    return FileSettings(
        root=_required(properties, keys.FILES_ROOT, "JsonDFSSource").rstrip("/"),
        remembered_files=int(_number(properties, keys.FILES_REMEMBERED)),
        sweep_seconds=_number(properties, keys.FILES_SWEEP),
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


def _table(options: Options, properties: Mapping[str, str]) -> TableSettings:
    database, _, name = options.target_table.rpartition(".")
    partition_fields = _fields(properties.get(keys.PARTITION_PATH, ""))
    key_fields = _fields(_required(properties, keys.RECORD_KEY, "a Hudi table"))
    if partition_fields and keys.INDEX_TYPE not in properties:
        # A key's partition may change (an order given to another customer); only a global index finds the old row.
        index = {keys.INDEX_TYPE: "GLOBAL_SIMPLE", "hoodie.simple.index.update.partition.path": "true"}
    else:
        index = {}
    passed = {key: value for key, value in properties.items() if _is_write_option(key)}
    return TableSettings(
        base_path=options.target_base_path,
        database=database,
        name=name,
        table_type=options.table_type,
        operation=options.operation,
        ordering_field=options.ordering_field,
        key_fields=key_fields,
        partition_fields=partition_fields,
        key_generator=_key_generator(properties, key_fields, partition_fields),
        hive_style=_flag(properties, keys.HIVE_STYLE),
        url_encode=_flag(properties, keys.URL_ENCODE) if keys.URL_ENCODE in properties else None,
        global_index=(index | passed)[keys.INDEX_TYPE].upper() in keys.GLOBAL_INDEXES if partition_fields else True,
        compaction=not options.disable_compaction,
        write_options=index | passed,
    )


def _is_write_option(key: str) -> bool:
    return key.startswith("hoodie.") and not key.startswith(("hoodie.streamer.", *keys.SYNC_PREFIXES))


def _key_generator(properties: Mapping[str, str], key_fields: tuple[str, ...], partitions: tuple[str, ...]) -> str:
    given = properties.get(keys.KEY_GENERATOR)
    if kind := properties.get(keys.KEY_GENERATOR_TYPE):
        given = given or _SUPPORTED_GENERATORS.get(kind.upper(), kind)
    if given is None:
        kind = "NON_PARTITION" if not partitions else "COMPLEX" if len(partitions) + len(key_fields) > 2 else "SIMPLE"
        return _SUPPORTED_GENERATORS[kind]
    if given not in _SUPPORTED_GENERATORS.values():
        supported = ", ".join(name.rpartition(".")[2] for name in _SUPPORTED_GENERATORS.values())
        raise SettingsError(f"{keys.KEY_GENERATOR}={given} isn't supported: use one of {supported}")
    if given == _SUPPORTED_GENERATORS["NON_PARTITION"] and partitions:
        raise SettingsError(f"{keys.KEY_GENERATOR}={given} contradicts {keys.PARTITION_PATH}={','.join(partitions)}")
    if given == _SUPPORTED_GENERATORS["SIMPLE"] and (len(key_fields) != 1 or len(partitions) != 1):
        raise SettingsError(f"{keys.KEY_GENERATOR}={given} takes exactly one key field and one partition field")
    return given


def _sync(options: Options, properties: Mapping[str, str], table: TableSettings) -> SyncSettings | None:
    enabled = options.enable_sync or any(_flag(properties, key) for key in keys.SYNC_ENABLE)
    if not enabled:
        return None
    database = properties.get(keys.SYNC_DATABASE, table.database)
    if not database:
        raise SettingsError(f"{keys.SYNC_DATABASE} is missing: say it, or --target-table database.table")
    skipped = {*keys.NOT_USED, *keys.SYNC_ENABLE}
    return SyncSettings(
        database=database,
        table=properties.get(keys.SYNC_TABLE, table.name),
        partition_fields=_fields(properties.get(keys.SYNC_PARTITIONS, ",".join(table.partition_fields))),
        properties={k: v for k, v in properties.items() if k.startswith(keys.SYNC_PREFIXES) and k not in skipped},
        timeout_seconds=_number(properties, keys.SYNC_TIMEOUT),
    )


def _schema_file(properties: Mapping[str, str]) -> str:
    path = _required(properties, keys.SCHEMA_FILE, "FilebasedSchemaProvider")
    if properties.get(keys.TARGET_SCHEMA_FILE, path) != path:
        raise SettingsError(f"{keys.TARGET_SCHEMA_FILE} isn't supported: the table has the events' schema")
    return path


def _beside(base_path: str, folder: str) -> str:
    parent, _, name = base_path.rpartition("/")
    if not parent or parent.endswith("/"):  # a bucket of its own
        return f"{base_path}/{folder}"
    return f"{parent}/{folder}/{name}"


def _required(properties: Mapping[str, str], key: str, needed_by: str) -> str:
    if not properties.get(key):
        raise SettingsError(f"{key} is missing: {needed_by} needs it")
    return properties[key]


def _fields(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _flag(properties: Mapping[str, str], key: str) -> bool:
    text = properties.get(key, "false").lower()
    if text not in ("true", "false"):
        raise SettingsError(f"{key}={text}: say true or false")
    return text == "true"


def _number(properties: Mapping[str, str], key: str) -> float:
    text = properties.get(key) or keys.STREAMER_PROPERTIES[key].default or ""
    try:
        number = float(text)
    except ValueError:
        number = -1
    if not 0 <= number < 1e12:
        raise SettingsError(f"{key}={text}: say a number, 0 or more")
    return number
