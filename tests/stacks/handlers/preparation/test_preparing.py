"""A database gets what its connector needs, existing objects are kept, migrated or refused, and passwords follow."""

import contextlib
import functools
import json
import re
from collections.abc import Iterator
from typing import Any
from unittest.mock import Mock

import boto3
import psycopg2
import pytest
from botocore.exceptions import EndpointConnectionError

from db import loading
from db.loading import LoadOptions, load
from db.migrating import migrate
from local.services.postgres import ConnectionParameters
from stacks.handlers import preparation
from tests.conftest import ask, execute
from tests.db.earlier import make_earlier
from tests.stacks.handlers.clients import client
from tests.stacks.handlers.cloudformation import DeploymentError, Stack, failing
from tests.stacks.handlers.preparation.cluster import (
    CLUSTER,
    ROWS,
    Cluster,
    log_in,
    log_in_as,
    make_slot,
    slot_exists,
    superuser,
)

pytestmark = pytest.mark.integration


def test_a_new_database_gets_everything_that_the_connector_needs(source: Stack, database: ConnectionParameters) -> None:
    assert source.create()["Loaded"] == 829
    assert ask(database, ROWS) == 829
    assert ask(database, "SELECT count(*) FROM pg_publication_tables WHERE pubname = 'cdc_publication'") == 2
    log_in(database, "first-Password")


def test_without_sample_data_the_tables_are_empty_and_captured(source: Stack, database: ConnectionParameters) -> None:
    assert source.create(source.but(sampleData=False, sampleScale=5))["Loaded"] == 0
    execute(database, "INSERT INTO datalake.orders (order_id) VALUES (1)")
    assert ask(database, ROWS) == 1


def test_an_outbox_of_an_earlier_version_is_migrated_in_place(source: Stack, database: ConnectionParameters) -> None:
    load(database, LoadOptions(connector_password="x"), lambda *_: None)
    make_earlier(database, "statement")
    execute(database, "UPDATE datalake.orders SET freight = 4711 WHERE order_id = 10248")
    assert source.create()["Loaded"] == 0
    assert ask(database, "SELECT array_agg(mode) FROM datalake.outbox_versions") == ["statement", "transaction"]
    assert ask(database, ROWS) == 829
    assert ask(database, "SELECT freight FROM datalake.orders WHERE order_id = 10248") == 4711
    log_in(database, "first-Password")


def test_a_transaction_that_keeps_the_tables_is_waited_for(
    source: Stack, database: ConnectionParameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "migrate", functools.partial(migrate, max_wait_s=0.0))
    source.create()
    make_earlier(database)
    with contextlib.closing(psycopg2.connect(**database)) as till, till.cursor() as cursor:
        cursor.execute("UPDATE datalake.orders SET freight = 1 WHERE order_id = 10248")
        begun = source.send("Update")
        assert begun.poll() is None
    assert (begun.poll() or {})["Loaded"] == 0


