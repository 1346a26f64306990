"""Decides the properties of the Hudi table, and of the Glue table that shows it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from contract.events import EVENT_ID, LSN
from spark_jobs.errors import SettingsError
from spark_jobs.options import keys, refusals
from spark_jobs.options.command_line import Options
from spark_jobs.options.declared import Declared, declare, declared_in, listed, number, read

CLAIMS_FOLDER = "_claims"
# Stored events of commits, until the table's history has their versions (docs/decisions/0093).
EVENTS_FOLDER = "_events"

_GENERATORS = "org.apache.hudi.keygen."
_SUPPORTED_GENERATORS = {
    "SIMPLE": f"{_GENERATORS}SimpleKeyGenerator",
    "COMPLEX": f"{_GENERATORS}ComplexKeyGenerator",
    "NON_PARTITION": f"{_GENERATORS}NonpartitionedKeyGenerator",
}


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
    append_only: bool = declare(keys.APPEND_ONLY, default=False)
    truncate: str | None = declare(keys.TRUNCATE, words=(keys.TRUNCATE_APPLY, keys.TRUNCATE_IGNORE))
    partition_fields: tuple[str, ...]
    key_generator: str
    hive_style: bool
    # None: as in the existing table; encoded for a new one.
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
    timeout_seconds: float = number(keys.SYNC_TIMEOUT, 60, 0, 3600, whole=False)


# Hudi's own properties whose values the job reads, too.
_KEY = Declared(names=(keys.RECORD_KEY,), needed_by="a Hudi table", default=())
_HIVE_STYLE = Declared(names=(keys.HIVE_STYLE,), default=False)
_URL_ENCODE = Declared(names=(keys.URL_ENCODE,), default=False)


def sibling_path(base_path: str, folder: str) -> str:
    """Return a table's part of a folder next to it, which no reader of the lake takes for a table's.

    A table with its own bucket contains the folder.
    """
    parent, _, name = base_path.rpartition("/")
    if not parent or parent.endswith("/"):  # a bucket of its own
        return f"{base_path}/{folder}"
    return f"{parent}/{folder}/{name}"


def table_settings(options: Options, properties: Mapping[str, str]) -> TableSettings:
    database, _, name = options.target_table.rpartition(".")
    partition_fields = listed(properties.get(keys.PARTITION_PATH, ""))
    append_only = declared_in(TableSettings)[keys.APPEND_ONLY].read(properties)
    key_fields = _key_fields(properties, append_only=append_only)
    if partition_fields and keys.INDEX_TYPE not in properties:
        # A key's partition may change (an order reassigned to another customer); only a global index finds the old row.
        index = {keys.INDEX_TYPE: "GLOBAL_SIMPLE", "hoodie.simple.index.update.partition.path": "true"}
    else:
        index = {}
    passed = {key: refusals.spelt(key, value) for key, value in properties.items() if _is_write_option(key)}
    return read(
        TableSettings,
        properties,
        base_path=options.target_base_path,
        database=database,
        name=name,
        table_type=options.table_type,
        operation=options.operation,
        ordering_field=options.ordering_field,
        key_fields=key_fields,
        append_only=append_only,
        truncate=_truncate(options, properties, append_only=append_only),
        partition_fields=partition_fields,
        key_generator=_key_generator(properties, key_fields, partition_fields),
        hive_style=_HIVE_STYLE.read(properties),
        url_encode=_URL_ENCODE.read(properties) if keys.URL_ENCODE in properties else None,
        global_index=(index | passed)[keys.INDEX_TYPE] in keys.GLOBAL_INDEXES if partition_fields else True,
        compaction=not options.disable_compaction,
        write_options=index | passed,
    )


def _key_fields(properties: Mapping[str, str], *, append_only: bool) -> tuple[str, ...]:
    if not append_only:
        return tuple(_KEY.read(properties))
    given = listed(properties.get(keys.RECORD_KEY, EVENT_ID))
    if given != (EVENT_ID,):
        raise SettingsError(
            f"{keys.RECORD_KEY}={','.join(given)} contradicts {keys.APPEND_ONLY}=true, by which the job makes the key"
        )
    return given


def _truncate(options: Options, properties: Mapping[str, str], *, append_only: bool) -> str | None:
    given: str | None = declared_in(TableSettings)[keys.TRUNCATE].read(properties)
    if given and append_only:
        raise SettingsError(
            f"{keys.TRUNCATE}={given} contradicts {keys.APPEND_ONLY}=true, by which a TRUNCATE is a row"
        )
    if given and options.ordering_field != LSN:
        raise SettingsError(f"{keys.TRUNCATE}={given} needs --source-ordering-field {LSN}, by which it has its place")
    return given


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


def sync_settings(options: Options, properties: Mapping[str, str], table: TableSettings) -> SyncSettings | None:
    """Return the settings of the catalog sync; None without one."""
    enabled = options.enable_sync or any(
        Declared(names=(key,), default=False).read(properties) for key in keys.SYNC_ENABLE
    )
    if not enabled:
        return None
    database = properties.get(keys.SYNC_DATABASE, table.database)
    if not database:
        raise SettingsError(f"{keys.SYNC_DATABASE} is missing: say it, or --target-table database.table")
    skipped = {*keys.refused("unused"), *keys.SYNC_ENABLE}
    return read(
        SyncSettings,
        properties,
        database=database,
        table=properties.get(keys.SYNC_TABLE, table.name),
        partition_fields=listed(properties.get(keys.SYNC_PARTITIONS, ",".join(table.partition_fields))),
        properties={k: v for k, v in properties.items() if k.startswith(keys.SYNC_PREFIXES) and k not in skipped},
    )
