"""One pass over the source: a table as a REPEATABLE READ transaction sees it, as sums, hashes or texts.

It needs only SELECT on the table, and works on a replica. Rows never accumulate here: PostgreSQL computes sums in steps
of some thousand pages, and results come through a cursor.
"""

# ruff: noqa: S608  # names are quoted; what isn't a name is a number or goes through mogrify

import contextlib
import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg2
from psycopg2.errors import UndefinedFunction
from psycopg2.extensions import connection as Connection  # noqa: N812 - a class with a lower-case name
from psycopg2.extensions import cursor as Cursor  # noqa: N812

from contract.column_types.canonical import SOURCE_SETTINGS
from contract.column_types.catalogue import quoted
from contract.source import SHOWS_ALL_ROWS
from db.connecting import connect, value
from local.comparison.rows import (
    CHUNK_BITS,
    HALF,
    ComparedColumn,
    ComparedTable,
    Row,
    RowFilter,
    Sum,
    Sums,
    chunk,
    digest,
    source_sha256,
    split,
    tidy,
    with_hashes,
)

# Fail the query where a row policy may hide rows; hidden rows would look like differences.
SETTINGS = {**SOURCE_SETTINGS, "row_security": "off"}
# Whether policies show a role all rows of the relations they apply to, as `./lake source prepare` sets up.
_SHOWS_ALL = SHOWS_ALL_ROWS.format(relations="%s::regclass::oid || %s::oid[]")
# Pages of 8 kB per statement: progress shows, and a role's statement_timeout isn't reached.
PAGES = 8192
FETCHED_ROWS = 5_000
LOOKED_UP_KEYS = 5_000
# A row as PostgreSQL sends it: its key's text, its hash or text, and its version.
_Read = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class _Part:
    """A relation that holds rows. `by_pages`: it may be read directly, page by page."""

    oid: int
    relation: str
    pages: int
    by_pages: bool


