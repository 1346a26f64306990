"""Writes a row as one text, identical from PostgreSQL, DuckDB and Python: the input of a comparison's hashes.

A column's canonical text comes from its `Spelling` (contract/column_types/canonical.py). Here texts are joined so
that no two rows share a text: one character separates columns, another stands for NULL, and both are escaped inside
texts.
"""

import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from contract.column_types.catalogue import Carried, quoted
from contract.events import OPERATION, SPECIALS_COLUMN
from local.look.lake import Lake

SEPARATOR = "\x01"
ESCAPE = "\x02"
NULL = f"{ESCAPE}0"
# Chunks are numbered by this many leading bits of the SHA-256 of a key's text.
CHUNK_BITS = 16
# Sums of hashes are modulo 2^64.
HALF = 1 << 64


class Row(NamedTuple):
    """A row: its key's text as an engine writes it, the text that matches both sides' rows, and its hash or text.

    `version`: differs after each change of the source's row, even one that restores an earlier state.
    """

    key: str
    id: str
    value: str
    version: str = ""


@dataclass(frozen=True, slots=True)
class Sum:
    """Rows of a chunk, and the sums of both halves of their hashes modulo 2^64."""

    rows: int = 0
    high: int = 0
    low: int = 0

    def __add__(self, other: "Sum") -> "Sum":
        return Sum(self.rows + other.rows, (self.high + other.high) % HALF, (self.low + other.low) % HALF)


Sums = dict[int, Sum]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFilter:
    """Selects rows: those of `chunks` (their numbers, of 2^bits), those of `keys` (texts), or all.

    `suspected`: of these, only keys in the lake engine's table of suspected keys; other rows may be included.
    """

    bits: int = 0
    chunks: Collection[int] | None = None
    keys: Sequence[str] | None = None
    suspected: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedColumn:
    """A column of both sides: its name on each. `spelled` writes its canonical text on both.

    `hash_digits`: number of digits that the lake keeps of the salted SHA-256, 0: the plain value. `tidy` brings two
    spellings of one value together, and no two values.
    `value_sql` turns a text `{t}` back into PostgreSQL's value, to look up a key; None where only a scan can find it.
    `any_sign`: the text may hold any character; numbers can't, and skip the escapes, which are slow.
    """

    name: str
    lake_name: str
    spelled: Carried
    value_sql: str | None = None
    hash_digits: int = 0
    any_sign: bool = True
    tidy: Callable[[str], str] = str

    @property
    def source_sql(self) -> str:
        """PostgreSQL's expression for the column's part of the row's text, before any hashing here."""
        text = f"({self.spelled.source_sql(self.name)})"
        # C: replace() rejects columns whose collation treats different texts as equal.
        return _escaped(f'({text} COLLATE "C")') if self.any_sign else text

    @property
    def lake_sql(self) -> str:
        text = f"({self.spelled.lake_sql(self.lake_name)})"
        return _escaped(text) if self.any_sign else text


def _escaped(text: str) -> str:
    return f"replace(replace({text}, chr(2), chr(2) || '2'), chr(1), chr(2) || '1')"


def source_row(columns: Sequence[ComparedColumn]) -> str:
    """Write PostgreSQL's expression for the row's text. An array, since functions take at most 100 arguments."""
    texts = ", ".join(column.source_sql for column in columns)
    return f"array_to_string(ARRAY[{texts}]::text[], chr(1), chr(2) || '0')"


def lake_row(columns: Sequence[ComparedColumn]) -> str:
    texts = ", chr(1), ".join(f"coalesce({column.lake_sql}, chr(2) || '0')" for column in columns)
    return f"concat({texts})" if texts else "''"


def join(texts: Sequence[str | None]) -> str:
    escaped = (text and text.replace(ESCAPE, f"{ESCAPE}2").replace(SEPARATOR, f"{ESCAPE}1") for text in texts)
    return SEPARATOR.join(NULL if text is None else text for text in escaped)


def split(row: str) -> list[str | None]:
    texts = (None if text == NULL else text for text in row.split(SEPARATOR))
    return [text and text.replace(f"{ESCAPE}1", SEPARATOR).replace(f"{ESCAPE}2", ESCAPE) for text in texts]


