"""Counts what the job has put aside instead of writing it to the table."""

from typing import TYPE_CHECKING

from contract.lake import QUARANTINE_FOLDER

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

BUCKET = "lake"


def prefix(table: str) -> str:
    """Return the prefix of what the job has put aside of a table of the lake."""
    return f"{QUARANTINE_FOLDER}/{table}/"


def count_quarantined(client: "S3Client", table: str) -> int:
    """Return how many events of a table of the lake are in quarantine, and of files that can't be read, a line each."""
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix(table))
    names = {entry["Key"] for page in pages for entry in page.get("Contents", [])}
    count = 0
    for name in names:
        if f"{name}.reason.json" in names:
            continue  # a whole file, as it was
        body = client.get_object(Bucket=BUCKET, Key=name)["Body"]
        count += sum(1 for line in body.iter_lines() if line.strip())
    return count
