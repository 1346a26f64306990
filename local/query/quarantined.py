"""The quarantine as a table: the job's JSON lines, which Athena reads by analytics/quarantine_table.py."""

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow

from analytics.quarantine_table import COLUMNS, PARTITION
from local.look.quarantine import BUCKET, prefix

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_ARROW = {"string": pyarrow.string(), "bigint": pyarrow.int64()}
SCHEMA = pyarrow.schema([(name, _ARROW[kind]) for name, kind in (*COLUMNS, PARTITION)])


def batches(client: "S3Client", tables: Sequence[str]) -> Iterator[pyarrow.RecordBatch]:
    """Yield what the job has set aside of these tables of the lake, an object at a time.

    A file that was set aside whole is left out: the entry beside it tells of it.
    """
    for table in tables:
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix(table))
        names = {entry["Key"] for page in pages for entry in page.get("Contents", [])}
        for name in sorted(name for name in names if f"{name}.reason.json" not in names):
            body = client.get_object(Bucket=BUCKET, Key=name)["Body"]
            rows = [json.loads(line) | {PARTITION[0]: table} for line in body.iter_lines() if line.strip()]
            yield pyarrow.RecordBatch.from_pylist(rows, schema=SCHEMA)
