"""PostgreSQL stands in for Aurora, moto for Secrets Manager; botocore's stubber says what RDS knows of the cluster."""

import contextlib
import functools
import json
from collections.abc import Iterator
from typing import Any

import boto3
import psycopg2
import pytest
from botocore.stub import Stubber
from moto import mock_aws
from psycopg2.extras import LogicalReplicationConnection

from db import preparing
from db.loading import LoadOptions, load
from db.migrating import migrate
from local.postgres import ConnectionParameters, Postgres
from stacks.handlers import source_preparation
from tests.conftest import execute, free_port, fresh_database
from tests.db.released import load_released
from tests.stacks.handlers.clients import CREDENTIALS, client
from tests.stacks.handlers.deployment import Clock, DeploymentError, Resource

pytestmark = pytest.mark.integration

CLUSTER = "dev-cdc-lake"
SLOT = "cdc_orders"
ROWS = "SELECT count(*) FROM datalake.cdc_events"


@pytest.fixture
def secrets(database: ConnectionParameters, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Secrets Manager with the master's secret, as RDS writes it, and the connector's."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name.upper().replace("REGION_NAME", "AWS_DEFAULT_REGION"), value)
    with mock_aws():
        manager = boto3.client("secretsmanager")
        master = {**database, "username": database["user"], "engine": "postgres"}
        manager.create_secret(Name="master", SecretString=json.dumps(master))
        manager.create_secret(
            Name="connector", SecretString=json.dumps({"username": "cdc_connector", "password": "first-Password"})
        )
        yield manager


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stubber]:
    service = client("rds")
    monkeypatch.setattr(source_preparation, "client", lambda: service)
    with Stubber(service) as stubber:
        yield stubber


@pytest.fixture
def source(secrets: Any, cluster: Stubber, clock: Clock) -> Resource:  # noqa: ARG001  without them there is no source
    return Resource(handler=source_preparation, clock=clock, tick=lambda: None, logical_id="PreparedSource")


def request(database: ConnectionParameters, **changes: Any) -> dict[str, Any]:
    return {
        "clusterIdentifier": CLUSTER,
        "masterSecret": "master",
        "connectorSecret": "connector",
        "database": database["dbname"],
        "slot": SLOT,
        "outboxMode": "transaction",
        "sampleData": True,
        "sampleScale": 1,
        **changes,
    }


def created(source: Resource, wanted: dict[str, Any]) -> dict[str, Any]:
    """A creation that has begun, and isn't rolled back when it fails."""
    source.properties = {"Request": json.dumps(wanted)}
    return source.begin(source.event("Create"))


def there(cluster: Stubber, status: str = "available") -> None:
    cluster.add_response("describe_db_clusters", {"DBClusters": [{"Status": status}]}, {"DBClusterIdentifier": CLUSTER})


def ask(database: ConnectionParameters, query: str) -> Any:
    with contextlib.closing(psycopg2.connect(**database)) as connection, connection.cursor() as cursor:
        cursor.execute(query)
        return (cursor.fetchone() or (None,))[0]


def log_in(database: ConnectionParameters, password: str) -> None:
    """As the connector does, by TCP and with its password."""
    settings: dict[str, Any] = {**database, "user": "cdc_connector", "password": password}
    psycopg2.connect(**settings).close()


def slot_exists(database: ConnectionParameters, name: str = SLOT) -> bool:
    return bool(ask(database, f"SELECT count(*) FROM pg_replication_slots WHERE slot_name = '{name}'"))


@contextlib.contextmanager
def streaming(database: ConnectionParameters, slot: str = SLOT) -> Iterator[None]:
    """A reader of the slot, as the connector is."""
    settings: dict[str, Any] = {**database, "connection_factory": LogicalReplicationConnection}
    with contextlib.closing(psycopg2.connect(**settings)) as connection, connection.cursor() as cursor:
        cursor.create_replication_slot(slot, output_plugin="pgoutput")
        options = {"proto_version": "1", "publication_names": "cdc_publication"}
        cursor.start_replication(slot, options=options, decode=False)
        yield


def test_a_new_database_gets_everything_that_the_connector_needs(
    source: Resource, database: ConnectionParameters
) -> None:
    assert source.create(request(database)) == {"Loaded": 829}
    assert ask(database, ROWS) == 829
    assert ask(database, "SELECT count(*) FROM pg_publication_tables WHERE pubname = 'cdc_publication'") == 2
    log_in(database, "first-Password")


