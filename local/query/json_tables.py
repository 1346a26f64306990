"""JSON lines as tables: landed events and quarantined ones.

Athena reads the same objects through analytics/landed_table.py and analytics/quarantine_table.py.
"""

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow

from analytics import landed_table, quarantine_table
from contract.lake import LANDING_PREFIX
from local.look.json_lines import keys, lines
from local.look.quarantine import entries
from local.platform.services import LANDING_BUCKET

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

# An object being written has another ending (docs/decisions/0040).
_ENDING = ".json"
_ARROW = {"string": pyarrow.string(), "bigint": pyarrow.int64()}
_LANDED = (*landed_table.COLUMNS, *landed_table.PARTITIONS, (landed_table.PATH, "string"))
LANDED = pyarrow.schema([(name, _ARROW[kind]) for name, kind in _LANDED])
_QUARANTINED = (*quarantine_table.COLUMNS, quarantine_table.PARTITION)
QUARANTINED = pyarrow.schema([(name, _ARROW[kind]) for name, kind in _QUARANTINED])


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
    name, _ = quarantine_table.PARTITION
    for table in tables:
        for found in entries(client, table):
            yield pyarrow.RecordBatch.from_pylist([row | {name: table} for row in found], schema=QUARANTINED)


def _is_event(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False
