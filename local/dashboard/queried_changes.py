"""The last changes of queried tables: differences between one query and the next, from commits.

A query finds a row's current state, not when it changed, nor its states in between.
"""

import json
from collections.abc import Sequence
from itertools import islice, pairwise
from typing import Any

from contract.events import CREATE, DELETE, UPDATE
from local.dashboard.changes import COLUMNS, SHOWN, WORDS, Change, differing, key_text
from local.dashboard.history import Commit
from local.dashboard.versions import UnreadError, Version, read_versions
from local.look.lake import Lake

# The newest commits of a table are read: the cleaner keeps this many.
COMMITS = 10
# After this many bytes, a poll starts no further commit of a table; a commit with larger files isn't read at all.
MOST_BYTES = 32_000_000


class QueriedChanges:
    """Follows one table; each commit's files are read once."""

    def __init__(self, table: str, lake: Lake, key: Sequence[str]) -> None:
        """`key`: its columns in the lake."""
        self._table = table
        self._lake = lake
        self._key = tuple(key)
        self._read: dict[str, list[Change]] = {}

    def read(self, commits: Sequence[Commit]) -> list[Change]:
        """Return the last changes, newest first, including those of new commits; `commits` are all, oldest first.

        Raises LakeError when a commit can't be read.
        """
        pairs = pairwise(reversed(commits))
        shown = ((former, commit) for commit, former in pairs if _rows(commit) and is_loaded(former.progress))
        newest = list(islice(shown, COMMITS))
        instants = {commit.instant for _, commit in newest}
        self._read = {instant: found for instant, found in self._read.items() if instant in instants}
        left = MOST_BYTES
        for former, commit in newest:
            if len(self.newest) >= SHOWN or left <= 0:
                break
            if commit.instant not in self._read:
                left -= self._take(former, commit)
        return self.newest

    @property
    def newest(self) -> list[Change]:
        """The last changes read, newest first."""
        commits = sorted(self._read, reverse=True)
        return [change for instant in commits for change in self._read[instant]][:SHOWN]

    def _take(self, former: Commit, commit: Commit) -> int:
        """Read a commit's changes; return the bytes read."""
        since, instant = former.instant, commit.instant
        try:
            found = read_versions(self._lake, since=since, instant=instant, most_rows=SHOWN, most_bytes=MOST_BYTES)
        except UnreadError as error:
            self._read[instant] = [self._unread(commit, str(error))]
            return 0
        self._read[instant] = [self._change(commit, *one) for one in enumerate(found.versions)]
        return found.read_bytes

    def _unread(self, commit: Commit, why: str) -> Change:
        unread = (("", "", f"not read: {why}"),)
        return self._made(commit, 0, "written", f"rows: {_rows(commit):,}", unread)

    def _change(self, commit: Commit, number: int, version: Version) -> Change:
        row = version.after or version.before or {}
        operation = DELETE if version.after is None else CREATE if version.before is None else UPDATE
        key = key_text({name: row.get(name) for name in self._key})
        return self._made(commit, number, WORDS[operation], key, differing(version.before, version.after))

    def _made(
        self, commit: Commit, number: int, what: str, key: str, columns: tuple[tuple[str, str, str], ...]
    ) -> Change:
        return Change(
            table=self._table,
            offset=-number,
            what=what,
            key=key,
            at=_looked_at(commit),
            columns=columns[:COLUMNS],
            more=max(len(columns) - COLUMNS, 0),
            seen=True,
        )


def is_loaded(progress: str) -> bool:
    """Tell whether all rows had been read by then: an earlier commit is part of the first load."""
    return "mark" in _entries(progress)


def _looked_at(commit: Commit) -> float:
    """Return when the job queried the table, in seconds since 1970: it orders rows by this."""
    return float(_entries(commit.progress).get("read_ms", commit.at * 1000)) / 1000


def _entries(progress: str) -> dict[str, Any]:
    """Return a commit's progress entries (spark_jobs/sources/postgres/detection.py)."""
    found = json.loads(progress)
    return found if isinstance(found, dict) else {}


def _rows(commit: Commit) -> int:
    return commit.inserted + commit.updated + commit.deleted
