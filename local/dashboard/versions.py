"""What a commit changed in rows, from its files and those before them: for tables without a log."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow
import pyarrow.compute as pc

from contract.errors import UserError
from local.console import megabytes
from local.look.lake import Lake, LakeError
from local.query.instants import readable
from local.query.query import COMMIT, KEY

BATCH_ROWS = 8_192
# Prefix of Hudi's own columns.
_HUDIS = "_hoodie_"

Row = Mapping[str, str | None]


class UnreadError(UserError):
    """A commit's rows aren't read; one line says why."""


@dataclass(frozen=True, kw_only=True)
class Version:
    """A row written by a commit: its values as text before and after; None where it doesn't exist."""

    before: Row | None
    after: Row | None


@dataclass(frozen=True, kw_only=True)
class Written:
    """Result of reading a commit: its rows, and the bytes of its files."""

    versions: tuple[Version, ...]
    read_bytes: int


def read_versions(lake: Lake, *, since: str, instant: str, most_rows: int, most_bytes: int) -> Written:
    """Read at most `most_rows` rows that the commit of an instant has written; `since` is the previous commit.

    Raises UnreadError for files of more than `most_bytes` or when previous files are cleaned, and LakeError.
    """
    try:
        after_files, before_files = lake.changed_files(since, instant)
        size = sum(file.total_size_bytes() for file in (*after_files, *before_files))
        if size > most_bytes:
            raise UnreadError(f"its files have {megabytes(size, digits=0)}")
        after, keys = _written(lake.file_batches(after_files, instant, BATCH_ROWS), instant, most_rows)
        before = _former(lake.file_batches(before_files, since, BATCH_ROWS), [*after], keys, most_rows)
    except LakeError:
        _refuse_cleaned(lake, since)
        raise
    # After the reads: the cleaner may run in between.
    _refuse_cleaned(lake, since)
    versions = [Version(before=before.get(key), after=after.get(key)) for key in dict.fromkeys([*after, *before])]
    return Written(versions=tuple(versions[:most_rows]), read_bytes=size)


def _refuse_cleaned(lake: Lake, since: str) -> None:
    if readable(lake).oldest > since:
        raise UnreadError("the files before it are cleaned")


def _written(
    batches: Iterable[pyarrow.RecordBatch], instant: str, most_rows: int
) -> tuple[dict[str, Row], pyarrow.Array]:
    """Return the rows that the commit wrote, by key, and the keys of all rows in its files."""
    rows: dict[str, Row] = {}
    keys = [pyarrow.array([], pyarrow.string())]
    for batch in batches:
        keys.append(batch.column(KEY).cast(pyarrow.string()))
        if len(rows) < most_rows:
            rows |= _texts(batch.filter(pc.equal(batch.column(COMMIT), instant)).slice(0, most_rows))
    return rows, pyarrow.concat_arrays(keys)


def _former(
    batches: Iterable[pyarrow.RecordBatch], written: list[str], keys: pyarrow.Array, most_rows: int
) -> dict[str, Row]:
    """Return the previous versions of the written rows, and rows whose keys no longer exist."""
    rows: dict[str, Row] = {}
    wanted = pyarrow.array(written, pyarrow.string())
    gone = 0
    for batch in batches:
        of_batch = batch.column(KEY).cast(pyarrow.string())
        rows |= _texts(batch.filter(pc.is_in(of_batch, wanted)))
        if gone < most_rows:
            missing = _texts(batch.filter(pc.invert(pc.is_in(of_batch, keys))).slice(0, most_rows))
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
