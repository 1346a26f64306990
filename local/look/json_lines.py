"""Objects of JSON lines in the buckets: landed events, and what the job has quarantined; as lines and as tables.

Athena reads the same objects through analytics/tables.py.
"""

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow

from analytics import tables as declared_tables
from contract.lake import LANDING_PREFIX, QUARANTINE_FOLDER
from local.platform.services import LANDING_BUCKET

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

# Of a topic's single partition.
_PARTITION = "0"
BUCKET = "lake"
# Suffix of an entry about a whole file, which is stored next to it without this suffix.
OF_A_FILE = ".reason.json"
# An object being written has another ending (docs/decisions/0040).
_ENDING = ".json"
_ARROW = {"string": pyarrow.string(), "bigint": pyarrow.int64()}
_LANDED = (*declared_tables.LANDED.columns, *declared_tables.LANDED.partitions, (declared_tables.PATH, "string"))
LANDED = pyarrow.schema([(name, _ARROW[kind]) for name, kind in _LANDED])
_QUARANTINED = (*declared_tables.QUARANTINE.columns, *declared_tables.QUARANTINE.partitions)
QUARANTINED = pyarrow.schema([(name, _ARROW[kind]) for name, kind in _QUARANTINED])


def keys(client: "S3Client", bucket: str, prefix: str) -> list[str]:
    """Return the keys of all objects under a prefix, sorted."""
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    return sorted(entry["Key"] for page in pages for entry in page.get("Contents", []))


def lines(client: "S3Client", bucket: str, key: str) -> list[bytes]:
    """Return an object's lines, without blank ones."""
    return [line for line in client.get_object(Bucket=bucket, Key=key)["Body"].iter_lines() if line.strip()]


def lands_behind(s3: "S3Client", bucket: str, prefix: str, name: str) -> bool:
    """Tell whether a landing has an object after the one of this name; all come after an empty name."""
    after = s3.list_objects_v2(Bucket=bucket, Prefix=prefix, StartAfter=prefix + name)
    return any(entry["Key"].endswith(_ENDING) for entry in after.get("Contents", []))


def offset_behind(name: str) -> int:
    """Return the offset after a landed object's last event, from its name."""
    return int(name.rpartition("/")[2].partition("_")[0]) + 1


def consumed(progress: str | None) -> str:
    """Return the last object that a commit's progress names, below its topic's folder; empty without one.

    `progress`: as written by `spark_jobs/sources/file_progress.py`; other sources' progress names no object.
    """
    try:
        names = json.loads(progress or "{}")["watermarks"].values()
    except (ValueError, LookupError, AttributeError, TypeError):
        return ""
    below_topic = ("/".join(str(name).split("/")[-2:]) for name in names)
    return next((name for name in below_topic if name.startswith(f"{_PARTITION}/")), "")


def read_to(s3: "S3Client", landing_prefix: str, progress: str | None, landed: int | None) -> int:
    """Return the offset after a topic's last event in the lake; the sink has landed all before `landed`."""
    name = consumed(progress)
    offset = offset_behind(name) if name else 0
    if landed is None or landed <= offset:
        return offset
    # Not every event becomes a line of an object: a tombstone doesn't.
    return offset if lands_behind(s3, LANDING_BUCKET, landing_prefix, name) else landed


def prefix(table: str) -> str:
    return f"{QUARANTINE_FOLDER}/{table}/"


def count_quarantined(client: "S3Client", table: str) -> int:
    """Return the number of quarantined events of a lake table; an unreadable file counts as one."""
    return sum(map(len, _lines(client, table, BUCKET)))


def entries(client: "S3Client", table: str, bucket: str = BUCKET) -> Iterator[list[dict[str, Any]]]:
    """Yield the job's entries about quarantined events of a lake table, an object at a time.

    A file that was quarantined whole is left out: its entry describes it.
    """
    for found in _lines(client, table, bucket):
        yield [json.loads(line) for line in found]


def _lines(client: "S3Client", table: str, bucket: str) -> Iterator[list[bytes]]:
    found = set(keys(client, bucket, prefix(table)))
    for key in sorted(key for key in found if f"{key}{OF_A_FILE}" not in found):
        yield lines(client, bucket, key)


def landed(client: "S3Client", topics: Sequence[str]) -> Iterator[pyarrow.RecordBatch]:
    """Yield the landed events of these topics, an object at a time, in the topic's order.

    Lines that aren't JSON objects are left out: the job has quarantined them.
    """
    for topic in topics:
        for key in keys(client, LANDING_BUCKET, f"{LANDING_PREFIX}/{topic}/"):
            if key.endswith(_ENDING):
                events = [line.decode() for line in lines(client, LANDING_BUCKET, key) if _is_event(line)]
                constants = (LANDING_PREFIX, topic, f"s3://{LANDING_BUCKET}/{key}")
                columns = [events, *([value] * len(events) for value in constants)]
                yield pyarrow.RecordBatch.from_arrays(
                    [pyarrow.array(column, pyarrow.string()) for column in columns], schema=LANDED
                )


def quarantined(client: "S3Client", tables: Sequence[str]) -> Iterator[pyarrow.RecordBatch]:
    """Yield the quarantined events of these lake tables, an object at a time."""
    [(name, _)] = declared_tables.QUARANTINE.partitions
    for table in tables:
        for found in entries(client, table):
            yield pyarrow.RecordBatch.from_pylist([row | {name: table} for row in found], schema=QUARANTINED)


def _is_event(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False
