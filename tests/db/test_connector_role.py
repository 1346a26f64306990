"""The connector's role: its rights, and its preparation."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg2
import pytest
from psycopg2.errors import InsufficientPrivilege

from db import loading
from db.loading import LoadOptions, prepare
from db.sample import TABLES
from local.services.postgres import ConnectionParameters, Postgres
from tests.conftest import execute
from tests.db.conftest import CONNECTOR_PASSWORD, Shop, Template, shop_copy

pytestmark = pytest.mark.integration


PUBLISHED = {"cdc_events", "cdc_heartbeat"}


@pytest.fixture(scope="module")
def shop(postgres: Postgres, template: Template) -> Iterator[Shop]:
    """One database for all tests here: they change nothing."""
    with shop_copy(postgres, template("generated")) as copy:
        yield copy


@pytest.fixture
def connector(shop: Shop) -> dict[str, Any]:
    """The role's login; all databases of the server share its password."""
    shop.run(f"ALTER ROLE cdc_connector PASSWORD '{CONNECTOR_PASSWORD}'")
    login = {"user": "cdc_connector", "password": CONNECTOR_PASSWORD, "options": "-c search_path=datalake"}
    return {**shop.parameters, **login}


def test_it_may_read_what_is_published_and_beat_the_heart(connector: dict[str, Any], shop: Shop) -> None:
    for table in PUBLISHED:
        execute(connector, f"SELECT * FROM {table}")
    execute(connector, "UPDATE datalake.cdc_heartbeat SET beat_at = now() WHERE id = 1")
    execute(connector, "CALL datalake.outbox_beat()")
    assert shop.value("SELECT count(*) FROM cdc_heartbeat WHERE beat_at > now() - interval '1 minute'") == 1


@pytest.mark.parametrize(
    "statement",
    [
        *(f"SELECT 1 FROM {table}" for table in (*TABLES, "outbox_pending", "current_order_events")),
        "INSERT INTO cdc_events (order_id) VALUES (1)",
        "UPDATE cdc_events SET customer_id = NULL",
        "DELETE FROM cdc_events",
        "TRUNCATE cdc_events",
        "INSERT INTO cdc_heartbeat VALUES (1, now())",
        "UPDATE cdc_heartbeat SET id = 1",
        "DELETE FROM cdc_heartbeat",
        "CREATE TABLE datalake.mine (a int)",
        "CREATE TABLE public.mine (a int)",
        "CREATE SCHEMA mine",
        "CREATE ROLE mine",
        "CALL usp_init_order_events()",
        "SELECT outbox_orders_of('order', '{1}', 1)",
        "SELECT outbox_refresh_all()",
        "SELECT 1 FROM outbox_queue",
        "SELECT pg_read_file('postgresql.conf')",
        "COPY cdc_events TO PROGRAM 'cat'",
        "ALTER PUBLICATION cdc_publication ADD TABLE orders",
    ],
)
def test_it_may_do_nothing_else(connector: dict[str, Any], statement: str) -> None:
    with pytest.raises(psycopg2.Error) as caught:
        execute(connector, statement)
    assert isinstance(caught.value, InsufficientPrivilege) or re.search("must be (owner|superuser)", str(caught.value))


def test_its_rights_are_login_and_replication(shop: Shop) -> None:
    assert shop.value(
        "SELECT array[rolcanlogin, rolreplication, rolsuper, rolcreaterole, rolcreatedb, rolbypassrls]"
        " FROM pg_roles WHERE rolname = 'cdc_connector'"
    ) == [True, True, False, False, False, False]
    assert shop.value("SELECT rolpassword LIKE 'SCRAM-SHA-256%' FROM pg_authid WHERE rolname = 'cdc_connector'") is True
    assert shop.value("SELECT count(*) FROM pg_auth_members WHERE member = 'cdc_connector'::regrole") == 0


def test_of_two_preparations_at_once_one_loads_and_the_other_finds_it_done(database: ConnectionParameters) -> None:
    options = LoadOptions(connector_password="x", empty=True)
    with ThreadPoolExecutor(2) as pool:
        reports = list(pool.map(lambda _: prepare(database, options), range(2)))
    assert sorted(report is None for report in reports) == [False, True]


def test_a_broken_preparation_leaves_nothing(database: ConnectionParameters, monkeypatch: pytest.MonkeyPatch) -> None:
    class PowerCutError(Exception):
        pass

    def cut(*_: object) -> int:
        raise PowerCutError

    with monkeypatch.context() as patched:
        patched.setattr(loading, "fill", cut)
        with pytest.raises(PowerCutError):
            prepare(database, LoadOptions(connector_password="x", empty=True))
    assert prepare(database, LoadOptions(connector_password="x", empty=True)) is not None
