"""What has landed as a table: the sink's JSON lines, which Athena reads by analytics/landed_table.py."""

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow

from analytics.landed_table import COLUMNS, PARTITIONS, PATH
from contract.lake import LANDING_PREFIX
from local.platform.tables import LANDING_BUCKET

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

# An object while it is written has another ending (docs/decisions/0040).
_ENDING = ".json"
SCHEMA = pyarrow.schema([(name, pyarrow.string()) for name, _ in (*COLUMNS, *PARTITIONS)] + [(PATH, pyarrow.string())])


def batches(client: "S3Client", topics: Sequence[str]) -> Iterator[pyarrow.RecordBatch]:
    """Yield the events of these topics that have landed, an object at a time, in the topic's order.

    What is no JSON object is left out: the job has set it aside.
    """
    for topic in topics:
        pages = client.get_paginator("list_objects_v2").paginate(
            Bucket=LANDING_BUCKET, Prefix=f"{LANDING_PREFIX}/{topic}/"
        )
        names = [entry["Key"] for page in pages for entry in page.get("Contents", [])]
        for name in sorted(name for name in names if name.endswith(_ENDING)):
            lines = client.get_object(Bucket=LANDING_BUCKET, Key=name)["Body"].iter_lines()
            events = [line.decode() for line in lines if _is_event(line)]
            constants = (LANDING_PREFIX, topic, f"s3://{LANDING_BUCKET}/{name}")
            columns = [events, *([value] * len(events) for value in constants)]
            yield pyarrow.RecordBatch.from_arrays(
                [pyarrow.array(each, pyarrow.string()) for each in columns], schema=SCHEMA
            )


def _is_event(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False
