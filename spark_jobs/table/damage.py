"""Finds a table's losses: its timeline, a commit, or data files. Hudi would continue to write, with wrong rows."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from spark_jobs.errors import JobError
from spark_jobs.runtime.hadoop import Hadoop
from spark_jobs.table.timeline import Timeline

# Base files, `<file id>_<token>_<instant>.parquet`, and logs, `.<file id>_<instant of the base file>.log.<…>`.
_DATA_FILE = re.compile(r"(?:[^.].*_(\d+)\.(?:parquet|orc|hfile)|\..+_(\d+)\.log\.\d+.*)")
_INSTANT = re.compile(r"/\.hoodie/(\d+)\.[^/]+")


@dataclass(frozen=True)
class _Found:
    """The content of a table's path: the instant of each data file by its name, and the timeline's instants."""

    files: dict[str, str] = field(default_factory=dict)
    instants: set[str] = field(default_factory=set)


def refuse_data_without_timeline(hadoop: Hadoop, path: str) -> None:
    """Raise JobError when a folder without a timeline has data files: their rows would be written a second time."""
    if files := _found(hadoop.files_in(path)).files:
        raise damaged(path, f"its .hoodie is missing, {len(files)} data files are there")


def refuse_damage(timeline: Timeline, hadoop: Hadoop, path: str) -> None:
    """Raise JobError when the table lacks a commit of its files, or a file of its commits.

    Files that only archived commits name are not checked.
    """
    found = _found(hadoop.files_in(path))
    commits = [(instant, json.loads(details)) for instant, details in timeline.active()]
    first = min((instant for instant, _ in commits), default="")
    lost = {instant for instant in found.files.values() if instant >= first} - found.instants
    # A task that outlives its commit may write a file after the rollback.
    if lost and (lost := lost - timeline.rolled_back()):
        raise damaged(path, f"commit {min(lost)} isn't in its timeline, data files of it are there")
    seen: set[str] = set()
    for instant, details in commits:
        replaced = details.get("partitionToReplaceFileIds") or {}
        seen |= {file_id for file_ids in replaced.values() for file_id in file_ids}
        stats = [stat for each in (details.get("partitionToWriteStats") or {}).values() for stat in each]
        newest = [stat for stat in stats if stat.get("path") and stat["fileId"] not in seen]
        if gone := sorted(str(stat["path"]) for stat in newest if _name(stat["path"]) not in found.files):
            raise damaged(path, f"data file {gone[0]} of commit {instant} is missing")
        seen |= {stat["fileId"] for stat in newest}


def _found(paths: Iterable[str]) -> _Found:
    found = _Found()
    for path in paths:
        if instant := _INSTANT.search(path):
            found.instants.add(instant[1])
        elif "/.hoodie/" not in path and (data := _DATA_FILE.fullmatch(_name(path))):
            found.files[_name(path)] = data[1] or data[2]
    return found


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def damaged(path: str, what: str) -> JobError:
    """Return the error with a table's losses, and the remedy."""
    return JobError(
        f"{path} is damaged: {what}; nothing was written. Move the folder away, then `./lake resnapshot` fills a new"
        " one "
        "(docs/your-database/repair.md)"
    )
