"""A pipeline's source gets exactly the rights and objects that it needs, on a real PostgreSQL."""

import contextlib
import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

import psycopg2
import pytest
from psycopg2.errors import InsufficientPrivilege
from psycopg2.extensions import cursor as Cursor

from contract.source import heartbeat_statement
from db import connecting
from db.connecting import LaterError, LoadError
from db.source import plan as source_preparing
from db.source import rights
from db.source.objects import SourceObjects, WantedTable
from db.source.plan import UnpreparableError, prepare
from db.source.signals import Reading, check, check_readable
from local.services.postgres import ConnectionParameters
from tests.conftest import ask, execute
from tests.db.conftest import forget, role_of

pytestmark = pytest.mark.integration

ROLE = "connector_under_test"
PASSWORD = "connector-Secret/2"
SHOP = """
CREATE SCHEMA "Sales Dept";
CREATE TABLE "Sales Dept"."Order Details" ("Order ID" INT PRIMARY KEY, "E-Mail" TEXT, note TEXT);
CREATE TABLE public.no_key (at TIMESTAMPTZ NOT NULL DEFAULT now(), what TEXT);
CREATE TABLE public.unique_key (code CHAR(3) NOT NULL UNIQUE, label TEXT);
CREATE TABLE public.nothing (id INT PRIMARY KEY);
ALTER TABLE public.nothing REPLICA IDENTITY NOTHING;
CREATE TABLE public.guarded (id INT PRIMARY KEY, owner TEXT);
ALTER TABLE public.guarded ENABLE ROW LEVEL SECURITY;
CREATE TABLE public.logged (at DATE, line TEXT, PRIMARY KEY (at, line)) PARTITION BY LIST (at);
CREATE TABLE public.logged_rest PARTITION OF public.logged DEFAULT;
ALTER TABLE public.logged_rest REPLICA IDENTITY NOTHING;
CREATE TABLE public.unkeyed (at DATE NOT NULL, line TEXT) PARTITION BY LIST (at);
CREATE TABLE public.unkeyed_rest PARTITION OF public.unkeyed DEFAULT;
CREATE TABLE public.not_captured (id INT PRIMARY KEY);
CREATE VIEW public.seen AS SELECT 1 AS id;
CREATE UNLOGGED TABLE public.cache (id INT PRIMARY KEY);
CREATE TABLE public.cased (id INT PRIMARY KEY, "Id" INT);
"""
WANTED = SourceObjects(
    publication="cdc_shop",
    slot="cdc_shop",
    schema="cdc_shop",
    role=ROLE,
    tables=(
        WantedTable(schema="Sales Dept", name="Order Details", key=("Order ID",), leave_out=frozenset({"E-Mail"})),
        WantedTable(schema="public", name="no_key", key=()),
        WantedTable(schema="public", name="unique_key", key=("code",)),
        WantedTable(schema="public", name="nothing", key=("id",)),
        WantedTable(schema="public", name="guarded", key=("id",)),
        WantedTable(schema="public", name="logged", key=()),
    ),
)


@pytest.fixture
def shop(database: ConnectionParameters) -> Iterator[ConnectionParameters]:
    execute(database, SHOP)
    yield database
    forget(database, ROLE)


@contextlib.contextmanager
def cursor_of(parameters: ConnectionParameters, **changes: Any) -> Iterator[Cursor]:
    settings: dict[str, Any] = {**parameters, **changes}
    with contextlib.closing(psycopg2.connect(**settings)) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            yield cursor


class Later(psycopg2.extensions.connection):
    """A connection that takes the server for PostgreSQL 18."""

    server_version = 180_000


@contextlib.contextmanager
def connector(parameters: ConnectionParameters) -> Iterator[Cursor]:
    with cursor_of(parameters, user=ROLE, password=PASSWORD) as cursor:
        yield cursor


@pytest.fixture
def prepared(shop: ConnectionParameters) -> ConnectionParameters:
    done, left = prepare(shop, WANTED, password=PASSWORD)
    assert done.steps
    assert left.steps == ()
    return shop


def test_the_role_reads_these_tables_and_no_column_that_is_left_out(prepared: ConnectionParameters) -> None:
    with connector(prepared) as cursor:
        cursor.execute('SELECT "Order ID", note FROM "Sales Dept"."Order Details"')
        cursor.execute("SELECT * FROM no_key, unique_key, nothing, guarded, logged")
        for statement in (
            'SELECT "E-Mail" FROM "Sales Dept"."Order Details"',
            "SELECT * FROM not_captured",
            "DELETE FROM unique_key",
            "UPDATE cdc_shop.heartbeat SET id = 2",
            "DELETE FROM cdc_shop.heartbeat",
            "CREATE TABLE cdc_shop.mine (id INT)",
        ):
            with pytest.raises(InsufficientPrivilege):
                cursor.execute(statement)


