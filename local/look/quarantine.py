"""Reads what the job has put aside instead of writing it to the table."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from contract.lake import QUARANTINE_FOLDER

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

BUCKET = "lake"


def prefix(table: str) -> str:
    """Return the prefix of what the job has put aside of a table of the lake."""
    return f"{QUARANTINE_FOLDER}/{table}/"


def count_quarantined(client: "S3Client", table: str) -> int:
    """Return how many events of a table of the lake are in quarantine, and of files that can't be read, a line each."""
    return sum(map(len, _lines(client, table, BUCKET)))


def entries(client: "S3Client", table: str, bucket: str = BUCKET) -> Iterator[list[dict[str, Any]]]:
    """Yield what the job says of each event that it has put aside of a table of the lake, an object at a time.

    A file that was set aside whole is left out: the entry beside it tells of it.
    """
    for lines in _lines(client, table, bucket):
        yield [json.loads(line) for line in lines]


def _lines(client: "S3Client", table: str, bucket: str) -> Iterator[list[bytes]]:
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix(table))
    names = {entry["Key"] for page in pages for entry in page.get("Contents", [])}
    for name in sorted(name for name in names if f"{name}.reason.json" not in names):
        body = client.get_object(Bucket=bucket, Key=name)["Body"]
        yield [line for line in body.iter_lines() if line.strip()]
