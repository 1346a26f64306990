"""Looks at the `hoodie.*` keys that are passed on to Hudi, which takes a misspelt key without a word.

Of values it takes some for others (each text but `true` is false), and others fail at each commit.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.resources import files

from spark_jobs.errors import SettingsError
from spark_jobs.keys import INDEX_TYPE
from spark_jobs.number import Number

# Hudi would run these beside the commits; here one commit follows another, and table services belong to it.
_INLINE = "table services run inside the commit here"
_ASYNC = {
    "hoodie.clustering.async.enabled": f"{_INLINE}; hoodie.clustering.inline=true clusters there",
    "hoodie.datasource.clustering.async.enable": f"{_INLINE}; hoodie.clustering.inline=true clusters there",
    "hoodie.datasource.compaction.async.enable": f"{_INLINE}; merge-on-read is compacted unless --disable-compaction",
}
_STEPS = ("upsert", "insert", "delete", "bulkinsert")
_ERROR_TABLE = "hoodie.errortable."
_FLAG = re.compile(r"hoodie\..*\.(enabled?|inline|async|automatic|update\.partition\.path|timeline\.server)")
# Not INMEMORY and FLINK_STATE: Spark would forget where the rows are, and write them again.
WORDS = {
    INDEX_TYPE: ("BLOOM", "GLOBAL_BLOOM", "SIMPLE", "GLOBAL_SIMPLE", "BUCKET", "RECORD_INDEX", "HBASE"),
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
_COUNT, _SIZE = Number(None, 1, 1_000_000), Number(None, 0, 2**31 - 1)
NUMBERS = {
    "hoodie.bucket.index.num.buckets": Number(None, 1, 100_000),
    **{f"hoodie.{step}.shuffle.parallelism": Number(None, 0, 100_000) for step in _STEPS},
    **{f"hoodie.cleaner.{kept}.retained": _COUNT for kept in ("commits", "fileversions", "hours")},
    **{f"hoodie.{kept}.commits": _COUNT for kept in ("clean.max", "keep.min", "keep.max", "clustering.inline.max")},
    **{f"hoodie.compact.inline.max.delta.{unit}": _COUNT for unit in ("commits", "seconds")},
    **{f"hoodie.{size}": _SIZE for size in ("parquet.small.file.limit", "copyonwrite.record.size.estimate")},
    "hoodie.index.bloom.num_entries": _SIZE,
}


@cache
def known() -> frozenset[str]:
    """Return the keys that Hudi 0.15's bundle and its AWS module know (hudi_keys.txt says where they are from)."""
    text = (files(__package__) / "hudi_keys.txt").read_text()
    return frozenset(line for line in text.splitlines() if line and not line.startswith("#"))


def check(properties: Mapping[str, str], ours: Iterable[str], warn: Callable[[str], None]) -> None:
    """Refuse what can't work or is misspelt, naming the key; `warn` about what Hudi 0.15 doesn't know.

    `ours` are keys that the job knows besides. Raises SettingsError.
    """
    names = known() | set(ours)
    for key, value in properties.items():
        if key.startswith(_ERROR_TABLE):
            raise SettingsError(
                f"{key} isn't supported: events that don't fit go to quarantine (hoodie.streamer.quarantine.path)"
            )
        _check_value(key, value)
        if key in _ASYNC and value.lower() != "false":
            raise SettingsError(f"{key}={value} isn't supported: {_ASYNC[key]}")
        if not key.startswith("hoodie.") or key.startswith("hoodie.streamer.") or key in names:
            continue
        close = difflib.get_close_matches(key, names, n=1, cutoff=0.9)
        if close:
            raise SettingsError(f"{key}: Hudi knows no such key; did you mean {close[0]}?")
        warn(f"{key}: Hudi 0.15 knows no such key; it is passed on all the same")


def spelt(key: str, value: str) -> str:
    """Return a value as Hudi knows it: some of its words it takes in capitals only."""
    return value.upper() if key in WORDS else value


def _check_value(key: str, value: str) -> None:
    if key in NUMBERS:
        NUMBERS[key].read(key, value)
    words = ("true", "false") if _FLAG.fullmatch(key) else WORDS.get(key)
    if words and value.lower() not in [word.lower() for word in words]:
        raise SettingsError(f"{key}={value}: say {' or '.join(words)}")