def tidy(row: str, columns: Sequence[ComparedColumn]) -> str:
    """Return the row's text with one spelling per value, whichever engine wrote it."""
    texts = zip(split(row), columns, strict=True)
    return join([None if text is None else column.tidy(text) for text, column in texts])


def differing(one: str, other: str, columns: Sequence[ComparedColumn]) -> list[str]:
    pairs = zip(columns, split(one), split(other), strict=True)
    return [column.name for column, here, there in pairs if here != there]


def with_hashes(row: str, columns: Sequence[ComparedColumn], salt: bytes) -> str:
    """Return the source's row with values hashed as the source connector hashes them."""
    texts = zip(split(row), columns, strict=True)
    return join(
        [
            digest(text, salt)[: column.hash_digits] if column.hash_digits and text is not None else text
            for text, column in texts
        ]
    )


def digest(text: str, salt: bytes = b"") -> str:
    return hashlib.sha256(salt + text.encode()).hexdigest()


def chunk(key: str, bits: int) -> int:
    """Return the chunk number of a key's text, of 2^bits."""
    return int(digest(key)[:4], 16) >> (CHUNK_BITS - bits)


@dataclass(frozen=True, kw_only=True)
class ComparedTable:
    """A table as both sides have it. `key` names source columns; without one, rows are compared as a multiset.

    `partitioned`: the rows are in partitions; otherwise tables that inherit from it are separate. `rows_of`: the FROM
    item where rows aren't just a table's own: a view's, a query's, or with inheriting tables. `missing`: columns that
    the lake's table lacks; `unlike`: columns whose lake type can't be compared. `salt` is prepended to values that the
    pipeline hashes. `notes`: what isn't compared, and why.
    """

    schema: str
    name: str
    lake: Lake
    columns: tuple[ComparedColumn, ...]
    key: tuple[str, ...]
    partitioned: bool = False
    rows_of: str | None = None
    missing: tuple[ComparedColumn, ...] = ()
    unlike: tuple[ComparedColumn, ...] = ()
    salt: bytes = field(default=b"", repr=False)
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return f"{self.schema}.{self.name}"

    @property
    def keys(self) -> Sequence[ComparedColumn]:
        """The key's columns in order; empty without a key."""
        by_name = {column.name: column for column in self.columns}
        return [by_name[name] for name in self.key]

    @property
    def hashes(self) -> bool:
        """Whether a column travels hashed: PostgreSQL doesn't get the salt, so those rows are hashed here."""
        return any(column.hash_digits for column in self.columns)

    @property
    def relation(self) -> str:
        return f"{quoted(self.schema)}.{quoted(self.name)}"

    @property
    def source_from(self) -> str:
        """PostgreSQL's FROM: the table with its partitions, without inheriting tables."""
        if self.rows_of is not None:
            return f"{self.rows_of} AS t"
        return f"{self.relation} AS t" if self.partitioned else f"ONLY {self.relation} AS t"

    @property
    def source_row(self) -> str:
        return source_row(self.columns)

    @property
    def source_key(self) -> str:
        """PostgreSQL's expression for a key's text; without a key it is the row's hash."""
        return source_row(self.keys) if self.key else source_sha256(self.source_row)

    @property
    def lake_row(self) -> str:
        return lake_row(self.columns)

    @property
    def lake_key(self) -> str:
        """DuckDB's expression for a key's text; without a key it is the row's hash."""
        return lake_row(self.keys) if self.key else f"sha256({self.lake_row})"

    @property
    def lake_columns(self) -> list[str]:
        """The columns to read: also that of special values and, where every event is a row, of its operation."""
        others = (SPECIALS_COLUMN,) if self.key else (SPECIALS_COLUMN, OPERATION)
        return [*(column.lake_name for column in self.columns), *others]


def source_sha256(text: str) -> str:
    """Write PostgreSQL's SHA-256 of a text, in hexadecimal, independent of the database's encoding."""
    return f"encode(sha256(convert_to({text}, 'UTF8')), 'hex')"
