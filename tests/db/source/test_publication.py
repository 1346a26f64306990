"""What the connector receives, and each obstacle to changes leaving the database."""

import contextlib
import dataclasses
import threading
from collections.abc import Iterator

import psycopg2
import pytest
from psycopg2.extensions import cursor as Cursor
from psycopg2.extras import LogicalReplicationConnection

from db.source import objects as source_objects
from db.source import plan as source_plan
from db.source import replication
from db.source.objects import WantedTable
from db.source.plan import prepare, source_problems
from db.source.replication import drop_slot
from local.services.postgres import ConnectionParameters
from local.services.source_database import SourceDatabase
from tests.conftest import ask, execute
from tests.db.conftest import Shop, forget
from tests.db.source.test_preparing import PASSWORD, ROLE, connector, cursor_of
from tests.db.source.test_preparing import WANTED as SHOP
from tests.waiting import wait_until

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
LEFT_OUT = dict.fromkeys(KEYS, frozenset({"mail"})) | {"people": frozenset({"mail", "loud"})}
WANTED = dataclasses.replace(
    SHOP,
    tables=tuple(
        WantedTable(schema="public", name=name, key=key, leave_out=LEFT_OUT[name]) for name, key in KEYS.items()
    ),
)


@pytest.fixture
def prepared(database: ConnectionParameters) -> Iterator[ConnectionParameters]:
    execute(database, TABLES)
    prepare(database, WANTED, password=PASSWORD)
    yield database
    forget(database, ROLE)


@pytest.mark.parametrize(("table", "leaves"), [("people", False), ("visits", False), ("whole", True), ("amid", True)])
def test_columns_left_out_stay_where_they_can(prepared: ConnectionParameters, table: str, leaves: bool) -> None:
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


def test_remarks_name_what_is_sent_all_the_same_and_what_a_column_list_takes(prepared: ConnectionParameters) -> None:
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
    ("ALTER PUBLICATION cdc_shop SET TABLE people", "{id,note}", "the publication has mail, though leave_out names it"),
    (
        "ALTER PUBLICATION cdc_shop SET TABLE people WHERE (id > 9);"
        " ALTER PUBLICATION cdc_shop SET (publish = 'insert')",
        "{id,note}",
        "the publication filters its rows",
    ),
    ("ALTER TABLE people REPLICA IDENTITY FULL", "{id,note,mail}", "PostgreSQL refuses updates and deletes"),
    # db/source/replication.py reports that it isn't published at all.
    ("ALTER TABLE people DROP COLUMN note CASCADE", "{id}", None),
]


@pytest.mark.parametrize(("change", "columns", "line"), CHANGES)
def test_wrong_columns_are_told(prepared: ConnectionParameters, change: str, columns: str, line: str | None) -> None:
    only = dataclasses.replace(WANTED, tables=WANTED.tables[:1])
    prepare(prepared, only)

    def found() -> list[str]:
        with cursor_of(prepared) as cursor:
            return source_problems(cursor, only, "shop")

    assert found() == []
    execute(prepared, change)
    assert [said.startswith(f"public.people: {line}") for said in found()] == [True] * (line is not None)
    _, left = prepare(prepared, only)
    assert (left.steps, found()) == ((), [])
    assert ask(prepared, "SELECT attnames::text FROM pg_publication_tables WHERE tablename = 'people'") == columns
    assert ask(prepared, "SELECT pubdelete AND pubupdate AND pubviaroot FROM pg_publication WHERE pubname = 'cdc_shop'")
    execute(prepared, "INSERT INTO people (id) VALUES (1); UPDATE people SET mail = 'x'; DELETE FROM people")


def test_a_partitioned_table_gets_its_list_where_somebody_published_partitions(prepared: ConnectionParameters) -> None:
    execute(prepared, "ALTER PUBLICATION cdc_shop DROP TABLE visits")
    execute(prepared, "ALTER PUBLICATION cdc_shop SET (publish_via_partition_root = false)")
    _, left = prepare(prepared, WANTED)
    assert left.steps == ()
    assert (
        ask(prepared, "SELECT attnames::text FROM pg_publication_tables WHERE tablename = 'visits'") == "{id,at,note}"
    )


SLOT = "slot_under_test"
CHANGE = "UPDATE cdc_events SET updated_at = now() WHERE order_id = 10248"


@pytest.fixture
def cursor(shop: Shop) -> Iterator[Cursor]:
    connection = shop.connect()
    connection.autocommit = True
    cursor = connection.cursor()
    assert replication.renew_slot(cursor, SLOT)
    try:
        yield cursor
    finally:
        wait_until(lambda: drop_slot(shop.parameters, SLOT))
        cursor.execute("ALTER ROLE cdc_connector LOGIN")


def problems(cursor: Cursor) -> list[str]:
    return replication.read_state(cursor, SLOT).problems


PEEK = (
    f"pg_logical_slot_peek_binary_changes('{SLOT}', NULL, NULL, 'proto_version', '1', 'publication_names',"
    " 'cdc_publication')"
)


