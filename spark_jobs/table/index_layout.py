"""How a table's index spreads keys over files: a table keeps its first index layout.

An index finds a stored row by its own rules. With another index, or another number of buckets, Hudi doesn't find the
existing rows, and writes each of them a second time.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from spark_jobs.options import keys
from spark_jobs.options.table_settings import TableSettings

BUCKET = "BUCKET"
# Each has its own store, which another index doesn't fill.
_APART = ("HBASE", "INMEMORY")
# Hudi's own default.
_BUCKETS = "256"
_BUCKET_FILE = re.compile(r"(\d{8})-")
# A random file id may also begin with eight digits, but hardly with so low a number.
_MOST_BUCKETS = 1 << 16


def is_bucketed(settings: TableSettings) -> bool:
    """Tell whether a key's bucket is computed from the key."""
    return settings.write_options.get(keys.INDEX_TYPE, "").upper() == BUCKET


def layout_of(settings: TableSettings) -> str:
    """Return how the settings spread keys over files, as a text for the commits."""
    options, kind = settings.write_options, settings.write_options.get(keys.INDEX_TYPE, "SIMPLE").upper()
    if is_bucketed(settings):
        engine = options.get("hoodie.index.bucket.engine", "SIMPLE").upper()
        by = options.get("hoodie.bucket.index.hash.field", ",".join(settings.key_fields))
        many = f"{buckets(settings)} buckets" if engine == "SIMPLE" else engine
        return f"{BUCKET}, {many} by {by}"
    return kind if kind in _APART else "global" if settings.global_index else "per partition"


def buckets(settings: TableSettings) -> int:
    return int(settings.write_options.get("hoodie.bucket.index.num.buckets", _BUCKETS))


def layout_of_files(file_ids: Iterable[str], settings: TableSettings) -> str:
    """Return how an older job's table was written, from its file ids, since its commits don't record it."""
    numbers = [int(found[1]) if (found := _BUCKET_FILE.match(file_id)) else _MOST_BUCKETS for file_id in file_ids]
    wanted = layout_of(settings)
    if not numbers:
        return wanted
    if max(numbers) >= _MOST_BUCKETS:
        return f"no {BUCKET}" if is_bucketed(settings) else wanted
    if is_bucketed(settings) and max(numbers) < buckets(settings):
        return wanted
    return f"{BUCKET}, {max(numbers) + 1} buckets or more"


def misplaced(jvm: Any, files_of_keys: Mapping[str, str], settings: TableSettings) -> str | None:
    """Return a record key outside the bucket that the settings compute; None without any.

    `files_of_keys`: names of files by Hudi's record key.
    """
    by = settings.write_options.get("hoodie.bucket.index.hash.field", ",".join(settings.key_fields))
    bucket_of = jvm.org.apache.hudi.index.bucket.BucketIdentifier.getBucketId
    for key, file in files_of_keys.items():
        found = _BUCKET_FILE.match(file)
        if found and int(found[1]) != bucket_of(key, by, buckets(settings)):
            return key
    return None
