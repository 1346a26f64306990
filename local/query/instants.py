"""Finds the instants of a table that can still be read: hudi-rs doesn't report files that the cleaner has removed.

It returns no rows, or half of them, without an error. So the timeline is read here: the state that the newest cleaning
kept or is about to keep, and the oldest commit that isn't archived.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

import fastavro
import pyarrow
from pyarrow import fs

from contract.errors import UserError
from local.look.lake import Lake, LakeError

_INSTANT = re.compile(r"\d{14}(\d{3})?\Z")
_TIMELINE = ".hoodie"
_FILE = re.compile(r"(?P<instant>\d{17})\.(?P<action>commit|deltacommit|replacecommit|clean)(?P<state>\.\w+)?\Z")
_FORMAT = "%Y%m%d%H%M%S"


class InstantError(UserError):
    """The value is no instant, or one that can't be read any more; one line says which can."""


@dataclass(frozen=True, kw_only=True)
class Readable:
    """The oldest and the newest instant of a table at which all its rows can be read; both as Hudi writes them."""

    oldest: str
    newest: str

    def check(self, instant: str, table: str) -> None:
        """Raise InstantError for an instant before the oldest."""
        if instant < self.oldest:
            raise InstantError(
                f"{table} can't be read as of {instant}: the cleaner may have removed what it was then, or it is from"
                f" before its first commit; from {self.oldest} on it is whole"
            )


def parse(text: str) -> str:
    """Return an instant as Hudi writes it, `yyyyMMddHHmmssSSS`, of that form or of ISO 8601; UTC without a zone.

    Raises InstantError for anything else.
    """
    if _INSTANT.match(text):
        return text.ljust(17, "0")
    try:
        # Without hyphens, Python would accept digits with other meanings, too.
        moment = datetime.fromisoformat(text if "-" in text else "")
    except ValueError:
        raise InstantError(
            f"{text!r} is no instant: give a commit's time such as 20260131235959000, or 2026-01-31T23:59:59Z"
        ) from None
    moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    return f"{moment.strftime(_FORMAT)}{moment.microsecond // 1000:03d}"


def readable(lake: Lake) -> Readable:
    """Return which instants can be read now. Raises LakeError when there is no table or it can't be checked."""
    try:
        files, folder = _files(lake)
        found = [match for path in files if (match := _FILE.match(path))]
        commits = sorted(match["instant"] for match in found if match["action"] != "clean" and not match["state"])
        kept = [_kept(files, f"{folder}/{_TIMELINE}/{name}") for name in _newest_cleanings(found)]
    except (OSError, ValueError, KeyError, TypeError, pyarrow.ArrowException) as error:
        raise LakeError(f"{lake.base_uri}: its timeline can't be read: {error}") from error
    if not commits:
        raise LakeError(f"{lake.base_uri} has no commit yet")
    # A cleaning that keeps versions, not commits, doesn't record since when: only the newest is certain.
    return Readable(oldest=max([commits[0], *(instant or commits[-1] for instant in kept)]), newest=commits[-1])


def _files(lake: Lake) -> tuple["_Timeline", str]:
    if lake.base_uri.startswith("s3://"):
        endpoint = lake.storage_options["aws_endpoint"]
        scheme, _, host = endpoint.partition("://")
        system: fs.FileSystem = fs.S3FileSystem(
            anonymous=True, scheme=scheme, endpoint_override=host, region=lake.storage_options["aws_region"]
        )
        folder = lake.base_uri.removeprefix("s3://")
    else:
        system, folder = fs.FileSystem.from_uri(lake.base_uri)
    return _Timeline(system, f"{folder}/{_TIMELINE}"), folder


class _Timeline:
    """The files of a timeline's folder: names and contents."""

    def __init__(self, system: fs.FileSystem, folder: str) -> None:
        self._system = system
        self._names = [entry.base_name for entry in system.get_file_info(fs.FileSelector(folder))]

    def __iter__(self) -> Any:
        return iter(self._names)

    def record(self, path: str) -> dict[str, Any]:
        """Return a file's single Avro record. Raises ValueError and OSError when it isn't one."""
        with self._system.open_input_file(path) as file:
            [record] = fastavro.reader(file)
        return cast(dict[str, Any], record)


def _newest_cleanings(found: Iterable[re.Match[str]]) -> list[str]:
    """Name the files of the newest completed cleaning, and of planned or running ones."""
    cleanings = [match for match in found if match["action"] == "clean"]
    done = {match["instant"] for match in cleanings if not match["state"]}
    planned = {match["instant"] for match in cleanings} - done
    return [*(f"{instant}.clean" for instant in sorted(done)[-1:]), *(f"{i}.clean.requested" for i in sorted(planned))]


def _kept(timeline: _Timeline, path: str) -> str:
    """Return the oldest commit that a cleaning keeps; empty where it doesn't record that."""
    record = timeline.record(path)
    if path.endswith(".requested"):
        return str((record["earliestInstantToRetain"] or {}).get("timestamp") or "")
    return str(record["earliestCommitToRetain"] or "")
