"""Counts what the job has put aside instead of writing it to the table."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

BUCKET = "lake"
PREFIX = "_quarantine/cdc_events/"


def count_quarantined(client: "S3Client") -> int:
    """Return how many events are in quarantine: one JSON line each."""
    count = 0
    for page in client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=PREFIX):
        for entry in page.get("Contents", []):
            body = client.get_object(Bucket=BUCKET, Key=entry["Key"])["Body"]
            count += sum(1 for line in body.iter_lines() if line.strip())
    return count
