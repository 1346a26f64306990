"""Reads what the job has put aside instead of writing it to the table."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from contract.lake import QUARANTINE_FOLDER
from local.look.json_lines import keys, lines

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

BUCKET = "lake"
# An entry about a whole file, which lies there without this ending.
OF_A_FILE = ".reason.json"


def prefix(table: str) -> str:
    """Return the prefix of what the job has put aside of a table of the lake."""
    return f"{QUARANTINE_FOLDER}/{table}/"


def count_quarantined(client: "S3Client", table: str) -> int:
    """Return how many events of a table of the lake are in quarantine, and of files that can't be read, a line each."""
    return sum(map(len, _lines(client, table, BUCKET)))


def entries(client: "S3Client", table: str, bucket: str = BUCKET) -> Iterator[list[dict[str, Any]]]:
    """Yield what the job says of each event that it has put aside of a table of the lake, an object at a time.

    A file that was set aside whole is left out: its entry describes it.
    """
    for found in _lines(client, table, bucket):
        yield [json.loads(line) for line in found]


def _lines(client: "S3Client", table: str, bucket: str) -> Iterator[list[bytes]]:
    found = set(keys(client, bucket, prefix(table)))
    for key in sorted(key for key in found if f"{key}{OF_A_FILE}" not in found):
        yield lines(client, bucket, key)
