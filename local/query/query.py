"""Runs one statement on the lake's tables, reading only the columns that it names."""

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow
from sqlglot import exp

from analytics import tables as declared_tables
from analytics.queries import NamedQuery, Queried, named_queries
from analytics.tables import DeclaredTable
from analytics.translate import Statement, TableName, translate
from contract.column_types.catalogue import quoted
from local.look.json_lines import LANDED, QUARANTINED
from local.look.lake import Lake, check_readable
from local.query.engine import Engine, QueryError, engine
from local.query.silver import Silver, declared_schema

CHANGE = "_change"
KEY = "_hoodie_record_key"
COMMIT = "_hoodie_commit_time"
NEEDED = (KEY, COMMIT)
BATCH_ROWS = 16_384
# DESCRIBE, SHOW COLUMNS FROM a table; SHOW TABLES.
_COLUMNS = re.compile(r"\s*(?:DESCRIBE|DESC|SHOW\s+COLUMNS\s+(?:IN|FROM))\s+([\w.\"`]+)\s*;?\s*\Z", re.IGNORECASE)
_TABLES = re.compile(r"\s*SHOW\s+(?:TABLES|VIEWS)(?:\s+(?:IN|FROM)\s+[\w\"`]+)?\s*;?\s*\Z", re.IGNORECASE)
_LISTED = ("table", "column", "type")
Batches = Iterator[pyarrow.RecordBatch]
ReadBatches = Callable[[Sequence[str]], Batches]


@dataclass(frozen=True, kw_only=True)
class LakeTable:
    """A captured table: its definition for the named queries, and its place in the lake."""

    queried: Queried
    lake: Lake

    @property
    def name(self) -> str:
        return self.queried.table


@dataclass(frozen=True, kw_only=True)
class Period:
    """The requested state: `as_of` an instant, or the newest; `since`: the changes after that instant."""

    as_of: str | None = None
    since: str | None = None


@dataclass(frozen=True, kw_only=True)
class QueriedLake:
    """A database to query: its captured tables, those created by statements, and the quarantine.

    `quarantine` reads that of some captured tables, `landed` the events of some topics.
    """

    database: str
    tables: Sequence[LakeTable]
    silver: Silver
    quarantine: ReadBatches = field(repr=False, default=lambda _tables: iter(()))
    landed: ReadBatches = field(repr=False, default=lambda _topics: iter(()))

    @property
    def views(self) -> Mapping[str, NamedQuery]:
        """The named queries without parameters, by name; a captured table of that name takes precedence."""
        taken = {table.name for table in self.tables}
        return {
            query.name: query
            for query in self._queries
            if not query.parameters and query.writes is None and query.name not in taken
        }

    @property
    def declared(self) -> Mapping[str, DeclaredTable]:
        """The tables that named statements add rows to, by name."""
        return {query.writes.name: query.writes for query in self._queries if query.writes is not None}

    @property
    def _queries(self) -> tuple[NamedQuery, ...]:
        return named_queries(self.database, [table.queried for table in self.tables])

    @property
    def names(self) -> list[str]:
        others = (declared_tables.QUARANTINE.name, declared_tables.LANDED.name)
        own = [*(table.name for table in self.tables), *others, *self.views, *self.declared]
        # A later captured table or view of the same name hides a created table.
        return [*own, *(name for name in self.silver.names() if name not in own)]


def ask(lake: QueriedLake, sql: str, period: Period) -> pyarrow.Table:
    """Return the rows of a statement in Athena's SQL; without one, all tables' columns.

    Raises TranslationError, QueryError, InstantError and LakeError, each one line.
    """
    if period != Period() and (not sql.strip() or _TABLES.match(sql) or _COLUMNS.match(sql)):
        raise QueryError("tables and columns are listed as they are now: leave --as-of and --since out")
    if not sql.strip():
        return described(lake)
    if _TABLES.match(sql):
        return pyarrow.table({"table_name": lake.names})
    if found := _COLUMNS.match(sql):
        database, _, table = found[1].lower().replace('"', "").replace("`", "").rpartition(".")
        return described(lake, [_resolved(lake, TableName(database=database or None, table=table))])
    statement = translate(sql)
    with engine(lake.database) as here:
        Loading(lake, here, period).load(statement)
        return here.ask(statement.sql)


def described(lake: QueriedLake, names: Sequence[str] | None = None) -> pyarrow.Table:
    """Return the columns of these or all tables and named queries: table, column and Athena's type.

    A table without a commit has no columns yet, nor has a query of columns that the table lacks. Reads schemas and no
    rows.
    """
    rows: list[dict[str, str]] = []
    with engine(lake.database) as here:
        loading = Loading(lake, here, Period(), rows=False)
        for name in lake.names if names is None else names:
            if not loading.is_there(name):
                continue
            with contextlib.suppress(*([QueryError] if name in lake.views else [])):
                loading.name(name, None)
                for column, kind in here.columns(name):
                    type_ = exp.DataType.build(kind, dialect="duckdb").sql("athena").lower()
                    rows += [dict(zip(_LISTED, (name, column, type_), strict=True))]
    return pyarrow.Table.from_pylist(rows, schema=pyarrow.schema([(key, pyarrow.string()) for key in _LISTED]))


