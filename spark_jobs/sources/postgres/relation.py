"""SQL for the rows of one table, view or query: which of them changed, in which parts, and their keys."""

# ruff: noqa: S608  # names and texts are quoted

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from contract.column_types.catalogue import quoted
from spark_jobs.options.jdbc_settings import JdbcSettings
from spark_jobs.sources.postgres.access import Look
from spark_jobs.sources.postgres.event_sql import SourceColumn, literal, row_sql

# Hexadecimal digits that identify a share of a view's keys; each share has a digest.
SHARES, DIGITS = 256, 16
_NO_ROWS = "-" * DIGITS
ALL = "true"
Key = tuple[str, ...]


@dataclass(frozen=True)
class Seen:
    """A look's result: how many rows there are, how many changed, their size, and a digest of those."""

    rows: int | None
    changed: int
    size: int
    digest: str


@dataclass(frozen=True, kw_only=True)
class Relation:
    """A table, view or query: the columns in its events, and those of its key, which may be known to be unique."""

    settings: JdbcSettings
    columns: tuple[SourceColumn, ...]
    key: tuple[SourceColumn, ...]
    is_unique: bool
    # The FROM clause's source, where it is only a part of the table.
    part: str | None = None

    @property
    def source(self) -> str:
        return self.part or source_of(self.settings)

    def lines(self, condition: str, metadata: Mapping[str, str | int]) -> str:
        return self.select(f"{row_sql(self.columns, metadata)} AS line", condition)

    def select(self, expressions: str, condition: str) -> str:
        return f"SELECT {expressions} FROM {self.source} WHERE {condition}"

    def exists(self, condition: str) -> str:
        """Write the expression that tells whether a row meets a condition."""
        return f"EXISTS (SELECT FROM {self.source} WHERE {condition})"

    def key_lines(self, condition: str) -> str:
        return self.select(f"{row_sql(self.key)} AS line", condition)

    def seen(self, look: Look, condition: str, rows: int | None = None) -> Seen:
        """Summarize the rows that meet a condition; `rows` is the total number."""
        found = look.text(
            "SELECT json_build_array(count(*), coalesce(sum(octet_length(r)), 0),"
            " coalesce(sum(hashtextextended(r, 0)), 0)::text)::text"
            f" FROM (SELECT {self._row()} AS r FROM {self.source} WHERE {condition}) AS q"
        )
        changed, size, digest = json.loads(str(found))
        return Seen(rows, int(changed), int(size), digest)

    def counted(self, look: Look, condition: str) -> tuple[int, int]:
        """Return the total number of rows, and how many meet a condition: a third of a digest's cost."""
        found = look.text(
            f"SELECT json_build_array(count(*), count(*) FILTER (WHERE {condition}))::text FROM {self.source}"
        )
        rows, changed = json.loads(str(found))
        return int(rows), int(changed)

    def digests(self, look: Look) -> tuple[str, int]:
        """Return the digests of all shares of the keys, in order, and the number of rows."""
        text = look.text(
            f"WITH found AS (SELECT share, count(*) AS n, left(md5(concat_ws(' ', count(*), sum(h))), {DIGITS}) AS d"
            f" FROM (SELECT {self._share()} AS share, hashtextextended({self._row()}, 0) AS h FROM {self.source}) AS q"
            f" GROUP BY share) SELECT json_build_array((SELECT string_agg(coalesce(d, '{_NO_ROWS}'), '' ORDER BY i)"
            f" FROM generate_series(0, {SHARES - 1}) AS i LEFT JOIN found ON share = i),"
            " (SELECT coalesce(sum(n), 0)::bigint FROM found))::text"
        )
        digests, rows = json.loads(str(text))
        return str(digests), int(rows)

    def of_other_shares(self, before: str, now: str) -> str:
        """Write the condition of rows in the shares of keys whose `digests` differ."""
        places = {share: slice(share * DIGITS, (share + 1) * DIGITS) for share in range(SHARES)}
        shares = [str(share) for share, place in places.items() if before[place] != now[place]]
        return f"{self._share()} IN ({', '.join(shares)})" if shares else "false"

    @property
    def has_key(self) -> str:
        return " AND ".join(f"{_of(column)} IS NOT NULL" for column in self.key)

    def parts(self, look: Look, condition: str, after: Key | None, *, most: int) -> tuple[int, list[Key]]:
        """Divide the next `most` rows behind a key among readers.

        Returns the number of these rows, and the last key of each part but the last; the last part's, too, when there
        are `most`, since more may follow. A row of a view whose key is null comes after no key, and is in no part.
        """
        step = max(-(-most // self.settings.readers), 1)
        order = ", ".join(map(_of, self.key))
        names = [f"k{place}" for place in range(len(self.key))]
        given = ", ".join(f"{_of(column)} AS {name}" for column, name in zip(self.key, names, strict=True))
        text = look.text(
            f"SELECT json_build_array(count(*), json_agg(json_build_array({', '.join(f'concat({n})' for n in names)})"
            f" ORDER BY n) FILTER (WHERE n % {step} = 0 OR n = {most}))::text"
            f" FROM (SELECT row_number() OVER (ORDER BY {order}) AS n, {given} FROM {self.source}"
            f" WHERE {condition} AND {self.between(after, None)} AND {self.has_key} ORDER BY {order} LIMIT {most}) AS q"
        )
        count, bounds = json.loads(str(text))
        return int(count), [tuple(bound) for bound in bounds or ()]

    def digest(self, look: Look, key: Key) -> str:
        """Return a key's name in the progress."""
        return str(look.text(f"SELECT hashtextextended(ROW({', '.join(self._values(key))})::text, 0)::text"))

    def key_of(self, look: Look, digest: str) -> Key | None:
        """Return the first key with a digest, by scanning all keys; None if no row has it."""
        texts = ", ".join(f"concat({_of(column)})" for column in self.key)
        text = look.text(
            f"SELECT json_build_array({texts})::text FROM {self.source}"
            f" WHERE {self._key_digest()}::text = {literal(digest)} ORDER BY {', '.join(map(_of, self.key))} LIMIT 1"
        )
        return None if text is None else tuple(json.loads(text))

    def between(self, after: Key | None, until: Key | None) -> str:
        """Write the condition of rows behind a key, up to another; None for no bound."""
        conditions = [] if after is None else [self._compared(">", after)]
        conditions += [] if until is None else [self._compared("<=", until)]
        return " AND ".join(conditions) or ALL

    def all_parts(self, look: Look, condition: str, count: int) -> list[str]:
        """Divide the `count` rows that meet a condition among readers; each part is a further condition."""
        _, bounds = self.parts(look, condition, None, most=count)
        return self.divided(None, *bounds[:-1], None)

    def divided(self, *edges: Key | None) -> list[str]:
        """Write the conditions of the rows between each two keys, in order; None for no bound."""
        return [self.between(first, last) for first, last in pairwise(edges)]

    def _compared(self, sign: str, key: Key) -> str:
        """Compare rows' keys with one, in the order of ORDER BY; `sign`: > or <=."""
        schemas, values = [column.type.operators for column in self.key], self._values(key)
        if {*schemas} == {"pg_catalog"}:
            return f"({', '.join(map(_of, self.key))}) {sign} ({', '.join(values)})"
        # A row's comparison would look for each column's operator in one schema.
        condition = ""
        for column, schema, value in reversed([*zip(map(_of, self.key), schemas, values, strict=True)]):
            beyond, same, last = (f"{column} OPERATOR({quoted(schema)}.{s}) {value}" for s in (sign[0], "=", sign))
            condition = f"({beyond} OR {same} AND {condition})" if condition else last
        return condition

    def _values(self, key: Key) -> list[str]:
        return [
            f"{literal(value)}::{quoted(column.type.schema)}.{quoted(column.type.name)}"
            for value, column in zip(key, self.key, strict=True)
        ]

    def _row(self) -> str:
        return f"ROW({', '.join(map(_of, self.columns))})::text"

    def _share(self) -> str:
        return f"({self._key_digest()} & {SHARES - 1})"

    def _key_digest(self) -> str:
        return f"hashtextextended(ROW({', '.join(map(_of, self.key))})::text, 0)"


def source_of(settings: JdbcSettings) -> str:
    if settings.query is not None:
        return f"({settings.query.rstrip().rstrip(';')}\n) AS t"
    return f"{quoted(settings.schema)}.{quoted(settings.table)} AS t"


def written_since(horizon: int, *, new_members: Sequence[int] = ()) -> str:
    """Write the condition of rows written by a transaction that an earlier look's snapshot couldn't see.

    Transactions that commit after that look have numbers from its horizon on, subtransactions included. PostgreSQL's
    own function for this, pg_visible_in_snapshot(xmin, …), doesn't know the numbers of subtransactions
    (docs/decisions/0090).
    """
    written = f"age(t.xmin) <= age('{horizon % 2**32}'::xid)"
    # Rows of a partition from before it was attached, or of a table from before it was renamed.
    return f"({written} OR t.tableoid IN ({', '.join(map(str, new_members))}))" if new_members else written


def stamped_since(column: str, micros: int) -> str:
    """Write the condition of rows whose column isn't before an instant, in microseconds since 1970."""
    return f"t.{quoted(column)} >= TIMESTAMPTZ 'epoch' + {micros} * INTERVAL '1 microsecond'"


def _of(column: SourceColumn) -> str:
    return f"t.{quoted(column.name)}"
