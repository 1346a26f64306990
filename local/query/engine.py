"""The engine that runs statements: a DuckDB of its own without access to files or the network."""

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pyarrow

from contract.column_types.catalogue import quoted
from contract.errors import UserError

MEMORY = "512MB"
THREADS = 2
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "memory_limit": MEMORY,
    "threads": THREADS,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    # Names in SQL must not resolve to our Python variables.
    "python_enable_replacements": False,
}
# In DuckDB's own schema: no statement names it.
_KEPT = "main.rows_of_the_statement"
# A sum of bigint is a bigint in Athena.
_WIDER = {"HUGEINT", "UHUGEINT"}


class QueryError(UserError):
    """The statement can't be run; one line says why."""


class Engine:
    """Tables and views of one database, then one statement; loaded data lies in a temporary folder."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, database: str) -> None:
        self._connection = connection
        self._database = database
        connection.execute("SET TimeZone = 'UTC'")
        # As in Athena: 7/2 is 3, and 1/0 an error.
        connection.execute("SET integer_division = true")
        connection.execute(f"CREATE SCHEMA {quoted(database)}")

    def load(self, table: str, schema: pyarrow.Schema, batches: Iterator[pyarrow.RecordBatch]) -> None:
        """Create a table from batches, which are read once.

        Errors of reading them pass through; raises QueryError when there is no room for them.
        """
        name = self._name(table)
        with _one_line():
            self._take(f"CREATE TABLE {name} AS FROM batch", schema.empty_table())
            for batch in batches:
                self._take(f"INSERT INTO {name} BY NAME FROM batch", pyarrow.Table.from_batches([batch]))

    def view(self, name: str, sql: str) -> None:
        """Create a view of a query in DuckDB's SQL. Raises QueryError when that fails."""
        self.run(f"CREATE VIEW {self._name(name)} AS {sql}")

    def run(self, sql: str) -> None:
        """Run SQL of our own, such as to merge two tables. Raises QueryError when that fails, also for lack of room."""
        with _one_line():
            self._connection.execute(sql)

    def columns(self, name: str) -> list[tuple[str, str]]:
        """Return the columns of a table or view: name and DuckDB type."""
        with _one_line():
            found = self._connection.execute(f"DESCRIBE {self._name(name)}").fetchall()
        return [(column, kind) for column, kind, *_ in found]

    def ask(self, sql: str) -> pyarrow.Table:
        """Run a user's statement and return its rows. From now on, external access and settings are locked.

        Raises QueryError for what the engine refuses or can't do.
        """
        with _one_line():
            return _plain(self._confined(sql).to_arrow_table())

    def keep(self, sql: str, check: Callable[[list[str]], None] = lambda _columns: None) -> list[str]:
        """Run a user's statement and keep its rows in the engine's file; return its columns' names.

        From now on, external access is locked. `check` sees the columns before anything is read, and its errors pass
        through. Raises QueryError for what the engine refuses or can't do.
        """
        with _one_line():
            found = self._confined(sql)
        check(columns := list(found.columns))
        with _one_line():
            found.create(_KEPT)
        return columns

    def kept_rows(self) -> int:
        return self._count(f"FROM {_KEPT} SELECT count(*)")

    def kept_values(self, columns: list[str]) -> int:
        """Count how many different values these columns of the kept rows have together, null being one."""
        return self._count(f"FROM (FROM {_KEPT} SELECT DISTINCT {', '.join(map(quoted, columns))}) SELECT count(*)")

    def kept_batches(self, rows: int) -> pyarrow.RecordBatchReader:
        """Return the kept rows in their order, in batches of about `rows`."""
        return self._connection.sql(f"FROM {_KEPT}").to_arrow_reader(rows)

    def _count(self, sql: str) -> int:
        with _one_line():
            [(count,)] = self._connection.execute(sql).fetchall()
        return int(count)

    def _confined(self, sql: str) -> duckdb.DuckDBPyRelation:
        for statement in (
            f"SET schema = '{self._database}'",
            "SET enable_external_access = false",
            "SET lock_configuration = true",
        ):
            self._connection.execute(statement)
        return self._asked(sql)

    def _asked(self, sql: str) -> duckdb.DuckDBPyRelation:
        found = self._connection.sql(sql)
        if any(str(kind) in _WIDER for kind in found.types):
            found = found.project(", ".join(map(_projected, range(len(found.columns)), found.columns, found.types)))
        return found

    def _take(self, sql: str, batch: pyarrow.Table) -> None:
        self._connection.register("batch", batch)
        self._connection.execute(sql)
        self._connection.unregister("batch")

    def _name(self, table: str) -> str:
        return f"{quoted(self._database)}.{quoted(table)}"


@contextlib.contextmanager
def engine(database: str) -> Iterator[Engine]:
    """Create an engine with an empty database of that name."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="query-")))
        connection = stack.enter_context(contextlib.closing(duckdb.connect(folder / "lake.duckdb", config=_SETTINGS)))
        yield Engine(connection, database)


def _projected(index: int, name: str, kind: object) -> str:
    column = f"#{index + 1}"
    return f"{f'CAST({column} AS BIGINT)' if str(kind) in _WIDER else column} AS {quoted(name)}"


def _plain(table: pyarrow.Table) -> pyarrow.Table:
    """Present JSON as text."""
    for index, field in enumerate(table.schema):
        if isinstance(field.type, pyarrow.BaseExtensionType):
            column = pyarrow.chunked_array(
                [chunk.storage for chunk in table.column(index).chunks], type=field.type.storage_type
            )
            table = table.set_column(index, field.name, column)
    return table


@contextlib.contextmanager
def _one_line() -> Iterator[None]:
    try:
        yield
    except duckdb.Error as error:
        lines = [line.strip() for line in str(error).splitlines()]
        near = next((line for line in lines if line.startswith("Candidate bindings")), "")
        raise QueryError(f"{lines[0]}{' ' + near if near else ''}") from error
