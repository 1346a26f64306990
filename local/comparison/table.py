"""A comparison's subject: a source table, its lake table, and the columns of both."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from local.comparison.rows import ComparedColumn, lake_row, source_row
from local.look.lake import Lake


@dataclass(frozen=True, kw_only=True)
class ComparedTable:
    """A table as both sides have it. `key` names source columns; without one, rows are compared as a multiset.

    `partitioned`: the rows are in partitions; otherwise tables that inherit from it are separate. `rows_of`: the FROM
    item where rows aren't just a table's own: a view's, a query's, or with inheriting tables. `missing`: columns that
    the lake's table lacks; `unlike`: columns whose lake type can't be compared. `specials`: the lake's column for
    values that other columns can't hold. `salt` is prepended to values that the pipeline hashes. `notes`: what isn't
    compared, and why.
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
    specials: str | None = None
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
        names = [column.lake_name for column in self.columns]
        return [*names, self.specials] if self.specials else names


def source_sha256(text: str) -> str:
    """Write PostgreSQL's SHA-256 of a text, in hexadecimal, independent of the database's encoding."""
    return f"encode(sha256(convert_to({text}, 'UTF8')), 'hex')"


def quoted(name: str) -> str:
    """Quote a name for SQL, whatever characters it has; PostgreSQL and DuckDB quote alike."""
    return '"' + name.replace('"', '""') + '"'
