"""The catalog of a real PostgreSQL is read correctly."""

import contextlib

import psycopg2
import pytest

from db.connecting import LoadError
from db.source import inspection
from db.source.catalogue import Database, Table, TableName
from local.services.postgres import ConnectionParameters, Postgres
from tests.conftest import execute, fresh_database

pytestmark = pytest.mark.integration


def look(parameters: ConnectionParameters, *schemas: str) -> Database:
    with contextlib.closing(psycopg2.connect(**parameters)) as connection:
        return inspection.inspect(connection, schemas)


@pytest.fixture(scope="module")
def found(nasty: ConnectionParameters) -> Database:
    return look(nasty)


def table(found: Database, name: str, schema: str = "public") -> Table:
    return next(table for table in found.tables if table.name == TableName(schema, name))


def test_each_relation_is_listed_once_and_partitions_are_in_their_root(found: Database) -> None:
    kinds = {table.name.name: table.kind for table in found.tables if table.name.schema == "public"}
    assert kinds == {
        **dict.fromkeys(("no_key", "unique_key", "unique_nullable", "unique_deferred", "everything"), "table"),
        **dict.fromkeys(("identity_nothing", "identity_index", "identity_full", "dropped_column"), "table"),
        **dict.fromkeys(("animal", "cat", "cache", "guarded", "nothing_in_it"), "table"),
        "measured": "partitioned table",
        "logged": "partitioned table",
        "happy": "view",
        "counted": "materialized view",
        "remote": "foreign table",
    }


def test_the_leaves_of_a_partitioned_table_are_told_in_whatever_schema_and_depth(found: Database) -> None:
    leaves = {leaf.name: bool(leaf.primary_key) for leaf in table(found, "measured").partitions}
    assert leaves == {TableName("archive", "measured_2025_h1"): True, TableName("public", "measured_later"): True}


def test_a_primary_key_has_the_order_of_its_index(found: Database) -> None:
    assert table(found, "Order Details", "Sales Dept").primary_key == ("lineNo", "Order ID")
    assert table(found, "no_key").primary_key == ()


def test_only_an_index_that_tells_every_row_apart_may_be_an_identity(found: Database) -> None:
    usable = {
        name: [index.columns for index in table(found, name).indexes if index.identity]
        for name in ("unique_key", "unique_nullable", "unique_deferred", "no_key")
    }
    assert usable == {"unique_key": [("code",)], "unique_nullable": [], "unique_deferred": [], "no_key": []}


def test_a_replica_identity_is_told(found: Database) -> None:
    names = ("everything", "identity_nothing", "identity_index", "identity_full")
    assert [table(found, name).identity for name in names] == ["default", "nothing", "index", "full"]


def test_a_column_has_its_type_with_what_that_is_made_of(found: Database) -> None:
    everything = table(found, "everything")
    told = {c.name: (c.type.kind, c.type_text, [part[1].name for part in c.type.parts]) for c in everything.columns}
    assert told == {
        "id": ("base", "bigint", []),
        "price": ("base", "numeric(10,2)", []),
        "ratio": ("base", "numeric", []),
        "mood": ("enum", "public.mood", []),
        "email": ("domain", "public.email_address", ["text"]),
        "name": ("composite", "public.full_name", ["text", "varchar"]),
        "tags": ("domain", "public.tags", ["_text"]),
        "moods": ("array", "public.mood[]", ["mood"]),
        "prices": ("array", "numeric(6,3)[]", ["numeric"]),
        "during": ("range", "tstzrange", ["timestamptz"]),
        "blob": ("base", "bytea", []),
        "picture": ("base", "oid", []),
        "price_with_tax": ("base", "numeric", []),
    }


def test_generated_and_dropped_columns_are_told_from_others(found: Database) -> None:
    everything = table(found, "everything")
    assert [column.name for column in everything.columns if column.generated] == ["price_with_tax"]
    assert [column.name for column in table(found, "dropped_column").columns] == ["id", "kept"]


def test_what_hides_rows_or_keeps_them_out_of_the_log_is_told(found: Database) -> None:
    assert {t.name.name for t in found.tables if t.row_security} == {"guarded"}
    assert {t.name.name for t in found.tables if t.unlogged} == {"cache"}
    assert {t.name.name: t.parents for t in found.tables if t.parents} == {"cat": (TableName("public", "animal"),)}
    assert [t.name.name for t in found.tables if t.has_children] == ["animal"]
    assert (found.sequences, found.server.large_objects) == (2, True)


def test_only_the_schemas_that_are_named_are_read(nasty: ConnectionParameters) -> None:
    assert {table.name.schema for table in look(nasty, "archive").tables} == {"archive"}


def test_columns_that_the_role_may_not_read_are_told(postgres: Postgres, nasty: ConnectionParameters) -> None:
    with fresh_database(postgres, template=nasty["dbname"]) as database:
        execute(database, "CREATE ROLE looks_only LOGIN PASSWORD 'looks'")
        try:
            execute(database, "GRANT SELECT (id, mood) ON public.everything TO looks_only")
            found = look({**database, "user": "looks_only", "password": "looks"})
            assert [c.name for c in table(found, "everything").columns if c.readable] == ["id", "mood"]
            assert table(found, "no_key").hidden == ("at", "what")
            assert not table(found, "no_key").owned
        finally:
            execute(database, "DROP OWNED BY looks_only")
            execute(database, "DROP ROLE looks_only")


@pytest.fixture
def wide(database: ConnectionParameters) -> ConnectionParameters:
    columns = ", ".join(f"c{number} INT" for number in range(1_599))
    execute(database, f"CREATE TABLE wide (id INT PRIMARY KEY, {columns})")
    execute(
        database,
        "DO $$ BEGIN FOR i IN 1..300 LOOP"
        " EXECUTE format('CREATE TABLE t%s (id INT PRIMARY KEY, price NUMERIC(%s, 2))', i, 2 + i %% 30);"
        " END LOOP; END $$".replace("%%", "%"),
    )
    return database


def test_more_tables_take_no_more_queries(wide: ConnectionParameters) -> None:
    class Counting(psycopg2.extensions.cursor):
        queries = 0

        def execute(self, *args: object) -> None:
            type(self).queries += 1
            super().execute(*args)  # type: ignore[arg-type]

    with contextlib.closing(psycopg2.connect(**wide, cursor_factory=Counting)) as connection:
        tables = {table.name.name: len(table.columns) for table in inspection.inspect(connection).tables}
    assert (len(tables), tables["wide"]) == (301, 1_600)
    assert Counting.queries < 15


def test_a_connection_that_breaks_is_one_line(database: ConnectionParameters) -> None:
    connection = psycopg2.connect(**database)
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    connection.rollback()
    execute(
        database,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
        " AND pid <> pg_backend_pid()",
    )
    with contextlib.closing(connection), pytest.raises(LoadError, match="cannot read the catalogue: ") as raised:
        inspection.inspect(connection)
    assert "\n" not in str(raised.value)
