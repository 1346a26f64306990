"""Events that the job has quarantined: reasons, origin, and the original line."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from local.dashboard.changes import cut
from local.look.json_lines import BUCKET, OF_A_FILE, prefix

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

SHOWN = 20
LINE_CHARACTERS = 2_000
REASON_CHARACTERS = 500
# Bytes read from a file's end: it may hold a thousand lines of 16 MiB each.
MOST_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class QuarantinedLine:
    """One quarantined line: the reason, its file and line or offset, when (ISO 8601), and its text, cut when long."""

    table: str
    reason: str
    origin: str
    at: str
    text: str


class Quarantine:
    """The quarantine of one lake table; each object is read once."""

    def __init__(self, table: str, lake_name: str) -> None:
        self._table = table
        self._prefix = prefix(lake_name)
        self._read: dict[tuple[str, str], list[QuarantinedLine]] = {}

    def read(self, client: "S3Client") -> list[QuarantinedLine]:
        """Return the newest lines, newest first. Raises boto3's errors."""
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=self._prefix)
        found = {entry["Key"]: entry for page in pages for entry in page.get("Contents", [])}
        wanted = [(key, one["ETag"]) for key, one in found.items() if f"{key}{OF_A_FILE}" not in found]
        for key, tag in wanted[-SHOWN:]:
            if (key, tag) not in self._read:
                lines = last_lines(client, key, found[key]["Size"])
                self._read[key, tag] = [entry(self._table, line) for line in lines[-SHOWN:]]
        return newest([line for one in wanted for line in self._read.get(one, [])])


def newest(lines: list[QuarantinedLine]) -> list[QuarantinedLine]:
    return sorted(lines, key=lambda line: line.at, reverse=True)[:SHOWN]


def last_lines(client: "S3Client", key: str, size: int) -> list[str]:
    """Return the lines of an object of `size` bytes; for a large one, those at its end. Raises boto3's errors."""
    if size <= MOST_BYTES:
        body = client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
    else:
        body = client.get_object(Bucket=BUCKET, Key=key, Range=f"bytes={size - MOST_BYTES}-")["Body"].read()
        # The first line has lost its beginning; a line larger than everything read is shown by its end.
        body = body.partition(b"\n")[2] or body
    return [line for line in body.decode(errors="replace").split("\n") if line.strip()]


def entry(table: str, line: str) -> QuarantinedLine:
    """Parse a line of a quarantine file (spark_jobs/table/quarantine.py); any other line is returned as it is."""
    try:
        found = json.loads(line)
        where = next((f", {name} {found[name]}" for name in ("line", "offset") if name in found), "")
        text = str(found.get("text") or found.get("file") or "")
        return QuarantinedLine(
            table=table,
            reason=cut(str(found["reason"]), REASON_CHARACTERS),
            origin=cut(f"{found['origin']}{where}", REASON_CHARACTERS),
            at=str(found.get("quarantined_at", "")),
            text=text[:LINE_CHARACTERS],
        )
    except (ValueError, LookupError, TypeError, AttributeError):
        return QuarantinedLine(table=table, reason="unreadable", origin="", at="", text=line[:LINE_CHARACTERS])
