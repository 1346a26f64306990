"""The catalog of a real PostgreSQL is read correctly: types, odd values, wide tables."""

import contextlib
import json
from pathlib import Path

import psycopg2
import pytest

from capture import odd_values
from db.connecting import connect
from db.source import inspection
from db.source.catalogue import TableName
from local.services.postgres import ConnectionParameters
from settings.pipeline import CapturedTableSettings
from tests.capture.test_commands import Folder, folder_of
from tests.conftest import ask, execute

pytestmark = pytest.mark.integration


def test_a_column_has_its_type_with_what_that_is_made_of(nasty: ConnectionParameters) -> None:
    with contextlib.closing(connect(nasty)) as connection:
        tables = {table.name: table for table in inspection.inspect(connection).tables}
    everything = tables[TableName("public", "everything")]
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


def test_more_tables_take_no_more_queries(database: ConnectionParameters) -> None:
    execute(
        database,
        "DO $$ BEGIN FOR i IN 1..300 LOOP"
        " EXECUTE format('CREATE TABLE t%s (id INT PRIMARY KEY, price NUMERIC(%s, 2))', i, 2 + i % 30);"
        " END LOOP; END $$",
    )

    class Counting(psycopg2.extensions.cursor):
        queries = 0

        def execute(self, *args: object) -> None:
            type(self).queries += 1
            super().execute(*args)  # type: ignore[arg-type]

    with contextlib.closing(psycopg2.connect(**database, cursor_factory=Counting)) as connection:
        assert len(inspection.inspect(connection).tables) == 300
    assert Counting.queries < 15


HEADING = "Values that won't arrive as they are (docs/reference/types.md):"
# A column's type, an odd value of it, a normal one, and the message.
ODD = [
    ("timestamp", "'294250-01-01'", "'2026-11-20'", "after the year 294246: set aside"),
    ("timestamptz", "'-infinity'", "'294246-12-31'", "infinite: kept as a number (contract/events.py)"),
    ("date", "'1582-10-07'", "'1582-10-15'", "of the ten days that Gregory left out: a snapshot has it 10 days late"),
    ("interval", "'2147483648 hours'", "'99 years'", "more than 2³¹ hours: stops its table (on AWS the source)"),
    ("numeric(10,2)", "'NaN'", "1.5", "no number: null, and its name in __specials"),
    ("text[]", "'{{a,b},{c,d}}'", "'{a,NULL}'", "an array of several dimensions: set aside"),
    ("json[]", "'{NULL,NULL}'", "'{}'", "an array of nothing but NULLs: set aside"),
    ("date[]", "'{0044-03-15 BC}'", "'{infinity}'", "a date or timestamp BC within an array: comes as one AD"),
    ("timestamp[]", "'{1582-10-14}'", "'{1582-10-15}'", "a timestamp before 1582-10-15 within an array: comes days"),
    ("kept", "'__debezium_unavailable_value'", "'__debezium'", "what Debezium writes for a value that didn't change"),
]


@pytest.fixture
def mine(tmp_path: Path, database: ConnectionParameters, monkeypatch: pytest.MonkeyPatch) -> Folder:
    return folder_of(tmp_path, database, monkeypatch)


def test_each_value_that_arrives_as_another_is_counted_with_one_of_its_keys(mine: Folder) -> None:
    execute(mine.database, "CREATE DOMAIN kept AS text")
    columns = ", ".join(f'"of % {{{number}}}" {kind}' for number, (kind, *_) in enumerate(ODD))
    execute(mine.database, f'CREATE TABLE "Odd Ones" (id int PRIMARY KEY, {columns})')
    for number, (_, odd, plain, _) in enumerate(ODD):
        insert = f'INSERT INTO "Odd Ones" (id, "of % {{{number}}}") VALUES'
        execute(mine.database, f"{insert} ({number + 100}, {odd}), ({number + 200}, {plain})")
    said = mine.run("describe").stdout
    for number, (*_, comes) in enumerate(ODD):
        assert f"  public.Odd Ones: of % {{{number}}}: 1 row, such as key '{number + 100}': {comes}" in said
    assert said.count("such as key") == len(ODD)