class SourceLook:
    """The table at one position of the log (`position`, such as 0/1A2B3C)."""

    def __init__(self, connection: Connection, table: ComparedTable) -> None:
        self._connection = connection
        self._table = table
        self._cursors = 0
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config(k, v, true) FROM json_each_text(%s) AS s (k, v)", [json.dumps(SETTINGS)])
            cursor.execute(
                "SELECT (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()"
                " ELSE pg_current_wal_insert_lsn() END)::text,"
                " CASE WHEN %s THEN has_table_privilege(%s, 'SELECT') ELSE FALSE END",
                [table.rows_of is None, table.relation],
            )
            self.position, whole = cursor.fetchone() or ("", False)
            self._parts = [] if table.rows_of is not None else _parts(cursor, table)
            self._oids = [part.oid for part in self._parts]
            if table.rows_of is None and value(cursor, _SHOWS_ALL, [table.relation, self._oids]):
                cursor.execute("SET LOCAL row_security = on")
        # System columns require SELECT on the whole table; a row's hash is nearly as precise.
        self._version = "t.xmin::text" if whole else source_sha256(table.source_row)

    def cancel(self) -> None:
        """Cancel another thread's running query, which raises psycopg2's QueryCanceled."""
        self._connection.cancel()

    def filled(self, columns: Iterable[ComparedColumn]) -> list[str]:
        """Name the columns that hold a value in some row; some fields of a composite value may be null."""
        some = f"SELECT EXISTS (SELECT FROM {self._table.source_from} WHERE "
        with self._connection.cursor() as cursor:
            return [c.name for c in columns if value(cursor, f"{some}t.{quoted(c.name)} IS DISTINCT FROM NULL)")]

    def estimate(self) -> int:
        """Return the approximate row count, 0 before the first ANALYZE."""
        query = "SELECT coalesce(sum(greatest(reltuples, 0)), 0)::bigint FROM pg_class WHERE oid = ANY (%s)"
        with self._connection.cursor() as cursor:
            return int(value(cursor, query, [self._oids]))

    def sums(self, bits: int, on_rows: Callable[[int], None] = lambda _rows: None) -> Sums:
        """Sum the rows' hashes by chunk, of 2^bits; `on_rows` gets the number of rows after each read."""
        if self._table.hashes:
            return self._sums_here(bits, on_rows)
        total: Sums = {}
        for part in self._steps():
            rows = 0
            for number, sum_ in self._sums_of(bits, part):
                total[number] = total.get(number, Sum()) + sum_
                rows += sum_.rows
            on_rows(rows)
        return total

    def _steps(self) -> Iterator[str]:
        """Write the range of each statement: a number of pages, or all where they can't be read one by one."""
        if not self._parts or not all(part.by_pages for part in self._parts):
            yield self._table.source_from
            return
        for part in self._parts:
            for first in range(0, max(part.pages, 1), PAGES):
                condition = f"t.ctid >= '({first},0)'::tid AND t.ctid < '({first + PAGES},0)'::tid"
                yield f"ONLY {part.relation} AS t WHERE {condition}"

    def _sums_of(self, bits: int, part: str) -> Iterator[tuple[int, Sum]]:
        # OFFSET 0 keeps PostgreSQL from recomputing a hash for each of its halves.
        hashes = (
            f"SELECT {source_sha256('h.key')} AS key, {source_sha256('h.row')} AS row FROM"
            f" (SELECT {self._table.source_key} AS key, {self._table.source_row} AS row FROM {part}"
            " OFFSET 0) AS h OFFSET 0"
        )
        with self._connection.cursor() as cursor:
            cursor.execute(
                f"SELECT {_chunk('key', bits)}, count(*), sum({_half('row', 1)}), sum({_half('row', 17)})"
                f" FROM ({hashes}) AS s GROUP BY 1"
            )
            for number, rows, high, low in cursor:
                yield int(number), Sum(int(rows), int(high) % HALF, int(low) % HALF)

    def _sums_here(self, bits: int, on_rows: Callable[[int], None]) -> Sums:
        total: Sums = {}
        for batch in self.rows(RowFilter()):
            for row in batch:
                number = chunk(row.key, bits)
                one = Sum(1, int(row.value[:16], 16), int(row.value[16:32], 16))
                total[number] = total.get(number, Sum()) + one
            on_rows(len(batch))
        return total

    def key_values(self, keys: Sequence[str]) -> list[tuple[str, ...]] | None:
        """Return keys as PostgreSQL writes their columns' values; None when one isn't a valid value."""
        all_values: list[tuple[str, ...]] = []
        for start in range(0, len(keys), LOOKED_UP_KEYS):
            if (found := self._values(keys[start : start + LOOKED_UP_KEYS])) is None:
                return None
            columns, from_ = found
            values = self._fitting(f"SELECT {', '.join(f'concat({value})' for value in columns)} {from_} ORDER BY n")
            if values is None:
                return None
            all_values += values
        return all_values

    def _fitting(self, query: str) -> list[Any] | None:
        """Return a query's rows; None when a key can't be a value of its column, or only an extension compares it."""
        with self._connection.cursor() as cursor:
            cursor.execute("SAVEPOINT fitting")
            try:
                cursor.execute(query)
                found = cursor.fetchall()
            except (psycopg2.DataError, psycopg2.IntegrityError, UndefinedFunction):
                cursor.execute("ROLLBACK TO SAVEPOINT fitting")
                return None
            cursor.execute("RELEASE SAVEPOINT fitting")
            return found

    def _values(self, keys: Sequence[str]) -> tuple[list[str], str] | None:
        """Write PostgreSQL's values of keys' texts, k.c0 and so on, and the FROM clause that has these in their order.

        None where a type can't be converted back, and when a key is partly NULL, which no index finds.
        """
        parts = [split(key) for key in keys]
        found = [
            column.value_sql.replace("{t}", f"k.c{number}")
            for number, column in enumerate(self._table.keys)
            if column.value_sql is not None
        ]
        if not found or len(found) < len(self._table.key) or any(text is None for part in parts for text in part):
            return None
        with self._connection.cursor() as cursor:
            # No parameters in the query itself: names may contain percent signs.
            columns = [list(column) for column in zip(*parts, strict=True)]
            arrays = ", ".join(cursor.mogrify("%s::text[]", [column]).decode() for column in columns)
        aliases = ", ".join(f"c{number}" for number in range(len(found)))
        return found, f"FROM unnest({arrays}) WITH ORDINALITY AS k ({aliases}, n)"

    def rows(self, chosen: RowFilter) -> Iterator[list[Row]]:
        """Yield batches of the chosen rows, with their hashes as values.

        Keys that the source lacks are skipped, and rows that weren't chosen may come: the caller must check.
        """
        if not self._table.hashes:
            # PostgreSQL hashes, so that short hashes travel instead of long rows.
            for batch in self._read(chosen, source_sha256(self._table.source_row)):
                yield [Row(key, key, hash_, version) for key, hash_, version in batch]
            return
        for batch in self._texts(chosen):
            yield [Row(key, key, digest(text), version) for key, text, version in batch]

    def tidied(self, chosen: RowFilter) -> Iterator[list[Row]]:
        """Yield batches of the chosen rows as `rows` does, tidied, with their texts as values."""
        table = self._table
        for batch in self._texts(chosen):
            texts = [(key, tidy(text, table.columns), version) for key, text, version in batch]
            yield [
                Row(key, tidy(key, table.keys) if table.key else digest(text), text, version)
                for key, text, version in texts
            ]

    def _texts(self, chosen: RowFilter) -> Iterator[list[_Read]]:
        table = self._table
        for batch in self._read(chosen, table.source_row):
            if table.hashes:
                batch = [(key, with_hashes(text, table.columns, table.salt), version) for key, text, version in batch]
                batch = batch if table.key else [(digest(text), text, version) for _, text, version in batch]
            yield batch

    def _read(self, chosen: RowFilter, value: str) -> Iterator[list[_Read]]:
        if chosen.keys is None:
            yield from self._scan(chosen, value)
            return
        for start in range(0, len(chosen.keys), LOOKED_UP_KEYS):
            keys = chosen.keys[start : start + LOOKED_UP_KEYS]
            if (found := self._look_up(keys, value)) is None:
                numbers = frozenset(chunk(key, CHUNK_BITS) for key in chosen.keys)
                yield from self._scan(RowFilter(bits=CHUNK_BITS, chunks=numbers), value)
                return
            yield found

    def _look_up(self, keys: Sequence[str], value: str) -> list[_Read] | None:
        """Read rows by key index; None when a key can't be a value of its column, or is partly NULL."""
        if (found := self._values(keys)) is None:
            return None
        values, from_ = found
        names = ", ".join(f"t.{quoted(name)}" for name in self._table.key)
        return self._fitting(f"{self._select(value)} WHERE ({names}) IN (SELECT {', '.join(values)} {from_})")

    def _select(self, value: str) -> str:
        return f"SELECT {self._table.source_key}, {value}, {self._version} FROM {self._table.source_from}"

    def _scan(self, chosen: RowFilter, value: str) -> Iterator[list[_Read]]:
        condition = ""
        # When rows are hashed here, PostgreSQL can't compute a key made of the whole row.
        if chosen.chunks is not None and (self._table.key or not self._table.hashes):
            numbers = ", ".join(map(str, sorted(chosen.chunks))) or "NULL"
            condition = f"WHERE {_chunk(source_sha256(self._table.source_key), chosen.bits)} IN ({numbers})"
        self._cursors += 1
        with self._connection.cursor(f"rows_{self._cursors}") as cursor:
            cursor.execute(f"{self._select(value)} {condition}")
            while batch := cursor.fetchmany(FETCHED_ROWS):
                yield batch