class Loading:
    """Loads the names of a statement into an engine, each table once."""

    def __init__(self, lake: QueriedLake, here: Engine, period: Period, *, rows: bool = True) -> None:
        self._lake = lake
        self._here = here
        self._period = period
        self._rows = rows
        self._tables = {table.name: table for table in lake.tables}
        self._loaded: set[str] = set()

    def is_there(self, name: str) -> bool:
        """Whether it can be read: a table must have a commit, and so must those of a named query."""
        view = self._lake.views.get(name)
        read = [self._tables[table] for table in (view.tables if view else [name]) if table in self._tables]
        return all(table.lake.exists() for table in read)

    def load(self, statement: Statement) -> None:
        """Load a statement's tables, with the columns that it names, and create views for its queries."""
        named = [_resolved(self._lake, name) for name in statement.tables]
        views = {name: translate(self._lake.views[name].sql) for name in named if name in self._lake.views}
        if views and self._period.since is not None:
            raise QueryError(f"--since shows rows of captured tables: name one in the place of {', '.join(views)}")
        wanted = [statement, *views.values()]
        all_columns = any(one.columns is None for one in wanted)
        columns = None if all_columns else frozenset().union(*(one.columns or () for one in wanted))
        for name in named:
            self.name(name, columns)

    def name(self, name: str, columns: frozenset[str] | None) -> None:
        """Create the table or view of that name, with these columns at least, or all for None."""
        if name in self._loaded:
            return
        self._loaded.add(name)
        if view := self._lake.views.get(name):
            for table in view.tables:
                self.name(table, columns)
            self._here.view(name, translate(view.sql).sql)
        elif name in self._tables:
            self._table(self._tables[name], columns)
        elif name == declared_tables.LANDED.name:
            self._landed()
        elif name != declared_tables.QUARANTINE.name:
            self._made(name)
        else:
            of = sorted(self._tables) if self._rows else []
            self._here.load(name, QUARANTINED, self._lake.quarantine(of))

    def _landed(self) -> None:
        if self._period != Period():
            raise QueryError(
                f"{declared_tables.LANDED.name} is of events: it has no --as-of or --since, a WHERE on their times "
                "does it"
            )
        topics = [table.queried.topic for table in self._lake.tables if table.queried.topic]
        self._here.load(declared_tables.LANDED.name, LANDED, self._lake.landed(topics if self._rows else []))

    def _made(self, name: str) -> None:
        """Load a table created by a statement, or declared for one; as a whole, since it has no other state."""
        if self._period != Period():
            raise QueryError(f"{name} was made by a statement: it is as it was made, and has no --as-of or --since")
        if name not in self._lake.silver.names():
            self._here.load(name, declared_schema(self._lake.declared[name]), iter(()))
            return
        schema = self._lake.silver.schema(name)
        rows = self._lake.silver.batches(name, schema.names, BATCH_ROWS) if self._rows else iter(())
        self._here.load(name, schema.remove_metadata(), rows)

    def _table(self, table: LakeTable, columns: frozenset[str] | None) -> None:
        schema = table.lake.schema()
        if columns is not None:
            also = NEEDED if self._period.since is not None else ()
            kept = [field for field in schema if field.name.lower() in columns or field.name in also]
            # At least one column: a count needs rows.
            schema = pyarrow.schema(kept or [schema.field(KEY)])
        if self._period.since is None:
            self._read(table, table.name, schema, self._period.as_of)
            return
        states = {f"{table.name} now": self._period.as_of, f"{table.name} before": self._period.since}
        for name, instant in states.items():
            self._read(table, name, schema, instant)
        self._compare(table.name, *states)

    def _compare(self, table: str, *states: str) -> None:
        """Make `table` of the rows that differ between now and before, with `_change` before their columns.

        insert: the key is new; update: another commit has written the row since, shown as it is now; delete: the key is
        gone, the row shown as it was before.
        """
        both, new, old = (f"{quoted(self._lake.database)}.{quoted(name)}" for name in (table, *states))
        self._here.run(
            f"CREATE TABLE {both} AS"
            f" SELECT CASE WHEN o.{KEY} IS NULL THEN 'insert' ELSE 'update' END AS {CHANGE}, n.*"
            f" FROM {new} AS n LEFT JOIN {old} AS o ON n.{KEY} = o.{KEY}"
            f" WHERE o.{KEY} IS NULL OR n.{COMMIT} IS DISTINCT FROM o.{COMMIT}"
            f" UNION ALL BY NAME SELECT 'delete' AS {CHANGE}, o.*"
            f" FROM {old} AS o ANTI JOIN {new} AS n ON n.{KEY} = o.{KEY};"
            f" DROP TABLE {new}; DROP TABLE {old}"
        )

    def _read(self, table: LakeTable, name: str, schema: pyarrow.Schema, as_of: str | None) -> None:
        if as_of is not None:
            check_readable(table.lake, as_of, table.name)
        batches = table.lake.stream(schema.names, BATCH_ROWS, as_of=as_of) if self._rows else iter(())
        self._here.load(name, schema, batches)
        # A cleaning may have begun meanwhile.
        if as_of is not None:
            check_readable(table.lake, as_of, table.name)


def _resolved(lake: QueriedLake, name: TableName) -> str:
    if name.database not in (None, lake.database) or name.table not in lake.names:
        there = ", ".join(f"{lake.database}.{known}" for known in lake.names)
        raise QueryError(f"there is no table {name}: there are {there}")
    return name.table
