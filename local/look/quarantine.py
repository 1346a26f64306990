"""Reads what the job has quarantined instead of writing it to the table."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from contract.lake import QUARANTINE_FOLDER
from local.look.json_lines import keys, lines

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

BUCKET = "lake"
# Suffix of an entry about a whole file, which is stored next to it without this suffix.
OF_A_FILE = ".reason.json"


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