def test_the_role_beats_and_marks_snapshots_and_both_leave_the_database(prepared: ConnectionParameters) -> None:
    with connector(prepared) as cursor:
        cursor.execute("SELECT pg_create_logical_replication_slot('shop_under_test', 'pgoutput')")
        cursor.execute(heartbeat_statement("cdc_shop"))
        assert cursor.rowcount == 1
        cursor.execute("INSERT INTO cdc_shop.signal VALUES ('1', 'snapshot-window-open', NULL)")
        cursor.execute("DELETE FROM cdc_shop.signal WHERE id = '1'")
        cursor.execute(
            "SELECT count(*) FROM pg_logical_slot_peek_binary_changes('shop_under_test', NULL, NULL,"
            " 'proto_version', '1', 'publication_names', 'cdc_shop') WHERE get_byte(data, 0) IN (68, 73, 85)"
        )
        assert cursor.fetchone() == (3,)


def test_row_security_hides_nothing_from_the_role(prepared: ConnectionParameters) -> None:
    execute(prepared, "INSERT INTO guarded VALUES (1, 'alice')")
    assert ask({**prepared, "user": ROLE, "password": PASSWORD}, "SELECT count(*) FROM guarded") == 1
    execute(prepared, "CREATE POLICY others ON guarded AS RESTRICTIVE TO CURRENT_USER USING (owner = 'bob')")
    execute(prepared, "CREATE POLICY less ON guarded AS RESTRICTIVE FOR SELECT USING (owner = 'bob')")
    with pytest.raises(UnpreparableError, match=r"^public\.guarded: a restrictive row policy hides rows from"):
        prepare(prepared, WANTED)
    execute(prepared, "ALTER POLICY less ON guarded TO CURRENT_USER")
    prepare(prepared, WANTED)


def test_writers_go_on_as_before(prepared: ConnectionParameters) -> None:
    for statement in (
        "INSERT INTO no_key (what) VALUES ('a'); UPDATE no_key SET what = 'x'",
        "INSERT INTO unique_key VALUES ('a'); DELETE FROM unique_key",
        "INSERT INTO nothing VALUES (1); DELETE FROM nothing",
        "INSERT INTO logged VALUES (now(), 'a'); UPDATE logged SET line = 'x'",
        """INSERT INTO "Sales Dept"."Order Details" VALUES (1); UPDATE "Sales Dept"."Order Details" SET note = 'x'""",
    ):
        execute(prepared, statement)


def test_the_identity_is_the_smallest_that_has_the_key(prepared: ConnectionParameters) -> None:
    expected = {**dict.fromkeys(("Order Details", "nothing", "guarded", "logged_rest"), "d")}
    expected |= {"no_key": "f", "unique_key": "i"}
    found = ask(prepared, "SELECT json_object_agg(relname, relreplident) FROM pg_class WHERE relkind = 'r'")
    assert {table: found[table] for table in expected} == expected


def test_no_partition_that_is_added_later_refuses_an_update(prepared: ConnectionParameters) -> None:
    execute(prepared, "CREATE TABLE logged_2026 PARTITION OF logged FOR VALUES IN ('2026-01-01')")
    execute(prepared, "INSERT INTO logged VALUES ('2026-01-01', 'a'); UPDATE logged SET line = 'x'")
    wanted = dataclasses.replace(WANTED, tables=(WantedTable(schema="public", name="unkeyed", key=()),))
    with pytest.raises(UnpreparableError, match=r"public\.unkeyed: without a primary key, a partition that is added"):
        prepare(prepared, wanted)
    # An earlier release published it.
    execute(prepared, "ALTER PUBLICATION cdc_shop ADD TABLE unkeyed")
    _, left = prepare(prepared, wanted)
    execute(prepared, "INSERT INTO unkeyed VALUES (now(), 'a'); UPDATE unkeyed SET line = 'x'")
    assert "or run this again after each" in "".join(left.remarks)


