"""Refuses properties that are unknown, that this job lacks, or that contradict an option.

Hudi silently ignores a misspelt key and misreads some values (any text but `true` is false); others fail each commit.
"""

import difflib
import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from importlib.resources import files

from spark_jobs.errors import Log, SettingsError
from spark_jobs.options import keys
from spark_jobs.options.command_line import Options
from spark_jobs.options.declared import Declared, Number

_STEPS = ("upsert", "insert", "delete", "bulkinsert")
_ERROR_TABLE = "hoodie.errortable."
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
    """Raise SettingsError for invalid properties; `warn` about unused ones. `known` are the job's own."""
    refuse_unknown(properties, known)
    for key, declared in known.items():
        if declared.number and key in properties:
            declared.number.read(key, properties[key])
    _refuse_contradictions(options, properties)
    check_hudis(properties, warn)
    for key, reason in keys.refused("unused").items():
        if key in properties:
            warn(f"{key} is not used: {reason}")


def refuse_unknown(properties: Mapping[str, str], known: Collection[str]) -> None:
    """Raise SettingsError for a `hoodie.streamer.*` key that is misspelt or has no meaning here."""
    for key in properties:
        if not key.startswith("hoodie.streamer.") or key in known or key.startswith(keys.JDBC_EXTRA):
            continue
        if reason := _why_unsupported(key):
            raise SettingsError(f"{key} isn't supported: {reason}")
        close = difflib.get_close_matches(key, known, n=1, cutoff=0.85)
        raise SettingsError(f"{key}: unknown property" + (f"; did you mean {close[0]}?" if close else ""))


def _why_unsupported(key: str) -> str | None:
    """Return why this job lacks a key of HoodieStreamer; None for keys that HoodieStreamer lacks, too."""
    if reason := keys.refused("key").get(key):
        return reason
    families = keys.refused("family")
    fitting = [prefix for prefix in families if key.startswith(prefix)]
    return families[max(fitting, key=len)] if fitting else None


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
        "hoodie.datasource.write.payload.class": (
            *("--payload-class", "org.apache.hudi.common.model.DefaultHoodieRecordPayload"),
        ),
        "hoodie.write.record.merge.mode": ("--merge-mode", "EVENT_TIME_ORDERING"),
        "hoodie.datasource.write.commitmeta.key.prefix": (
            *("the job (progress is in the commit)", keys.PROGRESS_PREFIX),
        ),
    }
    for key, (option, says) in decided.items():
        given = properties.get(key)
        path = key == "hoodie.base.path"
        if given is not None and (given.rstrip("/") != says if path else given.lower() != says.lower()):
            raise SettingsError(f"{key}={given} contradicts {option}, which says {says}")


def check_hudis(properties: Mapping[str, str], warn: Log) -> None:
    """Refuse settings that Hudi can't apply or that are misspelt, naming the key; `warn` about keys unknown to Hudi
    0.15.
    """
    names = hudis() | {*keys.OURS, *keys.refused("unused")}
    for key, value in properties.items():
        if key.startswith(_ERROR_TABLE):
            raise SettingsError(
                f"{key} isn't supported: events that don't fit go to quarantine (hoodie.streamer.quarantine.path)"
            )
        _check_value(key, value)
        if not key.startswith("hoodie.") or key.startswith("hoodie.streamer.") or key in names:
            continue
        if close := difflib.get_close_matches(key, names, n=1, cutoff=0.9):
            raise SettingsError(f"{key}: Hudi knows no such key; did you mean {close[0]}?")
        warn(f"{key}: Hudi 0.15 knows no such key; it is passed on all the same")


def _check_value(key: str, value: str) -> None:
    if key in NUMBERS:
        NUMBERS[key].read(key, value)
    words: Iterable[str] = ("true", "false") if _FLAG.fullmatch(key) else WORDS.get(key, ())
    if words and value.lower() not in [word.lower() for word in words]:
        raise SettingsError(f"{key}={value}: say {' or '.join(words)}")
    if value.lower() != "false" and (reason := keys.refused("beside").get(key)):
        raise SettingsError(f"{key}={value} isn't supported: {reason}")


def spelt(key: str, value: str) -> str:
    """Return a value in Hudi's spelling: it accepts some of its words only in capitals."""
    return value.upper() if key in WORDS else value
