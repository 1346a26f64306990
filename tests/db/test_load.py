"""The loader's command line: a load, and every reason for which one fails, with the database unchanged."""

import contextlib
import dataclasses
import os
import secrets
import select
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from psycopg2.extras import LogicalReplicationConnection
from typer.testing import CliRunner, Result

from cli.__main__ import app
from contract.errors import CANNOT
from db import log_in, outbox
from db.connecting import LoadError, connect
from db.loading import LoadOptions, load
from local.services.postgres import ConnectionParameters, Postgres
from tests.conftest import ask, execute, fresh_database
from tests.db.conftest import CONNECTOR_PASSWORD, NORTHWIND, WITHOUT_DUMP, Shop, Template, role_of
from tests.db.pgoutput import Slot
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration
ROOT = Path(__file__).resolve().parents[2]
# What a load creates or changes, as text: all of it must be the same after a failed load.
STATE = """
    SELECT string_agg(line, E'\n' ORDER BY line) FROM (
        SELECT 'schema ' || nspname FROM pg_namespace WHERE nspname !~ '^pg_t'
        UNION ALL SELECT 'role ' || rolname || rolsuper || rolreplication || coalesce(rolpassword, '') FROM pg_authid
        UNION ALL SELECT 'publication ' || pubname FROM pg_publication
        UNION ALL SELECT 'setting ' || setconfig::text FROM pg_db_role_setting
        UNION ALL SELECT 'table ' || oid::regclass || ' ' || oid FROM pg_class
            WHERE relnamespace::regnamespace::text = 'datalake'
        UNION ALL SELECT 'granted ' || datacl::text FROM pg_database WHERE datname = current_database()
    ) AS state(line)
"""


def target(parameters: ConnectionParameters) -> list[str]:
    return ["--host", parameters["host"], "--port", str(parameters["port"]), "--dbname", parameters["dbname"]]


def load_cli(parameters: ConnectionParameters, *options: str, **environment: str) -> Result:
    """Run `./lake source load`; no terminal, as in a script."""
    secret = {"PGPASSWORD": parameters["password"], "CDC_CONNECTOR_PASSWORD": CONNECTOR_PASSWORD}
    command = ["source", "load", *target(parameters), "--user", parameters["user"], *options]
    return CliRunner().invoke(app, command, env={**secret, **environment})


def assert_refused(done: Result, *words: str) -> None:
    """CANNOT, one line with the problem and what to do, no traceback."""
    assert done.exit_code == CANNOT, done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    for word in words:
        assert word in line


@pytest.fixture(scope="module")
def empty_database(postgres: Postgres) -> Iterator[ConnectionParameters]:
    with fresh_database(postgres) as parameters:
        yield parameters


@pytest.fixture(scope="module")
def loaded_database(postgres: Postgres, template: Template) -> Iterator[ConnectionParameters]:
    with fresh_database(postgres, template=template("generated")) as parameters:
        yield parameters


@contextlib.contextmanager
def kept(database: ConnectionParameters) -> Iterator[ConnectionParameters]:
    """Check that the block leaves the database as it was."""
    before = ask(database, STATE)
    yield database
    assert ask(database, STATE) == before


@pytest.fixture
def unchanged(empty_database: ConnectionParameters) -> Iterator[ConnectionParameters]:
    with kept(empty_database):
        yield empty_database


@pytest.fixture
def loaded(loaded_database: ConnectionParameters) -> Iterator[ConnectionParameters]:
    with kept(loaded_database):
        yield loaded_database


def test_a_load_reports_what_it_did(database: ConnectionParameters) -> None:
    done = load_cli(database, "--yes", "--scale", "2")
    assert done.exit_code == 0, done.stderr
    assert "1,658 order events" in done.stdout
    assert ask(database, "SELECT count(*) FROM cdc_events") == 1658, "the search path finds the schema"
    assert ask(
        database, "SELECT array_agg(pubname || ' ' || tablename ORDER BY tablename) FROM pg_publication_tables"
    ) == ["cdc_publication cdc_events", "cdc_publication cdc_heartbeat"]


