"""The last changes of a queried table: differences between one query and the next, from commits.

A query finds a row's current state, not when it changed, nor its states in between.
"""

import contextlib
import json
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice, pairwise
from typing import Any

import pyarrow
import pyarrow.compute as pc

from contract.errors import UserError
from contract.events import CREATE, DELETE, UPDATE
from local.console import megabytes
from local.dashboard.changes import SHOWN, Change, Row, change, text
from local.look.lake import Lake, LakeError, oldest_readable
from local.query.query import COMMIT, KEY
from local.state.history import Commit, Commits

BATCH_ROWS = 8_192
# Prefix of Hudi's own columns.
_HUDIS = "_hoodie_"
# The newest commits of a table are read: the cleaner keeps this many.
COMMITS = 10
# A commit with larger files isn't read.
MOST_BYTES = 32_000_000


class UnreadError(UserError):
    """A commit's rows aren't read; one line says why."""


class CommitChanges:
    """Follows one table; each commit's files are read once."""

    def __init__(self, table: str, lake: Lake, key: Sequence[str], commits: Commits) -> None:
        """`key`: its columns in the lake. `commits`: the table's, which others read."""
        self._table = table
        self._lake = lake
        self._key = tuple(key)
        self._commits = commits
        self._newest: list[Change] = []
        # Twice as many as one read uses: else a new commit would drop the very ones that it needs.
        self._of_commit = lru_cache(2 * COMMITS)(self._read_commit)

    def read(self) -> list[Change]:
        """Return the last changes, newest first, including those of new commits; the previous ones when that fails."""
        # A commit before the first mark is part of the first load.
        pairs = pairwise(reversed(self._commits.all))
        shown = ((former, commit) for commit, former in pairs if _rows(commit) and "mark" in _progress(former))
        found: list[Change] = []
        with contextlib.suppress(LakeError):
            for former, commit in islice(shown, COMMITS):
                if len(found) < SHOWN:
                    found += self._of_commit(former, commit)
            self._newest = found[:SHOWN]
        return self._newest

    def _read_commit(self, former: Commit, commit: Commit) -> list[Change]:
        # The job orders rows by the time of its query.
        at = float(_progress(commit).get("read_ms", commit.at * 1000)) / 1000
        try:
            found = read_versions(self._lake, since=former.instant, instant=commit.instant)
        except UnreadError as error:
            why, key = (("", "", f"not read: {error}"),), f"rows: {_rows(commit):,}"
            return [Change(table=self._table, what="written", key=key, at=at, columns=why)]
        return [
            change(self._table, one, {name: (after or before or {}).get(name) for name in self._key}, at, before, after)
            for one, before, after in found
        ]


def read_versions(lake: Lake, *, since: str, instant: str) -> list[tuple[str, Row | None, Row | None]]:
    """Read what the commit of an instant has done, before and after it, for SHOWN rows at most.

    `since` is the previous commit. Raises UnreadError for files of more than MOST_BYTES or when previous files are
    cleaned, and LakeError.
    """
    after, before, gone = dict[str, Row](), dict[str, Row](), dict[str, Row]()
    keys = [pyarrow.array([], pyarrow.string())]
    try:
        after_files, before_files = lake.changed_files(since, instant)
        size = sum(file.total_size_bytes() for file in (*after_files, *before_files))
        if size > MOST_BYTES:
            raise UnreadError(f"its files have {megabytes(size, digits=0)}")
        for batch in lake.file_batches(after_files, instant, BATCH_ROWS):
            keys.append(batch.column(KEY).cast(pyarrow.string()))
            after |= _texts(batch.filter(pc.equal(batch.column(COMMIT), instant)), SHOWN - len(after))
        there, known = pyarrow.concat_arrays(keys), pyarrow.array([*after], pyarrow.string())
        for batch in lake.file_batches(before_files, since, BATCH_ROWS):
            of_batch = batch.column(KEY).cast(pyarrow.string())
            before |= _texts(batch.filter(pc.is_in(of_batch, known)), SHOWN)
            gone |= _texts(batch.filter(pc.invert(pc.is_in(of_batch, there))), SHOWN - len(gone))
    finally:
        # After the reads: the cleaner may run in between, and is then what a read fails of.
        if oldest_readable(lake) > since:
            raise UnreadError("the files before it are cleaned")
    written = [(UPDATE if key in before else CREATE, before.get(key), row) for key, row in after.items()]
    return [*written, *((DELETE, row, None) for row in gone.values())][:SHOWN]


def _texts(batch: pyarrow.RecordBatch, most: int) -> dict[str, Row]:
    """Return a batch's first rows by key, their values as text."""
    batch = batch.slice(0, most)
    names = [name for name in batch.schema.names if not name.startswith(_HUDIS)]
    rows = zip(*(_column(batch.column(name)) for name in names), strict=True)
    return dict(zip(batch.column(KEY).to_pylist(), (dict(zip(names, row, strict=True)) for row in rows), strict=True))


def _column(values: pyarrow.Array) -> list[str | None]:
    """Write values as text: with Arrow, whose times exceed Python's range, or as JSON where Arrow has no text."""
    try:
        return values.cast(pyarrow.string()).to_pylist()  # type: ignore[no-any-return]
    except pyarrow.ArrowException:
        return [value.hex() if isinstance(value, bytes) else text(value) for value in values.to_pylist()]


def _progress(commit: Commit) -> dict[str, Any]:
    """Return a commit's progress entries (spark_jobs/sources/postgres/detection.py)."""
    return dict(json.loads(commit.progress))


def _rows(commit: Commit) -> int:
    return commit.inserted + commit.updated + commit.deleted
