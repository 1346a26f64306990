"""Decides the properties of the Hudi table and of its Glue table; refuses unknown and contradicting ones.

Hudi silently ignores a misspelt key and misreads some values (any text but `true` is false); others fail each commit.
"""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from contract.events import EVENT_ID, LSN
from spark_jobs.errors import Log, SettingsError
from spark_jobs.options import keys
from spark_jobs.options.command_line import PAYLOADS, Options
from spark_jobs.options.properties import Declared, Number, declare, declared_in, listed, number, one_of, read

_STEPS = ("upsert", "insert", "delete", "bulkinsert")
_FLAG = re.compile(r"hoodie\..*\.(enabled?|inline|async|automatic|update\.partition\.path|timeline\.server)")
# Not INMEMORY and FLINK_STATE: Spark would forget where the rows are, and write them again.
WORDS = {
    keys.INDEX_TYPE: ("BLOOM", "GLOBAL_BLOOM", "SIMPLE", "GLOBAL_SIMPLE", "BUCKET", "RECORD_INDEX", "HBASE"),
    "hoodie.index.bucket.engine": ("SIMPLE", "CONSISTENT_HASHING"),
    "hoodie.storage.layout.type": ("DEFAULT", "BUCKET"),
    "hoodie.write.markers.type": ("DIRECT", "TIMELINE_SERVER_BASED"),
    "hoodie.write.concurrency.mode": ("SINGLE_WRITER", "OPTIMISTIC_CONCURRENCY_CONTROL"),
    "hoodie.cleaner.policy": ("KEEP_LATEST_COMMITS", "KEEP_LATEST_FILE_VERSIONS", "KEEP_LATEST_BY_HOURS"),
    "hoodie.cleaner.policy.failed.writes": ("EAGER", "LAZY", "NEVER"),
    "hoodie.compact.inline.trigger.strategy": (
        *("NUM_COMMITS", "NUM_COMMITS_AFTER_LAST_REQUEST", "TIME_ELAPSED", "NUM_AND_TIME", "NUM_OR_TIME"),
    ),
    "hoodie.bulkinsert.sort.mode": (
        *("NONE", "GLOBAL_SORT", "PARTITION_SORT", "PARTITION_PATH_REPARTITION"),
        "PARTITION_PATH_REPARTITION_AND_SORT",
    ),
}
_COUNT, _SIZE = Number(1, 1_000_000), Number(0, 2**31 - 1)
NUMBERS = {
    "hoodie.bucket.index.num.buckets": Number(1, 100_000),
    **{f"hoodie.{step}.shuffle.parallelism": Number(0, 100_000) for step in _STEPS},
    **{f"hoodie.cleaner.{kept}.retained": _COUNT for kept in ("commits", "fileversions", "hours")},
    **{f"hoodie.{kept}.commits": _COUNT for kept in ("clean.max", "keep.min", "keep.max", "clustering.inline.max")},
    **{f"hoodie.compact.inline.max.delta.{unit}": _COUNT for unit in ("commits", "seconds")},
    **{f"hoodie.{size}": _SIZE for size in ("parquet.small.file.limit", "copyonwrite.record.size.estimate")},
    "hoodie.index.bloom.num_entries": _SIZE,
}


@cache
def hudis() -> frozenset[str]:
    """Return the keys that Hudi 0.15's bundle and its AWS module know (hudi_keys.txt lists their origin)."""
    text = (files(__package__) / "hudi_keys.txt").read_text(encoding="utf-8")
    return frozenset(line for line in text.splitlines() if line and not line.startswith("#"))


def refuse(options: Options, properties: Mapping[str, str], known: Mapping[str, Declared], warn: Log) -> None:
    """Raise SettingsError for invalid properties, and for keys that are misspelt or only HoodieStreamer's.

    `warn` about unused ones. `known` are the job's own.
    """
    families = keys.refused("family")
    for key, value in properties.items():
        if key in known:
            if bounds := known[key].number:
                bounds.read(key, value)
            continue
        fitting = [prefix for prefix in families if key.startswith(prefix)]
        if reason := keys.refused("key").get(key) or (families[max(fitting, key=len)] if fitting else None):
            raise SettingsError(f"{key} isn't supported: {reason}")
        if key.startswith("hoodie.streamer.") and not key.startswith(keys.JDBC_EXTRA):
            close = difflib.get_close_matches(key, known, n=1, cutoff=0.85)
            raise SettingsError(f"{key}: unknown property" + (f"; did you mean {close[0]}?" if close else ""))
    _refuse_contradictions(options, properties)
    check_hudis(properties, warn)