@WITHOUT_DUMP
def test_the_real_dump_loads(database: ConnectionParameters) -> None:
    done = load_cli(database, "--yes", "--from", str(NORTHWIND))
    assert done.exit_code == 0, done.stderr
    assert "829 order events" in done.stdout
    assert ask(database, "SELECT address FROM customers WHERE customer_id = 'VINET'") == "59 rue de l'Abbaye"


def test_a_dump_of_a_loaded_database_loads_again(postgres: Postgres, shop: Shop, tmp_path: Path) -> None:
    source = shop.parameters
    dump = tmp_path / "dump.sql"
    address = ["--host", source["host"], "--port", str(source["port"]), "--username", source["user"]]
    subprocess.run(
        [postgres.program("pg_dump"), *address, "--file", dump, source["dbname"]],
        env={"PGPASSWORD": source["password"]},
        check=True,
    )
    content = (
        "SELECT md5(string_agg((to_jsonb(e) - 'updated_at')::text, ',' ORDER BY order_id)) FROM datalake.cdc_events e"
    )
    with fresh_database(postgres) as other:
        load(other, LoadOptions(connector_password=CONNECTOR_PASSWORD, dump=dump))
        assert ask(other, content) == ask(source, content)


def test_replace_tells_a_waiting_slot_that_the_old_orders_are_gone(shop: Shop) -> None:
    shop.commit("INSERT INTO orders (order_id) VALUES (1)")
    done = load_cli(shop.parameters, "--yes", "--replace")
    assert done.exit_code == 0, done.stderr
    events = shop.events()
    assert [event.op for event in events] == ["d"] * 830 + ["c"] * 829
    assert {event.order_id for event in events[:830]} - {event.order_id for event in events[830:]} == {1}
    shop.assert_consistent()


def test_a_slot_from_before_the_first_load_can_read_it(database: ConnectionParameters) -> None:
    with contextlib.closing(psycopg2.connect(**database)) as connection:
        connection.autocommit = True
        slot = Slot(connection, f"early_{database['dbname']}")
        load(database, LoadOptions(connector_password=CONNECTOR_PASSWORD))
        assert len([event for event in slot.events() if event.table == "datalake.cdc_events"]) == 829


def test_a_role_that_is_there_keeps_its_password_unless_asked(database: ConnectionParameters) -> None:
    rows = "SELECT count(*) FROM datalake.cdc_events"
    load(database, LoadOptions(connector_password="first one", empty=True))
    first: ConnectionParameters = {**database, "user": "cdc_connector", "password": "first one"}
    again = ("--yes", "--empty", "--replace")
    assert "cdc_connector was there and keeps its password" in load_cli(database, *again).stdout
    assert ask(first, rows) == 0
    assert "keeps" not in load_cli(database, *again, "--change-password").stdout
    assert ask({**first, "password": CONNECTOR_PASSWORD}, rows) == 0
    with pytest.raises(psycopg2.OperationalError):
        ask(first, rows)


def test_no_password_reaches_the_servers_log_or_the_output(database: ConnectionParameters, postgres_log: Path) -> None:
    secret = secrets.token_urlsafe(16)
    given = {"CDC_CONNECTOR_PASSWORD": secret, "PGOPTIONS": "-c log_statement=all"}
    done = load_cli(database, "--yes", "--empty", "--change-password", **given)
    assert done.exit_code == 0, done.stderr
    log = postgres_log.read_text()
    assert "ROLE" in log
    assert "SCRAM-SHA-256" in log, "the statement that sets the password is logged, with a verifier"
    for text in (log, done.stdout, done.stderr):
        assert secret not in text
        assert database["password"] not in text


