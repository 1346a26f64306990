"""Reads objects of JSON lines: landed events and quarantine entries."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def keys(client: "S3Client", bucket: str, prefix: str) -> list[str]:
    """Return the keys of all objects under a prefix, sorted."""
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    return sorted(entry["Key"] for page in pages for entry in page.get("Contents", []))


def lines(client: "S3Client", bucket: str, key: str) -> list[bytes]:
    """Return an object's lines, without blank ones."""
    return [line for line in client.get_object(Bucket=bucket, Key=key)["Body"].iter_lines() if line.strip()]
