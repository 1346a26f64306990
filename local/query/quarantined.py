"""The quarantine as a table: the job's JSON lines, which Athena reads by analytics/quarantine_table.py."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow

from analytics.quarantine_table import COLUMNS, PARTITION
from local.look.quarantine import entries

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_ARROW = {"string": pyarrow.string(), "bigint": pyarrow.int64()}
SCHEMA = pyarrow.schema([(name, _ARROW[kind]) for name, kind in (*COLUMNS, PARTITION)])


def batches(client: "S3Client", tables: Sequence[str]) -> Iterator[pyarrow.RecordBatch]:
    """Yield what the job has set aside of these tables of the lake, an object at a time.

    A file that was set aside whole is left out: the entry beside it tells of it.
    """
    for table in tables:
        for found in entries(client, table):
            yield pyarrow.RecordBatch.from_pylist([row | {PARTITION[0]: table} for row in found], schema=SCHEMA)
