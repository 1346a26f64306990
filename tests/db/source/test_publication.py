"""What the connector receives of tables with excluded columns, on a real PostgreSQL."""

import dataclasses
from collections.abc import Iterator

import pytest

from db.source import objects as source_objects
from db.source import plan as source_plan
from db.source.objects import SourceObjects, WantedTable
from db.source.plan import prepare, source_problems
from local.services.postgres import ConnectionParameters
from tests.conftest import ask, execute
from tests.db.source.test_preparing import PASSWORD, ROLE, connector, cursor_of, forget

pytestmark = pytest.mark.integration

TABLES = """
CREATE TABLE people (id INT PRIMARY KEY, loud TEXT GENERATED ALWAYS AS (upper(mail)) STORED, note TEXT, mail TEXT);
CREATE TABLE visits (id INT, at DATE DEFAULT now(), note TEXT, mail TEXT, PRIMARY KEY (at, id)) PARTITION BY LIST (at);
CREATE TABLE visits_rest PARTITION OF visits DEFAULT;
CREATE TABLE whole (id INT PRIMARY KEY, mail TEXT, note TEXT);
ALTER TABLE whole REPLICA IDENTITY FULL;
CREATE TABLE coded (id INT, mail TEXT PRIMARY KEY, note TEXT);
CREATE TABLE amid (id INT PRIMARY KEY, mail TEXT, note TEXT);
"""
KEYS = {"people": ("id",), "visits": ("at", "id"), "whole": ("id",), "coded": ("mail",), "amid": ("id",)}
WANTED = SourceObjects(
    publication="cdc_shop",
    slot="cdc_shop",
    schema="cdc_shop",
    role=ROLE,
    tables=tuple(
        WantedTable(
            schema="public",
            name=name,
            key=key,
            leave_out=frozenset({"mail", "loud"} if name == "people" else {"mail"}),
        )
        for name, key in KEYS.items()
    ),
)


@pytest.fixture
def prepared(database: ConnectionParameters) -> Iterator[ConnectionParameters]:
    execute(database, TABLES)
    prepare(database, WANTED, password=PASSWORD)
    yield database
    forget(database, ROLE)


@pytest.mark.parametrize(("table", "leaves"), [("people", False), ("visits", False), ("whole", True), ("amid", True)])
def test_columns_that_are_left_out_are_sent_only_where_the_identity_or_debezium_needs_them(
    prepared: ConnectionParameters, table: str, leaves: bool
) -> None:
    with connector(prepared) as cursor:
        cursor.execute("SELECT pg_create_logical_replication_slot('shop_under_test', 'pgoutput')")
        execute(prepared, f"INSERT INTO {table} (id, mail, note) VALUES (1, 'a@b.c', 'first')")
        execute(prepared, f"UPDATE {table} SET mail = 'a@d.e', note = 'second'; DELETE FROM {table}")
        cursor.execute(
            "SELECT string_agg(data, '') FROM pg_logical_slot_peek_binary_changes('shop_under_test', NULL, NULL,"
            " 'proto_version', '1', 'publication_names', 'cdc_shop')"
        )
        (changes,) = cursor.fetchone() or (b"",)
    assert b"first" in bytes(changes)
    assert b"second" in bytes(changes)
    # Long enough that no position or time in the WAL looks like it.
    assert (b"a@b.c" in bytes(changes).lower()) == leaves


def test_who_prepares_hears_what_is_sent_all_the_same_and_what_a_list_of_columns_takes(
    prepared: ConnectionParameters,
) -> None:
    with cursor_of(prepared) as cursor:
        state = source_objects.read(cursor, WANTED)
    whole, coded, amid, listed = source_plan.make_plan(WANTED, state).remarks
    sent = "PostgreSQL sends mail, and only the connector leaves it out"
    assert whole == f"public.whole: {sent}: its replica identity is the whole row (FULL)"
    assert coded == f"public.coded: {sent}: its replica identity has a column that is left out, or generated"
    assert amid == f"public.amid: {sent}: columns that are captured come after it"
    assert listed.startswith("published by their columns: public.people, public.visits: run this again after a column")
    before_lists = source_plan.make_plan(WANTED, dataclasses.replace(state, version=140000, published=None))
    assert [line for line in before_lists.remarks if "from version 15 on" not in line] == []
    assert "    public.people,\n" in before_lists.script


CHANGES = [
    (
        "ALTER TABLE people ADD COLUMN added INT",
        "{id,note,mail,added}",
        "the publication lacks added, so changes are missing: run `./lake source prepare shop --dsn …`, then `./lake"
        " resnapshot"
        " -p shop -t public.people`",
    ),
    ("ALTER PUBLICATION cdc_shop SET TABLE people (id)", "{id,note}", "the publication lacks note,"),
    (
        "ALTER PUBLICATION cdc_shop SET TABLE people",
        "{id,note}",
        "the publication has mail, though leave_out names it",
    ),
    ("ALTER PUBLICATION cdc_shop SET TABLE people WHERE (id > 9)", "{id,note}", "the publication filters its rows"),
    ("ALTER TABLE people REPLICA IDENTITY FULL", "{id,note,mail}", "PostgreSQL refuses updates and deletes"),
    # db/source/replication.py reports that it isn't published at all.
    ("ALTER TABLE people DROP COLUMN note CASCADE", "{id}", None),
]


@pytest.mark.parametrize(("change", "columns", "line"), CHANGES)
def test_columns_that_are_not_published_as_the_file_says_are_told_until_it_is_prepared_again(
    prepared: ConnectionParameters, change: str, columns: str, line: str | None
) -> None:
    only = dataclasses.replace(WANTED, tables=WANTED.tables[:1])
    prepare(prepared, only)

    def found() -> list[str]:
        with cursor_of(prepared) as cursor:
            return source_problems(only, source_objects.read(cursor, only), "shop")

    assert found() == []
    execute(prepared, change)
    assert [said.startswith(f"public.people: {line}") for said in found()] == [True] * (line is not None)
    _, left = prepare(prepared, only)
    assert (left.steps, found()) == ((), [])
    assert ask(prepared, "SELECT attnames::text FROM pg_publication_tables WHERE tablename = 'people'") == columns
    execute(prepared, "INSERT INTO people (id) VALUES (1); UPDATE people SET mail = 'x'; DELETE FROM people")


def test_a_partitioned_table_gets_its_list_where_somebody_published_partitions(
    prepared: ConnectionParameters,
) -> None:
    execute(prepared, "ALTER PUBLICATION cdc_shop DROP TABLE visits")
    execute(prepared, "ALTER PUBLICATION cdc_shop SET (publish_via_partition_root = false)")
    _, left = prepare(prepared, WANTED)
    assert left.steps == ()
    assert (
        ask(prepared, "SELECT attnames::text FROM pg_publication_tables WHERE tablename = 'visits'") == "{id,at,note}"
    )
