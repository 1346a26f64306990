"""The last changes of queried tables: differences between one query and the next, from commits.

A query finds a row's current state, not when it changed, nor its states in between.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any

import pyarrow
import pyarrow.compute as pc

from contract.errors import UserError
from contract.events import CREATE, DELETE, UPDATE
from local.console import megabytes
from local.dashboard.changes import COLUMNS, SHOWN, WORDS, Change, differing, key_text
from local.look.lake import Lake, LakeError, readable
from local.query.query import COMMIT, KEY
from local.state.history import Commit

BATCH_ROWS = 8_192
# Prefix of Hudi's own columns.
_HUDIS = "_hoodie_"

Row = Mapping[str, str | None]
# A row's values as text before and after a commit; None where it doesn't exist.
Version = tuple[Row | None, Row | None]
# The newest commits of a table are read: the cleaner keeps this many.
COMMITS = 10
# A commit with larger files isn't read.
MOST_BYTES = 32_000_000


class UnreadError(UserError):
    """A commit's rows aren't read; one line says why."""


def read_versions(lake: Lake, *, since: str, instant: str) -> list[Version]:
    """Read SHOWN rows at most that the commit of an instant has written; `since` is the previous commit.

    Raises UnreadError for files of more than MOST_BYTES or when previous files are cleaned, and LakeError.
    """
    try:
        after_files, before_files = lake.changed_files(since, instant)
        size = sum(file.total_size_bytes() for file in (*after_files, *before_files))
        if size > MOST_BYTES:
            raise UnreadError(f"its files have {megabytes(size, digits=0)}")
        after, keys = _written(lake.file_batches(after_files, instant, BATCH_ROWS), instant)
        before = _former(lake.file_batches(before_files, since, BATCH_ROWS), [*after], keys)
    except LakeError:
        _refuse_cleaned(lake, since)
        raise
    # After the reads: the cleaner may run in between.
    _refuse_cleaned(lake, since)
    return [(before.get(key), after.get(key)) for key in dict.fromkeys([*after, *before])][:SHOWN]


def _refuse_cleaned(lake: Lake, since: str) -> None:
    if readable(lake).oldest > since:
        raise UnreadError("the files before it are cleaned")


def _written(batches: Iterable[pyarrow.RecordBatch], instant: str) -> tuple[dict[str, Row], pyarrow.Array]:
    """Return the rows that the commit wrote, by key, and the keys of all rows in its files."""
    rows: dict[str, Row] = {}
    keys = [pyarrow.array([], pyarrow.string())]
    for batch in batches:
        keys.append(batch.column(KEY).cast(pyarrow.string()))
        if len(rows) < SHOWN:
            rows |= _texts(batch.filter(pc.equal(batch.column(COMMIT), instant)).slice(0, SHOWN))
    return rows, pyarrow.concat_arrays(keys)


def _former(batches: Iterable[pyarrow.RecordBatch], written: list[str], keys: pyarrow.Array) -> dict[str, Row]:
    """Return the previous versions of the written rows, and rows whose keys no longer exist."""
    rows: dict[str, Row] = {}
    wanted = pyarrow.array(written, pyarrow.string())
    gone = 0
    for batch in batches:
        of_batch = batch.column(KEY).cast(pyarrow.string())
        rows |= _texts(batch.filter(pc.is_in(of_batch, wanted)))
        if gone < SHOWN:
            missing = _texts(batch.filter(pc.invert(pc.is_in(of_batch, keys))).slice(0, SHOWN))
            gone += len(missing)
            rows |= missing
    return rows


def _texts(batch: pyarrow.RecordBatch) -> dict[str, Row]:
    """Return a batch's rows by key, their values as text."""
    names = [name for name in batch.schema.names if not name.startswith(_HUDIS)]
    columns = [_column(batch.column(name)) for name in names]
    rows = (dict(zip(names, (column[row] for column in columns), strict=True)) for row in range(batch.num_rows))
    return dict(zip(batch.column(KEY).to_pylist(), rows, strict=True))


def _column(values: pyarrow.Array) -> list[str | None]:
    """Write values as text: with Arrow, whose times exceed Python's range, or as JSON where Arrow has no text."""
    try:
        return values.cast(pyarrow.string()).to_pylist()  # type: ignore[no-any-return]
    except pyarrow.ArrowException:
        return [None if value is None else _json(value) for value in values.to_pylist()]


def _json(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False, default=str)


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
        for former, commit in newest:
            if len(self.newest) < SHOWN and commit.instant not in self._read:
                self._take(former, commit)
        return self.newest

    @property
    def newest(self) -> list[Change]:
        """The last changes read, newest first."""
        commits = sorted(self._read, reverse=True)
        return [change for instant in commits for change in self._read[instant]][:SHOWN]

    def _take(self, former: Commit, commit: Commit) -> None:
        try:
            found = read_versions(self._lake, since=former.instant, instant=commit.instant)
        except UnreadError as error:
            self._read[commit.instant] = [self._unread(commit, str(error))]
        else:
            self._read[commit.instant] = [self._change(commit, number, *one) for number, one in enumerate(found)]

    def _unread(self, commit: Commit, why: str) -> Change:
        unread = (("", "", f"not read: {why}"),)
        return self._made(commit, 0, "written", f"rows: {_rows(commit):,}", unread)

    def _change(self, commit: Commit, number: int, before: Row | None, after: Row | None) -> Change:
        row = after or before or {}
        operation = DELETE if after is None else CREATE if before is None else UPDATE
        key = key_text({name: row.get(name) for name in self._key})
        return self._made(commit, number, WORDS[operation], key, differing(before, after))

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