@pytest.mark.parametrize(
    ("options", "environment", "words"),
    [
        (("--yes",), {"PGPASSWORD": "wrong"}, ["password authentication failed", "check the user"]),
        (("--yes", "--host", "nowhere.invalid"), {}, ["nowhere.invalid", "host name"]),
        (("--yes", "--port", "1"), {}, ["127.0.0.1:1", "Connection refused", "is PostgreSQL running"]),
        (("--yes", "--dbname", "nowhere"), {}, ['database "nowhere" does not exist', "--dbname"]),
        (("--yes",), {"PGPASSWORD": ""}, ["set PGPASSWORD"]),
        (("--yes",), {"CDC_CONNECTOR_PASSWORD": ""}, ["set CDC_CONNECTOR_PASSWORD"]),
        (("--yes", "--scale", "2", "--from", "x.sql"), {}, ["doesn't go with --from"]),
        (("--yes", "--empty", "--scale", "2"), {}, ["--empty loads no rows"]),
        (("--yes", "--empty", "--from", "x.sql"), {}, ["--empty loads no rows"]),
        ((), {}, ["confirm with --yes"]),
    ],
)
def test_what_cant_be_loaded_into_or_isnt_said(
    unchanged: ConnectionParameters, options: tuple[str, ...], environment: dict[str, str], words: list[str]
) -> None:
    assert_refused(load_cli(unchanged, *options, **environment), *words)


def test_a_password_leaves_this_machine_only_over_tls(unchanged: ConnectionParameters) -> None:
    # Reaches loopback without looking like it.
    with pytest.raises(LoadError, match=r"does not support SSL.*only goes to another machine over TLS"):
        connect({**unchanged, "host": "0.0.0.0"})  # noqa: S104 - a target, nothing listens there


def test_wal_level_isnt_logical(unchanged: ConnectionParameters, monkeypatch: pytest.MonkeyPatch) -> None:
    read = outbox.read_state
    monkeypatch.setattr(outbox, "read_state", lambda cursor: dataclasses.replace(read(cursor), wal_level="replica"))
    assert_refused(load_cli(unchanged, "--yes"), "wal_level is replica", "postgresql.conf", "rds.logical_replication=1")


def test_the_schema_is_there(loaded: ConnectionParameters) -> None:
    assert_refused(load_cli(loaded, "--yes"), "the schema datalake is already there", "--replace")


def test_the_publication_is_there(database: ConnectionParameters) -> None:
    execute(database, "CREATE PUBLICATION cdc_publication")
    with kept(database):
        assert_refused(load_cli(database, "--yes"), "the publication cdc_publication is already there", "--replace")


def test_a_connector_is_streaming(loaded: ConnectionParameters) -> None:
    settings: dict[str, Any] = {**loaded, "connection_factory": LogicalReplicationConnection}
    with contextlib.closing(psycopg2.connect(**settings)) as connection, connection.cursor() as cursor:
        cursor.create_replication_slot("streaming", output_plugin="pgoutput")
        options = {"proto_version": "1", "publication_names": "cdc_publication"}
        cursor.start_replication("streaming", options=options, decode=False)
        assert_refused(load_cli(loaded, "--yes", "--replace"), "slot streaming is in use", "stop the connector")


def test_the_user_may_not(unchanged: ConnectionParameters) -> None:
    with role_of(unchanged, "guest") as guest:
        assert_refused(load_cli(guest, "--yes"), "permission denied for database", "nothing was loaded")


def test_the_connectors_role_is_an_administrator(database: ConnectionParameters, postgres: Postgres) -> None:
    admin = postgres.connection_parameters()
    execute(admin, "DO $$ BEGIN CREATE ROLE cdc_connector LOGIN; EXCEPTION WHEN duplicate_object THEN END $$")
    execute(admin, "ALTER ROLE cdc_connector CREATEROLE")
    try:
        with kept(database):
            assert_refused(load_cli(database, "--yes"), "cdc_connector is there with an administrator's rights")
    finally:
        execute(admin, "ALTER ROLE cdc_connector NOCREATEROLE")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("INSERT INTO orders VALUES (1, 'VI", "truncated"),
        ("INSERT INTO orders (order_id) VALUES ('x');", "invalid input syntax for type integer"),
        ("INSERT INTO orders (order_id, customer_id) VALUES (1, 'TOOLONG');", "value too long"),
        ("INSERT INTO orders (order_id) VALUES (1), (1);", "Key (order_id)=(1) is duplicated"),
        ("INSERT INTO orders (order_id, customer_id) VALUES (1, 'NONE');", "fk_orders_customers"),
    ],
)
def test_bad_dumps(unchanged: ConnectionParameters, tmp_path: Path, content: str, reason: str) -> None:
    dump = tmp_path / "dump.sql"
    dump.write_text(content)
    assert_refused(load_cli(unchanged, "--yes", "--from", str(dump)), reason)


