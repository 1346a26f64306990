"""Events that the job has quarantined: how many, how many lately, and the newest with reason, origin and line."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from contract.states import QUARANTINED_MINUTES
from local.console import cut
from local.look.json_lines import BUCKET, OF_A_FILE, prefix

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

SHOWN = 20
LINE_CHARACTERS = 2_000
REASON_CHARACTERS = 500
# Read of a table's quarantine at most: a single file may hold a thousand lines of 16 MiB each.
MOST_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class QuarantinedLine:
    """One quarantined line: the reason, its file and line or offset, when (ISO 8601), and its text, cut when long."""

    table: str
    reason: str
    origin: str
    at: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Quarantined:
    """A table's quarantined events: those counted, whether these are all, and how many came lately.

    `newest`: the newest SHOWN, newest first. A file that was quarantined whole counts as one event.
    """

    events: int = 0
    all_counted: bool = True
    lately: int = 0
    newest: tuple[QuarantinedLine, ...] = ()

    def __str__(self) -> str:
        return f"{self.events}" if self.all_counted else f"{self.events} or more"


class Quarantine:
    """The quarantine of one lake table; each object is read once, the newest first, and MOST_BYTES at most."""

    def __init__(self, table: str, lake_name: str) -> None:
        self._table = table
        self._prefix = prefix(lake_name)
        self._read: dict[tuple[str, str], tuple[int, list[QuarantinedLine]]] = {}

    def read(self, client: "S3Client") -> Quarantined:
        """Raises boto3's errors."""
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=self._prefix)
        found = {entry["Key"]: entry for page in pages for entry in page.get("Contents", [])}
        wanted = [one for key, one in found.items() if f"{key}{OF_A_FILE}" not in found]
        since, left = datetime.now(UTC) - timedelta(minutes=QUARANTINED_MINUTES), MOST_BYTES
        events, lately, lines = 0, 0, list[QuarantinedLine]()
        for one in sorted(wanted, key=lambda one: one["LastModified"], reverse=True):
            if left <= 0:
                break
            known = one["Key"], one["ETag"]
            if known not in self._read:
                text = last_lines(client, one["Key"], one["Size"], left)
                self._read[known] = len(text), [entry(self._table, line) for line in text[-SHOWN:]]
            left -= one["Size"]
            count, read = self._read[known]
            events += count
            lately += count if one["LastModified"] >= since else 0
            lines += read
        newest = tuple(sorted(lines, key=lambda line: line.at, reverse=True)[:SHOWN])
        return Quarantined(events=events, all_counted=left >= 0, lately=lately, newest=newest)


def last_lines(client: "S3Client", key: str, size: int, most_bytes: int = MOST_BYTES) -> list[str]:
    """Return the lines of an object of `size` bytes; for a large one, those at its end. Raises boto3's errors."""
    if size <= most_bytes:
        body = client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
    else:
        body = client.get_object(Bucket=BUCKET, Key=key, Range=f"bytes={size - most_bytes}-")["Body"].read()
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