def _refuse_contradictions(options: Options, properties: Mapping[str, str]) -> None:
    database, _, table = options.target_table.rpartition(".")
    ordering = ("--source-ordering-field", options.ordering_field)
    decided = {
        "hoodie.datasource.write.operation": ("--op", options.operation),
        **dict.fromkeys(keys.TABLE_TYPES, ("--table-type", options.table_type)),
        **dict.fromkeys(keys.ORDERINGS, ordering),
        "hoodie.database.name": ("--target-table", database),
        "hoodie.table.name": ("--target-table", table),
        "hoodie.datasource.write.table.name": ("--target-table", table),
        "hoodie.base.path": ("--target-base-path", options.target_base_path),
        "hoodie.datasource.write.payload.class": ("--payload-class", PAYLOADS[-1]),
        "hoodie.write.record.merge.mode": ("--merge-mode", "EVENT_TIME_ORDERING"),
        "hoodie.datasource.write.commitmeta.key.prefix": ("the job (progress is in the commit)", keys.PROGRESS_PREFIX),
    }
    for key, (option, says) in decided.items():
        given = properties.get(key)
        path = key == "hoodie.base.path"
        if given is not None and (given.rstrip("/") != says if path else given.lower() != says.lower()):
            raise SettingsError(f"{key}={given} contradicts {option}, which says {says}")


def check_hudis(properties: Mapping[str, str], warn: Log) -> None:
    """Refuse values that Hudi can't apply, and misspelt keys; `warn` about those that Hudi 0.15 doesn't know."""
    names, unused = hudis() | {*keys.OURS}, keys.refused("unused")
    for key, value in properties.items():
        if key in NUMBERS:
            NUMBERS[key].read(key, value)
        if words := ("true", "false") if _FLAG.fullmatch(key) else WORDS.get(key):
            one_of(key, value, words)
        if value.lower() != "false" and (reason := keys.refused("async").get(key)):
            raise SettingsError(f"{key}={value} isn't supported: {reason}")
        if key in unused:
            warn(f"{key} is not used: {unused[key]}")
            continue
        if not key.startswith("hoodie.") or key.startswith("hoodie.streamer.") or key in names:
            continue
        if close := difflib.get_close_matches(key, names, n=1, cutoff=0.9):
            raise SettingsError(f"{key}: Hudi knows no such key; did you mean {close[0]}?")
        warn(f"{key}: Hudi 0.15 knows no such key; it is passed on all the same")


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
    timeout_seconds: float = number("hoodie.streamer.catalogue.sync.timeout.seconds", 60, 0, 3600, whole=False)


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
    elif properties.get(keys.INDEX_TYPE, "").upper() == keys.BUCKET:
        # Nothing reads bloom filters: the index can't become another one.
        index = {keys.BLOOM_FILTERS: "false"}
    else:
        index = {}
    others = ("hoodie.streamer.", *keys.SYNC_PREFIXES)
    given = {
        key: value for key, value in properties.items() if key.startswith("hoodie.") and not key.startswith(others)
    }
    # Hudi accepts some of its words only in capitals.
    passed = {key: value.upper() if key in WORDS else value for key, value in given.items()}
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
            f"{keys.RECORD_KEY}={','.join(given)} contradicts {keys.APPEND_ONLY}=true: then the job makes the key"
        )
    return given


def _truncate(options: Options, properties: Mapping[str, str], *, append_only: bool) -> str | None:
    given: str | None = declared_in(TableSettings)[keys.TRUNCATE].read(properties)
    if given and append_only:
        raise SettingsError(f"{keys.TRUNCATE}={given} contradicts {keys.APPEND_ONLY}=true: then a TRUNCATE is a row")
    if given and options.ordering_field != LSN:
        raise SettingsError(f"{keys.TRUNCATE}={given} needs --source-ordering-field {LSN}, which gives it its place")
    return given


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
