"""`./lake source describe --how query` and `./lake source prepare`, with a real database and a read-only role."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg2
import pytest

from capture import objects
from contract import events
from contract.errors import CANNOT, USAGE
from local.services.postgres import ConnectionParameters, Postgres
from settings.load import load_pipeline
from tests.capture.test_commands import Folder, folder_of
from tests.conftest import execute, fresh_database

pytestmark = pytest.mark.integration
SCRIPT = """
CREATE TABLE address (
    id int PRIMARY KEY, phone text, born date, flags varbit, area int GENERATED ALWAYS AS (id * 2) STORED,
    last_update timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE city (id int PRIMARY KEY, "City Name" text, price numeric(10,2));
CREATE TABLE notes (text text);
CREATE UNLOGGED TABLE sessions (id int PRIMARY KEY);
CREATE VIEW wide AS SELECT a.id, c."City Name" FROM address a JOIN city c ON c.id = a.id;
CREATE MATERIALIZED VIEW stored AS SELECT 1 AS id;
CREATE ROLE reader LOGIN PASSWORD 'reader';
GRANT SELECT ON address, city, notes, sessions, wide, stored TO reader;
"""
QUERY = """
[[tables]]
name = "prices"
query = "SELECT id, price, price * 2 AS twice FROM public.city"
how = "query"
key = ["id"]
"""


@pytest.fixture
def database(postgres: Postgres) -> Iterator[ConnectionParameters]:
    with fresh_database(postgres) as parameters:
        execute(parameters, SCRIPT)
        yield parameters
        execute(parameters, "DROP OWNED BY reader; DROP ROLE reader")


@pytest.fixture
def mine(tmp_path: Path, database: ConnectionParameters, monkeypatch: pytest.MonkeyPatch) -> Folder:
    reader: Any = {**database, "user": "reader", "password": "reader"}
    return folder_of(tmp_path, reader, monkeypatch)


def test_a_role_that_may_only_select_makes_a_pipeline_by_query(mine: Folder) -> None:
    result = mine.run("describe", how="query")
    assert result.exit_code == 0, result.output
    tables = mine.tables()
    assert list(tables) == ["public.address", "public.city", "public.sessions"]
    assert {table["how"] for table in tables.values()} == {"query"}
    assert tables["public.address"]["leave_out"] == ["flags"]
    assert '# column = "last_update"' in mine.text()
    for fact in (
        "of several changes between two looks the last one arrives",
        "The job needs no more there than SELECT",
        "perhaps personal data: phone (leave_out, in the file as comments)",
        "public.notes, table: it has no primary key and no unique index without NULLs: name the columns",
        "public.wide, view: a view has no key: name the columns that tell rows apart",
    ):
        assert fact in result.output, fact
    assert "wal_level" not in result.output
    assert "Debezium drops the era" not in result.output
    assert load_pipeline("mine", mine.path).is_queried
    fields = mine.fields("address")
    assert events.READ_MS in fields
    assert not {events.LSN, events.SOURCE_TIME_MS} & set(fields)
    # The WAL has no computed columns; a query has.
    assert fields["area"]["type"] == ["null", "int"]
    # It changes nothing, and looks.
    assert "nothing is to be prepared" in mine.run("prepare").output
    assert "pipelines/mine.toml queries its tables" in mine.run("describe", how="log").output
    assert mine.run("describe", how="guess").exit_code == USAGE
    assert list(mine.tables()) == list(tables)


@pytest.mark.parametrize("how", ["query", "log"])
def test_whatever_is_proposed_the_file_may_have(how: str, mine: Folder, database: ConnectionParameters) -> None:
    tables = [
        f"{name} (id int PRIMARY KEY)" for name in ('"a;b"', '"a:b"', '"a.b"', '"a "', '"a\n"', '"a""b"', "größe")
    ]
    for number, name in enumerate(('"b;c"', '"b:c"', '"b,c"', '" b"', '"b\n"', '"""b"""')):
        tables += [
            f"out_{number} (id int PRIMARY KEY, {name} varbit)",
            f"key_{number} (id int, {name} int PRIMARY KEY)",
        ]
    execute(database, "CREATE DOMAIN late AS timetz")
    for table in (*tables, "at (at timetz PRIMARY KEY)", "later (at late PRIMARY KEY)"):
        execute(database, f"CREATE TABLE {table}")
    execute(database, "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
    result = mine.run("describe", how=how)
    assert result.exit_code == 0, result.output
    found = {table.name for table in load_pipeline("mine", mine.path).tables}
    assert found >= {'public.a"b', "public.größe", "public.key_2", "public.key_3", "public.key_5", "public.out_5"}
    assert not found & {"public.a;b", "public.a:b", "public.key_0", "public.out_0", "public.at", "public.later"}
    assert "its key has at: '12:00+00' and '14:00+02' are two keys in PostgreSQL and one in the lake" in result.output


def test_a_connection_that_breaks_while_it_is_checked_is_a_line(mine: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise psycopg2.OperationalError("server closed the connection unexpectedly\n\tThis probably means the server")

    monkeypatch.setattr(objects, "_problems", broken)
    result = mine.run("describe", how="query")
    assert (result.exit_code, type(result.exception)) == (CANNOT, SystemExit)
    [line] = result.stderr.splitlines()
    assert "cannot look whether it can be queried: the connection broke: server closed the connection" in line


def test_a_view_and_a_query_are_queried_once_their_key_is_named(mine: Folder) -> None:
    mine.run("describe", how="query", tables="city")
    view = '\n[[tables]]\nsource = "public.wide"\nhow = "query"\nkey = ["id"]\n'
    mine.write(mine.text() + view + QUERY)
    result = mine.run("describe", "--update", tables="city")
    assert result.exit_code == 0, result.output
    assert set(mine.fields("wide")) == {"id", "city_name", *events.QUERIED_TYPES}
    prices = mine.fields("prices")
    assert prices["price"]["type"][1] == {"type": "string", "logicalType": "decimal", "precision": 10, "scale": 2}
    assert prices["twice"]["type"][1]["connect.name"].endswith("VariableScaleDecimal")
    again = mine.run("describe", tables="city")
    assert "as the database has it" in again.output
    assert "public.wide: id isn't unique by an index" in again.output
    assert "public.wide: --look reads all of them once" in again.output
    assert "the database knows its rows by" not in again.output
    mine.write(mine.text().replace("FROM public.", "FROM "))
    assert "(a query names each table with its schema)" in mine.run("describe", tables="city").output


COLUMN = 'source = "public.address"\n'
UNFIT = [
    (COLUMN, f'{COLUMN}column = "last_update"\n', ("no index begins with last_update", "doesn't see who is writing")),
    (COLUMN, f'{COLUMN}column = "phone"\n', ("phone is text, and column asks for a timestamp",)),
    (
        '"public.sessions"\n',
        '"public.stored"\nlake_table = "sessions"\ndetect = "xmin"\n',
        ("a materialized view has no xmin by which changes are found",),
    ),
]


def test_what_is_not_fit_is_a_line_and_ends_it(mine: Folder, database: ConnectionParameters) -> None:
    mine.run("describe", how="query")
    fit = mine.text()
    for old, new, reasons in UNFIT:
        mine.write(fit.replace(old, new))
        result = mine.run("prepare")
        assert result.exit_code == CANNOT
        for reason in (*reasons, "the database doesn't meet the pipeline's requirements"):
            assert reason in result.output
    execute(database, "CREATE INDEX ON address (last_update); GRANT pg_read_all_stats TO reader")
    old, new, _ = UNFIT[0]
    mine.write(fit.replace(old, new))
    assert mine.run("prepare").exit_code == 0
    execute(database, "ALTER TABLE address RENAME last_update TO changed")
    assert "it has no column last_update" in mine.run("prepare").output


def test_a_column_that_may_not_be_read_is_named(mine: Folder, database: ConnectionParameters) -> None:
    mine.run("describe", how="query", tables="city")
    execute(database, "REVOKE SELECT ON city FROM reader; GRANT SELECT (id, price) ON city TO reader")
    for lacking in (
        "City Name: GRANT SELECT on it, or leave it out",
        "xmin, tableoid, by which changes are found: GRANT SELECT (xmin, tableoid)",
    ):
        result = mine.run("prepare")
        assert result.exit_code == CANNOT
        assert f"public.city: reader may not read {lacking}" in result.output
        execute(database, 'GRANT SELECT ("City Name") ON city TO reader')
    execute(database, "GRANT SELECT (xmin, tableoid) ON city TO reader")
    assert mine.run("prepare").exit_code == 0
    execute(database, "REVOKE SELECT (xmin) ON city FROM reader")
    mine.write(mine.text().replace('how = "query"', 'how = "query"\ndetect = "hash"'))
    assert mine.run("prepare").exit_code == 0