def looks(parameters: Mapping[str, Any], table: ComparedTable) -> Generator[SourceLook, None, None]:
    """Yield one state of the table after another; each transaction ends before the next.

    Raises psycopg2.Error, and LoadError when the source can't be reached.
    """
    with contextlib.closing(connect(parameters)) as connection:
        connection.set_session(isolation_level="REPEATABLE READ", readonly=True)
        while True:
            yield SourceLook(connection, table)
            connection.rollback()


@contextlib.contextmanager
def look(parameters: Mapping[str, Any], table: ComparedTable) -> Iterator[SourceLook]:
    """Open a transaction that sees one state of the table. Raises as `looks` does."""
    with contextlib.closing(looks(parameters, table)) as states:
        yield next(states)


def _chunk(hash_: str, bits: int) -> str:
    return f"(('x' || substr({hash_}, 1, 4))::bit(16)::int >> {CHUNK_BITS - bits})"


def _half(hash_: str, first: int) -> str:
    return f"('x' || substr({hash_}, {first}, 16))::bit(64)::bigint"


def _parts(cursor: Cursor, table: ComparedTable) -> list[_Part]:
    """Return the relations of the rows; to be called after the transaction's snapshot: later pages have none of it."""
    tree = "SELECT relid FROM pg_partition_tree(%s::regclass) WHERE isleaf" if table.partitioned else ""
    cursor.execute(
        "SELECT c.oid::bigint, n.nspname, c.relname, coalesce(pg_relation_size(c.oid), 0)"
        " / current_setting('block_size')::bigint,"
        # A role that may read the whole table needn't be allowed to read a partition by name.
        " c.relkind = 'r' AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')"
        " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        f" WHERE c.oid IN ({tree or 'SELECT %s::regclass'}) ORDER BY c.oid",
        [table.relation],
    )
    return [
        _Part(oid, f"{quoted(schema)}.{quoted(name)}", int(pages), by_pages)
        for oid, schema, name, pages, by_pages in cursor
    ]