def test_keys_and_rows_that_no_event_carries_are_said(mine: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    execute(mine.database, "CREATE TABLE keyed (code varchar(9) PRIMARY KEY, note text)")
    execute(mine.database, "INSERT INTO keyed VALUES ('', repeat('x', 17000000)), ('a', '')")
    execute(mine.database, "CREATE TABLE paired (code varchar(9), nr numeric(6,2), PRIMARY KEY (code, nr))")
    execute(mine.database, "INSERT INTO paired VALUES ('', 1), ('a', 'NaN')")
    said = mine.run("describe").stdout
    assert "public.keyed: code: 1 row, such as key '': an empty key: set aside" in said
    assert "public.paired: nr: 1 row, such as key 'a, NaN': no number: in a key: set aside" in said
    assert "public.keyed: (a whole row): 1 row, such as key '': of more than 16 MiB: no event may be" in said
    assert "paired: code" not in said
    # Query-based pipelines have no events.
    (mine.path / "mine.toml").unlink()
    asked = mine.run("describe", how="query").stdout
    assert ("an empty key" in asked, "a whole row" in asked) == (True, False)
    monkeypatch.setattr(odd_values, "SMALL_BYTES", 0)
    said = mine.run("describe").stdout
    assert "being larger than 0 MiB: public.keyed, public.paired: --look reads all of them once" in said
    assert HEADING not in said
    assert HEADING in mine.run("describe", "--look").stdout


def test_what_has_stopped_a_table_is_found_by_column_and_key_but_no_key_that_is_hashed(mine: Folder) -> None:
    execute(mine.database, "CREATE TABLE stopped (id text PRIMARY KEY, lasts interval, body text, note text)")
    execute(mine.database, "INSERT INTO stopped VALUES ('a', '1 day', 'x', 'x'), ('b', '2147483648 hours', 'x', 'x')")
    execute(mine.database, "CREATE TABLE large (id int, body text, note text)")
    execute(mine.database, "INSERT INTO large VALUES (7, repeat('x', 9000000), repeat('x', 9000000))")
    entry = CapturedTableSettings.model_validate(
        {"source": "public.stopped", "how": "log", "key": ["id"], "lake_table": "stopped", "truncate": "stop"}
    )
    with contextlib.closing(psycopg2.connect(**mine.database)) as connection:
        assert odd_values.what_stops(connection, entry) == "lasts: 1 row, such as key 'b'"
        execute(mine.database, "UPDATE stopped SET body = repeat('x', 17000000) WHERE id = 'a'")
        hashed = entry.model_copy(update={"hash": ("id",)})
        assert odd_values.what_stops(connection, hashed) == "body: 1 row; lasts: 1 row"
        execute(mine.database, "UPDATE stopped SET lasts = NULL, body = NULL")
        assert odd_values.what_stops(connection, entry) == ""
        whole = entry.model_copy(update={"table_name": "large"})
        assert odd_values.what_stops(connection, whole) == "(a whole row): 1 row, such as key '7'"


def test_a_table_that_cannot_be_looked_into_is_one_line(mine: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    execute(mine.database, "CREATE TABLE held (id int PRIMARY KEY, at date); CREATE TABLE other (at date PRIMARY KEY)")
    execute(mine.database, "INSERT INTO other VALUES ('infinity')")
    monkeypatch.setattr(odd_values, "_LOCK_S", 1)
    with contextlib.closing(psycopg2.connect(**mine.database)) as connection, connection.cursor() as cursor:
        cursor.execute("LOCK TABLE held IN ACCESS EXCLUSIVE MODE")
        done = mine.run("describe", tables="held,other")
    assert done.exit_code == 0, done.output
    assert (
        "  public.held wasn't looked into: PostgreSQL refused: canceling statement due to lock timeout" in done.stdout
    )
    assert "public.other: at: 1 row, such as key 'infinity': infinite" in done.stdout


MOST_COLUMNS = 1600


@pytest.mark.usefixtures("no_role")
def test_1600_columns_are_in_the_schema_and_all_but_one_may_be_read(
    tmp_path: Path, database: ConnectionParameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = ", ".join(f"c{number} int" for number in range(1, MOST_COLUMNS))
    execute(database, f"CREATE TABLE wide (id int PRIMARY KEY, {columns})")
    folder = Folder(tmp_path, database, monkeypatch)
    assert folder.run("describe").exit_code == 0
    assert {"id", *(f"c{number}" for number in range(1, MOST_COLUMNS))} <= folder.fields("wide").keys()
    (tmp_path / "mine.toml").write_text(folder.text() + 'leave_out = ["c7"]\n', encoding="utf-8")
    schema = json.loads((tmp_path / "mine" / "wide.avsc").read_text(encoding="utf-8"))
    schema["fields"] = [field for field in schema["fields"] if field["name"] != "c7"]
    (tmp_path / "mine" / "wide.avsc").write_text(json.dumps(schema), encoding="utf-8")
    done = folder.run("prepare", CDC_CONNECTOR_PASSWORD="Secret/1")
    assert done.exit_code == 0, done.output
    unreadable = (
        "SELECT array_agg(attname::text) FROM pg_attribute WHERE attrelid = 'wide'::regclass AND attnum > 0"
        " AND NOT has_column_privilege('cdc_connector', attrelid, attnum, 'SELECT')"
    )
    assert ask(database, unreadable) == ["c7"]