def test_what_leaves_the_pipeline_leaves_publication_and_rights(prepared: ConnectionParameters) -> None:
    unique_key = dataclasses.replace(WANTED.tables[2], leave_out=frozenset({"label"}))
    prepare(prepared, dataclasses.replace(WANTED, tables=(WANTED.tables[1], unique_key, *WANTED.tables[3:])))
    published = "SELECT array_agg(schemaname || '.' || tablename) FROM pg_publication_tables WHERE pubname = 'cdc_shop'"
    assert set(ask(prepared, published)) == {
        *(f"public.{name}" for name in ("no_key", "unique_key", "nothing", "guarded", "logged")),
        "cdc_shop.heartbeat",
        "cdc_shop.signal",
    }
    columns = "SELECT attnames::text FROM pg_publication_tables WHERE tablename = 'unique_key'"
    assert ask(prepared, columns) == "{code}"
    with connector(prepared) as cursor:
        cursor.execute("SELECT code FROM unique_key")
        for column, table in (("label", "unique_key"), ("note", '"Sales Dept"."Order Details"')):
            with pytest.raises(InsufficientPrivilege):
                cursor.execute(f"SELECT {column} FROM {table}")


def test_a_table_that_another_pipeline_publishes_under_any_name_stays_readable(prepared: ConnectionParameters) -> None:
    another = dataclasses.replace(WANTED, publication="other_pub", slot="cdc_other", schema="cdc_other")
    prepare(prepared, another)
    prepare(prepared, dataclasses.replace(WANTED, tables=WANTED.tables[1:]))
    with connector(prepared) as cursor:
        cursor.execute('SELECT note FROM "Sales Dept"."Order Details"')


def test_a_column_that_a_snapshot_could_not_read_is_missed_before_it_would(prepared: ConnectionParameters) -> None:
    table, left_out = ("Sales Dept", "Order Details"), {"E-Mail"}
    # From 18 on PostgreSQL could send a generated column, but not in a publication of ours.
    with cursor_of(prepared, connection_factory=Later) as cursor:
        check_readable(cursor, ROLE, table, left_out)
        cursor.execute('ALTER TABLE "Sales Dept"."Order Details" ADD COLUMN added INT')
        with pytest.raises(LoadError, match=r"may not read added of Sales Dept\.Order Details: prepare the database"):
            check_readable(cursor, ROLE, table, left_out)
        prepare(prepared, WANTED)
        check_readable(cursor, ROLE, table, left_out)
        cursor.execute("ALTER TABLE unique_key ADD COLUMN doubled INT GENERATED ALWAYS AS (2) STORED")
        with pytest.raises(LoadError, match=r"public\.unique_key can't be read by a snapshot: doubled is generated"):
            check_readable(cursor, ROLE, ("public", "unique_key"), ())
        check_readable(cursor, ROLE, ("public", "unique_key"), {"doubled"})


def test_each_right_that_is_missing_is_named_and_nothing_is_changed(shop: ConnectionParameters) -> None:
    with role_of(shop, "weak_under_test") as weak, pytest.raises(UnpreparableError) as raised:
        prepare(weak, WANTED)
    role, create, usage, select, *_, publish = raised.value.lines
    assert role == "you may not make a role with REPLICATION (a superuser, or CREATEROLE and REPLICATION)"
    assert create.startswith("you may not create in the database test_")
    assert usage == 'you may not grant USAGE on the schema "Sales Dept", which belongs to postgres'
    assert select.startswith('you may not grant SELECT on "Sales Dept"."Order Details", public.no_key')
    assert select.endswith("and 3 more, which belong to postgres (GRANT postgres TO weak_under_test)")
    assert "nor publish" in publish
    assert ask(shop, "SELECT count(*) FROM pg_publication") == 0


def test_an_owner_without_a_superusers_rights_is_enough_once_the_role_is_there(shop: ConnectionParameters) -> None:
    execute(shop, f"CREATE ROLE {ROLE} LOGIN REPLICATION")
    tables = ['public"."logged_rest', *(f'{table.schema}"."{table.name}' for table in WANTED.tables)]
    with role_of(shop, "owner_under_test") as owner:
        for owned in (f'DATABASE "{shop["dbname"]}"', 'SCHEMA "Sales Dept"', *(f'TABLE "{name}"' for name in tables)):
            execute(shop, f"ALTER {owned} OWNER TO owner_under_test")
        _, left = prepare(owner, WANTED)
        assert left.steps == ()


def test_on_rds_the_role_gets_rds_replication_in_place_of_the_attribute(shop: ConnectionParameters) -> None:
    with contextlib.closing(psycopg2.connect(**shop)) as connection, connection.cursor() as cursor:
        # Not committed: the server's other databases aren't on RDS.
        cursor.execute("CREATE ROLE rds_replication")
        planned = source_preparing.plan(cursor, WANTED)
        for step in planned.steps:
            for statement in step.statements:
                cursor.execute(statement)
        assert f"CREATE ROLE {ROLE} LOGIN;" in planned.script
        assert f"GRANT rds_replication TO {ROLE};" in planned.script
        assert source_preparing.plan(cursor, WANTED).steps == ()