def test_rows_that_are_refreshed_for_longer_than_patience_lasts_are_all_refreshed(
    source: Stack, database: ConnectionParameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.create()
    make_earlier(database)
    monkeypatch.setattr(preparation, "REFRESH_S", 0.0)
    monkeypatch.setenv("DEADLINE_SECONDS", "30")
    began = source.world.clock()
    assert source.update(source.but(sqlHash="1"))["Loaded"] == 0
    assert source.world.clock() - began > 60


@pytest.mark.parametrize(
    ("damage", "missing"),
    [
        ("DROP PUBLICATION cdc_publication", "not the publication cdc_publication"),
        ("DROP TABLE datalake.cdc_heartbeat", "not the table datalake.cdc_heartbeat"),
    ],
)
def test_half_a_source_is_refused(source: Stack, database: ConnectionParameters, damage: str, missing: str) -> None:
    source.create()
    execute(database, damage)
    with pytest.raises(DeploymentError, match=missing):
        source.send("Update").poll()


@pytest.mark.parametrize(
    ("give", "take"),
    [
        ("ALTER ROLE cdc_connector SUPERUSER", "ALTER ROLE cdc_connector NOSUPERUSER"),
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
        reason = failing(source.create)
        assert reason == "the role cdc_connector is there with an administrator's rights: rename or demote it first"
        log_in(database, "theirs")
        assert ask(database, "SELECT array_agg(sql_hash) FROM datalake.outbox_versions") == ["earlier"]
        assert cluster.tags == {}
    finally:
        execute(database, take)


def test_an_update_keeps_the_data_and_the_id_and_renews_the_password(
    source: Stack, secrets: Any, database: ConnectionParameters
) -> None:
    source.create()
    before = source.physical_id
    secrets.put_secret_value(
        SecretId="connector", SecretString=json.dumps({"username": "x", "password": "second-Pass"})
    )
    assert source.update(source.but(sampleScale=3))["Loaded"] == 0
    assert ask(database, ROWS) == 829
    assert (source.physical_id, source.deleted) == (before, [])
    log_in(database, "second-Pass")
    with pytest.raises(psycopg2.OperationalError, match="password authentication failed"):
        log_in(database, "first-Password")


def test_a_newer_outbox_stays_as_it_is_and_the_connector_gets_its_password(
    source: Stack, secrets: Any, database: ConnectionParameters, caplog: pytest.LogCaptureFixture
) -> None:
    source.create()
    execute(database, "UPDATE datalake.outbox_versions SET steps = steps || '9999_later'::text, sql_hash = 'later'")
    secrets.put_secret_value(SecretId="connector", SecretString=json.dumps({"username": "x", "password": "second"}))
    assert source.update(source.but(sampleScale=2))["Loaded"] == 0
    assert "the database's outbox is of a newer version than this code" in caplog.text
    assert ask(database, "SELECT sql_hash FROM datalake.outbox_versions") == "later"
    log_in(database, "second")


def test_a_password_that_is_being_rotated_is_read_again(
    source: Stack, secrets: Any, database: ConnectionParameters
) -> None:
    """The database has the new password before the secret does."""
    with superuser(database, "owner", "rotated"):
        log_in_as(secrets, database, username="owner", password="first")
        begun = source.begin_create()
        assert begun.poll() is None
        log_in_as(secrets, database, username="owner", password="rotated")
        assert begun.poll() is not None
        assert ask(database, ROWS) == 829


def test_a_password_that_stays_wrong_ends_with_one_line_and_nothing_to_delete(
    source: Stack, secrets: Any, database: ConnectionParameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEADLINE_SECONDS", "60")
    make_slot(database)
    log_in_as(secrets, database, password="wrong")
    reason = failing(source.create)
    assert re.fullmatch(
        "gave up waiting: cannot connect to [^ ]+: password authentication failed for user .postgres. .*: the master's"
        " secret says another password than the database has, or is being rotated",
        reason,
    )
    # `create` has deleted it by now: it never logged in.
    assert source.deleted == [source.physical_id]
    assert slot_exists(database)


def test_the_secret_is_read_again_on_the_way_down_too(
    source: Stack, secrets: Any, database: ConnectionParameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.create()
    make_slot(database)
    log_in_as(secrets, database, password="before the rotation")
    begun = source.send("Delete")
    assert begun.poll() is None
    with monkeypatch.context() as outage:
        outage.setattr(boto3, "client", Mock(side_effect=EndpointConnectionError(endpoint_url="x")))
        assert begun.poll() is None
    log_in_as(secrets, database)
    assert begun.poll() is not None
    assert not slot_exists(database)


def test_a_secret_that_cant_be_read_is_the_reason(source: Stack) -> None:
    with pytest.raises(DeploymentError, match="cannot read the secret nowhere"):
        source.begin_create(source.but(connectorSecret="nowhere")).poll()


@pytest.fixture
def passwords(cluster: Cluster) -> Iterator[list[str]]:  # noqa: ARG001  whose they are
    """Passwords that RDS is to give the master."""
    told: list[str] = []
    events = client("rds").meta.events
    events.register("provide-client-params.rds.ModifyDBCluster", tell := lambda params, **_: _note(told, params))
    yield told
    events.unregister("provide-client-params.rds.ModifyDBCluster", tell)


def _note(told: list[str], params: dict[str, Any]) -> None:
    assert (params["DBClusterIdentifier"], params["ApplyImmediately"]) == (CLUSTER, True)
    told.append(params["MasterUserPassword"])


def test_a_restored_clusters_master_gets_the_secrets_password(
    source: Stack, secrets: Any, passwords: list[str], database: ConnectionParameters
) -> None:
    """The server gets the change that RDS would make."""
    log_in_as(secrets, database, username="restored", password="of-the-secret")
    with superuser(database, "restored", "of the snapshot"):
        begun = source.begin_create(source.but(setMasterPassword=True))
        assert begun.poll() is None
        assert passwords == ["of-the-secret"]
        execute(database, "ALTER ROLE restored PASSWORD 'of-the-secret'")
        assert begun.poll() is not None


def test_nobody_elses_password_is_set(
    source: Stack, secrets: Any, passwords: list[str], database: ConnectionParameters
) -> None:
    log_in_as(secrets, database, password="wrong")
    assert source.begin_create(source.but(setMasterPassword=False)).poll() is None
    assert passwords == []
