"""A database gets what its connector needs; existing objects are kept, migrated or refused."""

import contextlib
import functools

import psycopg2
import pytest

from db import loading
from db.loading import LoadOptions, load
from db.migrating import migrate
from local.services.postgres import ConnectionParameters
from tests.conftest import ask, execute
from tests.db.earlier import make_earlier
from tests.stacks.handlers.cloudformation import DeploymentError, Stack, failing
from tests.stacks.handlers.preparation.cluster import Cluster
from tests.stacks.handlers.preparation.source import ROWS, log_in, request

pytestmark = pytest.mark.integration


def test_a_new_database_gets_everything_that_the_connector_needs(source: Stack, database: ConnectionParameters) -> None:
    assert source.create(request(database))["Loaded"] == 829
    assert ask(database, ROWS) == 829
    assert ask(database, "SELECT count(*) FROM pg_publication_tables WHERE pubname = 'cdc_publication'") == 2
    log_in(database, "first-Password")


def test_without_sample_data_the_tables_are_empty_and_captured(source: Stack, database: ConnectionParameters) -> None:
    assert source.create(request(database, sampleData=False, sampleScale=5))["Loaded"] == 0
    execute(database, "INSERT INTO datalake.orders (order_id) VALUES (1)")
    assert ask(database, ROWS) == 1


def test_a_delivery_that_comes_twice_changes_nothing(source: Stack, database: ConnectionParameters) -> None:
    source.create(request(database))
    execute(database, "INSERT INTO datalake.orders (order_id) VALUES (1)")
    assert source.create(request(database))["Loaded"] == 0
    assert ask(database, ROWS) == 830


def test_an_outbox_of_an_earlier_version_is_migrated_in_place(source: Stack, database: ConnectionParameters) -> None:
    load(database, LoadOptions(connector_password="x"), lambda *_: None)
    make_earlier(database, "statement")
    execute(database, "UPDATE datalake.orders SET freight = 4711 WHERE order_id = 10248")
    assert source.create(request(database))["Loaded"] == 0
    assert ask(database, "SELECT array_agg(mode) FROM datalake.outbox_versions") == ["statement", "transaction"]
    assert ask(database, ROWS) == 829
    assert ask(database, "SELECT freight FROM datalake.orders WHERE order_id = 10248") == 4711
    log_in(database, "first-Password")


def test_a_transaction_that_keeps_the_tables_is_waited_for(
    source: Stack, database: ConnectionParameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "migrate", functools.partial(migrate, max_wait_s=0.0))
    source.create(request(database))
    make_earlier(database)
    with contextlib.closing(psycopg2.connect(**database)) as till, till.cursor() as cursor:
        cursor.execute("UPDATE datalake.orders SET freight = 1 WHERE order_id = 10248")
        begun = source.send("Update")
        assert begun.poll() is None
    assert (begun.poll() or {})["Loaded"] == 0


def test_a_database_that_was_loaded_anew_is_taken_as_it_is(source: Stack, database: ConnectionParameters) -> None:
    source.create(request(database))
    load(database, LoadOptions(connector_password="x", replace=True), lambda *_: None)
    assert source.update(request(database))["Loaded"] == 0
    log_in(database, "first-Password")


@pytest.mark.parametrize(
    ("damage", "missing"),
    [
        ("DROP PUBLICATION cdc_publication", "not the publication cdc_publication"),
        ("DROP TABLE datalake.cdc_heartbeat", "not the table datalake.cdc_heartbeat"),
    ],
)
def test_half_a_source_is_refused(source: Stack, database: ConnectionParameters, damage: str, missing: str) -> None:
    source.create(request(database))
    execute(database, damage)
    with pytest.raises(DeploymentError, match=missing):
        source.send("Update").poll()


def test_a_schema_of_somebody_elses_is_left_alone(source: Stack, database: ConnectionParameters) -> None:
    execute(database, "CREATE SCHEMA datalake")
    execute(database, "CREATE TABLE datalake.theirs (id INT)")
    with pytest.raises(DeploymentError, match=r"the schema datalake is there, but not the table datalake\.cdc_events"):
        source.begin_create(request(database)).poll()
    assert ask(database, "SELECT to_regclass('datalake.theirs') IS NOT NULL")


@pytest.mark.parametrize(
    ("give", "take"),
    [
        ("ALTER ROLE cdc_connector SUPERUSER", "ALTER ROLE cdc_connector NOSUPERUSER"),
        ("ALTER ROLE cdc_connector CREATEROLE", "ALTER ROLE cdc_connector NOCREATEROLE"),
        ("CREATE ROLE rds_superuser ROLE cdc_connector", "DROP ROLE rds_superuser"),
    ],
)
def test_an_administrator_by_the_connectors_name_is_refused_and_nothing_changed(
    source: Stack, cluster: Cluster, database: ConnectionParameters, give: str, take: str
) -> None:
    load(database, LoadOptions(connector_password="theirs"), lambda *_: None)
    make_earlier(database)
    execute(database, give)
    try:
        reason = failing(source.create, request(database))
        assert reason == "the role cdc_connector is there with an administrator's rights: rename or demote it first"
        log_in(database, "theirs")
        assert ask(database, "SELECT array_agg(sql_hash) FROM datalake.outbox_versions") == ["earlier"]
        assert cluster.tags == {}
    finally:
        execute(database, take)