def test_a_failed_replace_leaves_the_old_load(loaded: ConnectionParameters, tmp_path: Path) -> None:
    dump = tmp_path / "dump.sql"
    dump.write_text("INSERT INTO orders (order_id, customer_id) VALUES (1, 'NONE');")
    assert_refused(
        load_cli(loaded, "--yes", "--replace", "--from", str(dump)), "fk_orders_customers", "nothing was loaded"
    )
    assert ask(loaded, "SELECT count(*) FROM datalake.cdc_events") == 829


def test_a_lock_that_isnt_given_up_ends_the_load(loaded: ConnectionParameters, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("db.connecting.LOCK_TIMEOUT_S", 1)
    with contextlib.closing(psycopg2.connect(**loaded)) as reader, reader.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM datalake.orders")
        with pytest.raises(LoadError, match=r"lock timeout.*nothing was loaded"):
            load(loaded, LoadOptions(connector_password=CONNECTOR_PASSWORD, replace=True))


def test_a_connection_that_breaks_ends_the_load_with_one_line(unchanged: ConnectionParameters) -> None:
    def kill(step: str, done: int, _: int) -> None:
        if step == "load orders" and done:
            execute(
                {**unchanged, "dbname": "postgres"},
                f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'db.load'"
                f" AND datname = '{unchanged['dbname']}'",
            )

    with pytest.raises(LoadError, match="nothing was loaded") as caught:
        load(unchanged, LoadOptions(connector_password=CONNECTOR_PASSWORD), kill)
    assert "\n" not in str(caught.value)


def test_at_a_terminal_it_asks_and_shows_no_password(database: ConnectionParameters) -> None:
    # The spaces count: input typed before a prompt's last character, when echo is off, is discarded.
    dialogue = {
        "? [y/N]: ": "y",
        "Password of postgres: ": database["password"],
        "Password for the role cdc_connector: ": CONNECTOR_PASSWORD,
        "Repeat for confirmation: ": CONNECTOR_PASSWORD,
    }
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "CDC_"))}
    command = [sys.executable, "-m", "cli", "source", "load", *target(database)]
    screen, terminal = os.openpty()
    # A session of its own, so that getpass finds no other terminal.
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True
    ) as loader:
        os.close(terminal)
        try:
            shown = answer(screen, dialogue)
            loader.wait(PATIENCE_S)
        finally:
            loader.kill()
            os.close(screen)
    assert loader.returncode == 0, shown
    assert f"Create the schema datalake in {database['dbname']}" in shown
    assert "829 order events" in shown
    assert database["password"] not in shown
    assert CONNECTOR_PASSWORD not in shown


def answer(screen: int, dialogue: Mapping[str, str]) -> str:
    """Type each answer once its question is at the end of the screen; return everything shown until the end."""
    shown, questions = "", list(dialogue)
    while select.select([screen], [], [], 60)[0]:
        try:
            text = os.read(screen, 4096)
        except OSError:  # the program has ended, and its terminal with it
            assert questions == [], shown
            return shown
        shown += text.decode(errors="replace")
        if questions and shown.endswith(questions[0]):
            os.write(screen, f"{dialogue[questions.pop(0)]}\n".encode())
    pytest.fail(f"nothing more within 60 s: {shown}")


def test_at_a_terminal_no_is_no(unchanged: ConnectionParameters, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_in, "need_terminal", lambda _: None)
    done = CliRunner().invoke(app, ["source", "load", *target(unchanged)], input="n\n")
    assert done.exit_code == CANNOT
    assert "not confirmed, nothing was loaded" in done.stderr