def test_each_problem_is_a_line_until_it_is_mended(shop: Shop, cursor: Cursor) -> None:
    for breaking, said, mend in (
        (
            "ALTER ROLE cdc_connector NOLOGIN",
            "the connector's role cdc_connector may not log in: ALTER ROLE cdc_connector LOGIN; then `./lake up`",
            lambda: shop.run("ALTER ROLE cdc_connector LOGIN"),
        ),
        (
            "ALTER PUBLICATION cdc_publication DROP TABLE datalake.cdc_events",
            "lacks datalake.cdc_events: run `./lake resnapshot`, which does it",
            lambda: replication.restore_publication(cursor),
        ),
        (
            f"SELECT pg_drop_replication_slot('{SLOT}')",
            "is gone, and with it the changes that it held: run `./lake resnapshot`",
            lambda: replication.renew_slot(cursor, SLOT),
        ),
    ):
        shop.run(breaking)
        (line,) = problems(cursor)
        assert line.endswith(said)
        mend()
        assert problems(cursor) == []


def test_a_slot_further_behind_than_the_server_allows(cursor: Cursor) -> None:
    cursor.execute("ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'")
    cursor.execute("SELECT pg_reload_conf()")
    try:
        for _ in range(3):
            cursor.execute("SELECT pg_logical_emit_message(FALSE, 'x', 'y'), pg_switch_wal()")
        cursor.execute("CHECKPOINT")
        assert "is lost: it was further behind than max_slot_wal_keep_size (1MB) allows" in "".join(problems(cursor))
        assert replication.read_state(cursor, SLOT).slot_is_lost
    finally:
        cursor.execute("ALTER SYSTEM RESET max_slot_wal_keep_size")
        cursor.execute("SELECT pg_reload_conf()")
    assert replication.renew_slot(cursor, SLOT)
    assert problems(cursor) == []


def test_a_dropped_publication_is_made_again_as_it_was(shop: Shop, cursor: Cursor) -> None:
    described = "SELECT to_jsonb(p) - 'oid' FROM pg_publication p"
    before = shop.value(described)
    cursor.execute("DROP PUBLICATION cdc_publication")
    (line,) = problems(cursor)
    assert "the publication cdc_publication of test_" in line
    assert "is gone: run `./lake resnapshot`, which does it" in line
    replication.restore_publication(cursor)
    assert shop.value(described) == before
    assert replication.read_state(cursor, SLOT).publication_is_whole


def test_an_ordinary_pipelines_publication_is_prepared_before_the_lake_is_brought_back(cursor: Cursor) -> None:
    cursor.execute("DROP PUBLICATION IF EXISTS cdc_shop")
    wanted = replication.Expected(publication="cdc_shop", tables=frozenset({"public.customers"}), pipeline="shop")
    line = "".join(replication.read_state(cursor, SLOT, wanted).problems)
    assert (
        "is gone: run `./lake source prepare shop --dsn …` (the example's: `./lake up -p shop`),"
        " and then `./lake resnapshot -p shop`" in line
    )


def test_a_publication_made_again_after_the_slot_makes_it_unreadable(shop: Shop, cursor: Cursor) -> None:
    cursor.execute("DROP PUBLICATION cdc_publication")
    shop.run(CHANGE)
    replication.restore_publication(cursor)
    assert "can't be read: the publication cdc_publication was made again" in "".join(problems(cursor))
    assert replication.read_state(cursor, SLOT).slot_is_lost
    assert replication.renew_slot(cursor, SLOT)
    shop.run(CHANGE)
    assert problems(cursor) == []
    assert shop.value(f"SELECT count(*) FROM {PEEK}") > 0


def attempts(shop: Shop, stop: threading.Event) -> None:
    """Read the slot as a retrying connector does."""
    while not stop.is_set():
        connection = psycopg2.connect(**shop.parameters, connection_factory=LogicalReplicationConnection)
        with contextlib.closing(connection), connection.cursor() as reader, contextlib.suppress(psycopg2.Error):
            options = {"proto_version": "1", "publication_names": "cdc_publication"}
            reader.start_replication(SLOT, options=options)
            while not stop.is_set():
                reader.read_message()


@pytest.mark.parametrize("lost", [True, False])
def test_a_connector_that_keeps_retrying_hides_no_unreadable_slot(shop: Shop, cursor: Cursor, lost: bool) -> None:
    if lost:
        cursor.execute("DROP PUBLICATION cdc_publication")
    shop.run(CHANGE)
    # One that was only altered is as readable as before.
    replication.restore_publication(cursor)
    assert len(problems(cursor)) == lost
    stop = threading.Event()
    thread = threading.Thread(target=attempts, args=(shop, stop))
    thread.start()
    try:
        for _ in range(20):
            assert replication.judge(cursor, SLOT).slot_is_lost is lost
    finally:
        stop.set()
        thread.join()


@pytest.mark.usefixtures("cursor")
def test_nobody_elses_function_is_taken_for_the_servers(shop: Shop) -> None:
    # They fit literals and names better than the server's.
    for theirs in ("pg_drop_replication_slot(text)", "theirs(name, name)"):
        shop.run(f"CREATE FUNCTION public.{theirs} RETURNS int LANGUAGE sql AS 'SELECT 1 / 0'")
    shop.run("CREATE OPERATOR public.|| (FUNCTION = public.theirs, LEFTARG = name, RIGHTARG = name)")
    assert SourceDatabase(shop.parameters).replication(SLOT, replication.OUTBOX).problems == []
    assert drop_slot(shop.parameters, SLOT)


def test_the_table_of_a_change_at_a_position_of_the_log(shop: Shop, cursor: Cursor) -> None:
    shop.run(CHANGE)
    position = shop.value(f"SELECT lsn - '0/0' FROM {PEEK} WHERE get_byte(data, 0) = ascii('U')")
    assert replication.table_at(cursor, SLOT, "cdc_publication", int(position)) == "datalake.cdc_events"
    assert replication.table_at(cursor, SLOT, "cdc_publication", int(position) + 1) is None