def test_without_sample_data_the_tables_are_empty_and_captured(
    source: Resource, database: ConnectionParameters
) -> None:
    assert source.create(request(database, sampleData=False, sampleScale=5)) == {"Loaded": 0}
    execute(database, "INSERT INTO datalake.orders (order_id) VALUES (1)")
    assert ask(database, ROWS) == 1


def test_a_delivery_that_comes_twice_changes_nothing(source: Resource, database: ConnectionParameters) -> None:
    source.create(request(database))
    execute(database, "INSERT INTO datalake.orders (order_id) VALUES (1)")
    assert source.create(request(database)) == {"Loaded": 0}
    assert ask(database, ROWS) == 830


def test_an_update_keeps_the_data_and_the_id_and_renews_the_password(
    source: Resource, secrets: Any, database: ConnectionParameters
) -> None:
    source.create(request(database))
    before = source.physical_id
    secrets.put_secret_value(
        SecretId="connector", SecretString=json.dumps({"username": "x", "password": "second-Pass"})
    )
    assert source.update(request(database, sampleScale=3)) == {"Loaded": 0}
    assert ask(database, ROWS) == 829
    assert (source.physical_id, source.attempts) == (before, [])
    log_in(database, "second-Pass")
    with pytest.raises(psycopg2.OperationalError, match="password authentication failed"):
        log_in(database, "first-Password")


def test_another_outbox_mode_is_switched_to_in_place(source: Resource, database: ConnectionParameters) -> None:
    source.create(request(database))
    assert source.update(request(database, outboxMode="statement")) == {"Loaded": 0}
    assert ask(database, "SELECT mode FROM datalake.outbox_versions ORDER BY id DESC LIMIT 1") == "statement"
    assert ask(database, ROWS) == 829


def test_an_outbox_of_the_first_release_is_migrated_in_place(source: Resource, database: ConnectionParameters) -> None:
    load_released(database, "transaction")
    execute(database, "UPDATE datalake.orders SET freight = 4711 WHERE order_id = 10248")
    assert source.create(request(database)) == {"Loaded": 0}
    assert ask(database, "SELECT count(*) FROM datalake.outbox_versions") == 1
    assert ask(database, "SELECT freight FROM datalake.orders WHERE order_id = 10248") == 4711
    log_in(database, "first-Password")


def test_a_newer_outbox_stays_as_it_is_and_the_connector_gets_its_password(
    source: Resource, secrets: Any, database: ConnectionParameters, caplog: pytest.LogCaptureFixture
) -> None:
    source.create(request(database))
    execute(database, "UPDATE datalake.outbox_versions SET steps = steps || '9999_later'::text, sql_hash = 'later'")
    secrets.put_secret_value(SecretId="connector", SecretString=json.dumps({"username": "x", "password": "second"}))
    assert source.update(request(database, sampleScale=2)) == {"Loaded": 0}
    assert "the database's outbox is of a newer version than this code" in caplog.text
    assert ask(database, "SELECT sql_hash FROM datalake.outbox_versions") == "later"
    log_in(database, "second")


def test_a_transaction_that_keeps_the_tables_is_waited_for(
    source: Resource, database: ConnectionParameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparing, "migrate", functools.partial(migrate, patience_s=0.0))
    source.create(request(database))
    with contextlib.closing(psycopg2.connect(**database)) as till, till.cursor() as cursor:
        cursor.execute("UPDATE datalake.orders SET freight = 1 WHERE order_id = 10248")
        source.properties = {"Request": json.dumps(request(database, outboxMode="statement"))}
        begun = source.begin(source.event("Update"))
        assert source.poll(begun) is None
    assert source.poll(begun) == {"Loaded": 0}


def test_a_database_that_was_loaded_anew_in_the_other_mode_is_taken_as_it_is(
    source: Resource, database: ConnectionParameters
) -> None:
    source.create(request(database))
    load(database, LoadOptions(connector_password="x", mode="statement", replace=True), lambda *_: None)
    assert source.update(request(database, outboxMode="statement")) == {"Loaded": 0}
    log_in(database, "first-Password")