CLEAR = "isn't text, and only texts are hashed: leave_out in place of hash"
PROBLEMS = {
    "seen": ["public.seen: a view has no changes of its own: capture the tables that it reads"],
    "cache": ["public.cache: unlogged: its changes aren't in the log (ALTER TABLE … SET LOGGED)"],
    "parts": ["public.parts: its partition public.fast is unlogged: its changes aren't in the log (ALTER TABLE … SET"],
    "gone": ["public.gone: no such table: take it out of the pipeline, or check the database"],
    "cased": ["public.cased: columns differ only by case (id, Id), which Debezium can't take: rename one, or take"],
    "no_key": ["public.no_key has no column id, which the pipeline names"],
    "people": [f"public.people: {column} {CLEAR}" for column in ("ip", "tax_id", "who")],
}


def test_each_table_that_cannot_be_captured_is_one_line(shop: ConnectionParameters) -> None:
    execute(shop, "CREATE DOMAIN mail AS TEXT; CREATE TYPE mood AS ENUM ('sad')")
    execute(shop, "CREATE TABLE people (id INT PRIMARY KEY, email mail, mood mood, tax_id INT, ip INET, who UUID)")
    execute(shop, "CREATE TABLE parts (id INT PRIMARY KEY) PARTITION BY LIST (id)")
    execute(shop, "CREATE UNLOGGED TABLE fast PARTITION OF parts FOR VALUES IN (1)")
    execute(shop, "CREATE PUBLICATION cdc_shop FOR ALL TABLES")
    tables = [WantedTable(schema="public", name=name, key=("id",)) for name in PROBLEMS]
    tables[-1] = dataclasses.replace(tables[-1], hashed=frozenset({"email", "mood", "tax_id", "ip", "who"}))
    with pytest.raises(UnpreparableError) as raised:
        prepare(shop, dataclasses.replace(WANTED, role="postgres", tables=tuple(tables)))
    role, publication, *lines = raised.value.lines
    assert role == "the role postgres is there with an administrator's rights: rename or demote it first"
    assert publication.startswith("the publication cdc_shop is FOR ALL TABLES: ")
    for line, problem in zip(lines, itertools.chain(*PROBLEMS.values()), strict=True):
        assert line.startswith(problem)


def test_a_table_in_use_is_not_waited_for_long(shop: ConnectionParameters, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_preparing, "LOCK_TIMEOUT_S", 0.1)
    with contextlib.closing(psycopg2.connect(**shop)) as reader, reader.cursor() as cursor:
        cursor.execute("SELECT * FROM no_key")
        with pytest.raises(LaterError, match="a table is in use") as raised:
            prepare(shop, WANTED)
    assert "ALTER TABLE public.no_key REPLICA IDENTITY FULL; nothing was changed" in str(raised.value)


def test_another_preparation_is_waited_for(shop: ConnectionParameters, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "LOCK_TIMEOUT_S", 0.1)
    with contextlib.closing(psycopg2.connect(**shop)) as other, other.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", (rights.PREPARE_LOCK,))
        with pytest.raises(LaterError, match="another preparation"):
            prepare(shop, WANTED)


def test_a_password_is_never_sent_in_clear(shop: ConnectionParameters) -> None:
    with cursor_of(shop) as cursor:
        script = source_preparing.plan(cursor, WANTED, password=PASSWORD).script
    assert PASSWORD not in script
    assert "PASSWORD 'SCRAM-SHA-256$" in script


def test_a_condition_is_one_and_writes_nothing(shop: ConnectionParameters) -> None:
    for where in ("TRUE); DROP TABLE nothing; SELECT (TRUE", "no_such = 1", "TRUE -- no more"):
        with cursor_of(shop) as cursor, pytest.raises(LoadError, match="isn't a condition on public"):
            check(cursor, Reading(table=("public", "nothing"), where=where))


def test_a_name_with_a_percent_sign_is_a_name(database: ConnectionParameters) -> None:
    execute(database, 'CREATE TABLE "100 %s" ("%(x)s" INT PRIMARY KEY)')
    table = WantedTable(schema="public", name="100 %s", key=("%(x)s",))
    try:
        _, left = prepare(database, dataclasses.replace(WANTED, tables=(table,)))
        assert left.steps == ()
        with cursor_of(database) as cursor:
            check(cursor, Reading(table=("public", "100 %s"), pattern="public.100 %s"))
    finally:
        forget(database, ROLE)