@pytest.mark.parametrize(
    ("damage", "missing"),
    [
        ("DROP PUBLICATION cdc_publication", "not the publication cdc_publication"),
        ("DROP TABLE datalake.cdc_heartbeat", "not the table datalake.cdc_heartbeat"),
    ],
)
def test_half_a_source_is_refused(source: Resource, database: ConnectionParameters, damage: str, missing: str) -> None:
    source.create(request(database))
    execute(database, damage)
    with pytest.raises(DeploymentError, match=missing):
        source.poll(source.begin(source.event("Update")))


def test_a_schema_of_somebody_elses_is_left_alone(source: Resource, database: ConnectionParameters) -> None:
    execute(database, "CREATE SCHEMA datalake")
    execute(database, "CREATE TABLE datalake.theirs (id INT)")
    with pytest.raises(DeploymentError, match=r"the schema datalake is there, but not the table datalake\.cdc_events"):
        source.poll(created(source, request(database)))
    assert ask(database, "SELECT to_regclass('datalake.theirs') IS NOT NULL")


def test_deleting_ends_the_reader_drops_the_slot_and_leaves_the_data(
    source: Resource, cluster: Stubber, database: ConnectionParameters
) -> None:
    source.create(request(database))
    # The session that is ended may need a moment to let go.
    for _ in range(20):
        there(cluster)
    with streaming(database):
        source.delete()
    assert not slot_exists(database)
    assert ask(database, ROWS) == 829


def test_deleting_twice_is_the_same_as_once(source: Resource, cluster: Stubber, database: ConnectionParameters) -> None:
    source.create(request(database))
    execute(database, f"SELECT pg_create_logical_replication_slot('{SLOT}', 'pgoutput')")
    for _ in range(2):
        there(cluster)
        source.delete()
    assert not slot_exists(database)


def test_other_slots_stay(
    source: Resource, cluster: Stubber, database: ConnectionParameters, postgres: Postgres
) -> None:
    source.create(request(database))
    execute(database, "SELECT pg_create_logical_replication_slot('reports', 'pgoutput')")
    with fresh_database(postgres) as other:
        execute(other, f"SELECT pg_create_logical_replication_slot('{SLOT}', 'pgoutput')")
        there(cluster)
        source.delete()
        assert slot_exists(database, "reports")
        assert slot_exists(database)


@pytest.mark.parametrize("status", [None, "deleting"])
def test_a_cluster_that_is_gone_has_no_slot(
    source: Resource, secrets: Any, cluster: Stubber, database: ConnectionParameters, status: str | None
) -> None:
    source.create(request(database))
    execute(database, f"SELECT pg_create_logical_replication_slot('{SLOT}', 'pgoutput')")
    secrets.delete_secret(SecretId="master", ForceDeleteWithoutRecovery=True)
    if status:
        there(cluster, status)
    else:
        cluster.add_client_error("describe_db_clusters", "DBClusterNotFoundFault", http_status_code=404)
    source.delete()
    # It was asked for, and nothing was looked for in the database.
    cluster.assert_no_pending_responses()
    assert slot_exists(database)


def test_a_database_out_of_reach_is_waited_for_and_then_a_failure(
    source: Resource, secrets: Any, cluster: Stubber, database: ConnectionParameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEADLINE_SECONDS", "60")
    source.create(request(database))
    away = {**database, "username": "postgres", "port": free_port()}
    secrets.put_secret_value(SecretId="master", SecretString=json.dumps(away))
    for _ in range(3):
        there(cluster)
    with pytest.raises(DeploymentError, match=r"gave up waiting: cannot connect.*start the database"):
        source.delete()


def test_a_wrong_password_isnt_waited_for(source: Resource, secrets: Any, database: ConnectionParameters) -> None:
    wrong = {**database, "username": "postgres", "password": "wrong"}
    secrets.put_secret_value(SecretId="master", SecretString=json.dumps(wrong))
    with pytest.raises(DeploymentError, match="password authentication failed"):
        source.poll(created(source, request(database)))


def test_a_secret_that_cant_be_read_is_the_reason(source: Resource, database: ConnectionParameters) -> None:
    with pytest.raises(DeploymentError, match="cannot read the secret nowhere"):
        source.poll(created(source, request(database, connectorSecret="nowhere")))
