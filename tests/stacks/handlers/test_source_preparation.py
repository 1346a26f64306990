"""PostgreSQL stands in for Aurora; moto for Secrets Manager, and for what RDS knows of the cluster."""

import contextlib
import functools
import itertools
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import psycopg2
import pytest
from moto import mock_aws
from moto.rds.models import rds_backends
from psycopg2.extras import LogicalReplicationConnection

from contract import source_tags
from db import preparing
from db.loading import LoadOptions, load
from db.migrating import migrate
from local.services.postgres import ConnectionParameters, Postgres
from stacks.handlers import preparation, source_preparation
from tests.conftest import execute, free_port, fresh_database
from tests.db.released import load_released
from tests.stacks.handlers.clients import CREDENTIALS, client
from tests.stacks.handlers.deployment import Clock, DeploymentError, Resource, failing

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


class Cluster:
    """What RDS knows of the source's cluster."""

    def __init__(self) -> None:
        self._rds = client("rds")
        made = self._rds.create_db_cluster(
            DBClusterIdentifier=CLUSTER,
            Engine="aurora-postgresql",
            MasterUsername="postgres",
            MasterUserPassword="not-asked-for",
            StorageEncrypted=True,
        )
        self.arn = made["DBCluster"]["DBClusterArn"]

    @property
    def tags(self) -> dict[str, str]:
        found = self._rds.list_tags_for_resource(ResourceName=self.arn)["TagList"]
        return {tag["Key"]: tag["Value"] for tag in found}

    def tag(self, key: str, value: str) -> None:
        self._rds.add_tags_to_resource(ResourceName=self.arn, Tags=[{"Key": key, "Value": value}])

    def untag(self, key: str) -> None:
        self._rds.remove_tags_from_resource(ResourceName=self.arn, TagKeys=[key])

    def is_not_encrypted(self) -> None:
        rds_backends["123456789012"]["ap-southeast-2"].clusters[CLUSTER].storage_encrypted = False

    def is_deleting(self) -> None:
        rds_backends["123456789012"]["ap-southeast-2"].clusters[CLUSTER].status = "deleting"

    def is_gone(self) -> None:
        self._rds.delete_db_cluster(DBClusterIdentifier=CLUSTER, SkipFinalSnapshot=True)


@pytest.fixture
def cluster(secrets: Any, monkeypatch: pytest.MonkeyPatch) -> Cluster:  # noqa: ARG001  the same moto
    monkeypatch.setattr(preparation, "client", lambda: client("rds"))
    return Cluster()


@pytest.fixture
def source(cluster: Cluster, clock: Clock) -> Resource:  # noqa: ARG001  without it there is no source
    return Resource(handler=source_preparation, clock=clock, tick=lambda: None, logical_id="PreparedSource")


def renamed(source: Resource) -> Resource:
    """The same in the template, by another logical id."""
    return Resource(handler=source_preparation, clock=source.clock, tick=lambda: None, logical_id="RenamedSource")


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


def make_slot(database: ConnectionParameters, name: str = SLOT) -> None:
    execute(database, f"SELECT pg_create_logical_replication_slot('{name}', 'pgoutput')")


def log_in_as(secrets: Any, database: ConnectionParameters, **changes: Any) -> None:
    """What the master's secret says from now on."""
    values = {**database, "username": database["user"], "engine": "postgres", **changes}
    secrets.put_secret_value(SecretId="master", SecretString=json.dumps(values))


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
    assert source.create(request(database))["Loaded"] == 829
    assert ask(database, ROWS) == 829
    assert ask(database, "SELECT count(*) FROM pg_publication_tables WHERE pubname = 'cdc_publication'") == 2
    log_in(database, "first-Password")


def test_without_sample_data_the_tables_are_empty_and_captured(
    source: Resource, database: ConnectionParameters
) -> None:
    assert source.create(request(database, sampleData=False, sampleScale=5))["Loaded"] == 0
    execute(database, "INSERT INTO datalake.orders (order_id) VALUES (1)")
    assert ask(database, ROWS) == 1


def test_a_delivery_that_comes_twice_changes_nothing(source: Resource, database: ConnectionParameters) -> None:
    source.create(request(database))
    execute(database, "INSERT INTO datalake.orders (order_id) VALUES (1)")
    assert source.create(request(database))["Loaded"] == 0
    assert ask(database, ROWS) == 830


def test_an_update_keeps_the_data_and_the_id_and_renews_the_password(
    source: Resource, secrets: Any, database: ConnectionParameters
) -> None:
    source.create(request(database))
    before = source.physical_id
    secrets.put_secret_value(
        SecretId="connector", SecretString=json.dumps({"username": "x", "password": "second-Pass"})
    )
    assert source.update(request(database, sampleScale=3))["Loaded"] == 0
    assert ask(database, ROWS) == 829
    assert (source.physical_id, source.attempts) == (before, [])
    log_in(database, "second-Pass")
    with pytest.raises(psycopg2.OperationalError, match="password authentication failed"):
        log_in(database, "first-Password")


def test_another_outbox_mode_is_switched_to_in_place(source: Resource, database: ConnectionParameters) -> None:
    source.create(request(database))
    assert source.update(request(database, outboxMode="statement"))["Loaded"] == 0
    assert ask(database, "SELECT mode FROM datalake.outbox_versions ORDER BY id DESC LIMIT 1") == "statement"
    assert ask(database, ROWS) == 829


def test_an_outbox_of_the_first_release_is_migrated_in_place(source: Resource, database: ConnectionParameters) -> None:
    load_released(database, "transaction")
    execute(database, "UPDATE datalake.orders SET freight = 4711 WHERE order_id = 10248")
    assert source.create(request(database))["Loaded"] == 0
    assert ask(database, "SELECT count(*) FROM datalake.outbox_versions") == 1
    assert ask(database, "SELECT freight FROM datalake.orders WHERE order_id = 10248") == 4711
    log_in(database, "first-Password")


def test_a_newer_outbox_stays_as_it_is_and_the_connector_gets_its_password(
    source: Resource, secrets: Any, database: ConnectionParameters, caplog: pytest.LogCaptureFixture
) -> None:
    source.create(request(database))
    execute(database, "UPDATE datalake.outbox_versions SET steps = steps || '9999_later'::text, sql_hash = 'later'")
    secrets.put_secret_value(SecretId="connector", SecretString=json.dumps({"username": "x", "password": "second"}))
    assert source.update(request(database, sampleScale=2))["Loaded"] == 0
    assert "the database's outbox is of a newer version than this code" in caplog.text
    assert ask(database, "SELECT sql_hash FROM datalake.outbox_versions") == "later"
    log_in(database, "second")


def test_a_transaction_that_keeps_the_tables_is_waited_for(
    source: Resource, database: ConnectionParameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparing, "migrate", functools.partial(migrate, max_wait_s=0.0))
    source.create(request(database))
    with contextlib.closing(psycopg2.connect(**database)) as till, till.cursor() as cursor:
        cursor.execute("UPDATE datalake.orders SET freight = 1 WHERE order_id = 10248")
        source.properties = {"Request": json.dumps(request(database, outboxMode="statement"))}
        begun = source.begin(source.event("Update"))
        assert source.poll(begun) is None
    assert (source.poll(begun) or {})["Loaded"] == 0


def test_a_database_that_was_loaded_anew_in_the_other_mode_is_taken_as_it_is(
    source: Resource, database: ConnectionParameters
) -> None:
    source.create(request(database))
    load(database, LoadOptions(connector_password="x", mode="statement", replace=True), lambda *_: None)
    assert source.update(request(database, outboxMode="statement"))["Loaded"] == 0
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
    source: Resource, database: ConnectionParameters
) -> None:
    source.create(request(database))
    # The session that is ended may need a moment to let go: `delete` asks again.
    with streaming(database):
        source.delete()
    assert not slot_exists(database)
    assert ask(database, ROWS) == 829


def test_deleting_twice_is_the_same_as_once(source: Resource, database: ConnectionParameters) -> None:
    source.create(request(database))
    make_slot(database)
    for _ in range(2):
        source.delete()
    assert not slot_exists(database)


def test_other_slots_stay(source: Resource, database: ConnectionParameters, postgres: Postgres) -> None:
    source.create(request(database))
    make_slot(database, "reports")
    with fresh_database(postgres) as other:
        make_slot(other)
        source.delete()
        assert slot_exists(database, "reports")
        assert slot_exists(database)


@pytest.mark.parametrize("end", [Cluster.is_gone, Cluster.is_deleting])
def test_a_cluster_that_is_gone_has_no_slot(
    source: Resource, secrets: Any, cluster: Cluster, database: ConnectionParameters, end: Callable[[Cluster], None]
) -> None:
    source.create(request(database))
    make_slot(database)
    secrets.delete_secret(SecretId="master", ForceDeleteWithoutRecovery=True)
    end(cluster)
    source.delete()
    assert slot_exists(database)


def test_a_database_out_of_reach_is_waited_for_and_then_a_failure(
    source: Resource, secrets: Any, database: ConnectionParameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEADLINE_SECONDS", "60")
    source.create(request(database))
    log_in_as(secrets, database, port=free_port())
    with pytest.raises(DeploymentError, match=r"gave up waiting: cannot connect.*start the database"):
        source.delete()


def test_a_password_that_is_being_rotated_is_read_again(
    source: Resource, secrets: Any, database: ConnectionParameters
) -> None:
    """The database has the new password before the secret says it."""
    execute(database, "CREATE ROLE owner SUPERUSER LOGIN PASSWORD 'rotated'")
    try:
        log_in_as(secrets, database, username="owner", password="first")
        begun = created(source, request(database))
        assert source.poll(begun) is None
        log_in_as(secrets, database, username="owner", password="rotated")
        assert source.poll(begun) is not None
        assert ask(database, ROWS) == 829
    finally:
        for statement in ("REASSIGN OWNED BY owner TO postgres", "DROP OWNED BY owner", "DROP ROLE owner"):
            execute(database, statement)


def test_a_password_that_stays_wrong_ends_with_one_line_and_nothing_to_delete(
    source: Resource, secrets: Any, database: ConnectionParameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEADLINE_SECONDS", "60")
    make_slot(database)
    log_in_as(secrets, database, password="wrong")
    reason = failing(source, request(database))
    assert re.fullmatch(
        "gave up waiting: cannot connect to [^ ]+: password authentication failed for user .postgres. .*: the master's"
        " secret says another password than the database has, or is being rotated",
        reason,
    )
    # `create` has deleted it by now: it was never in.
    assert source.attempts == [source.physical_id]
    assert slot_exists(database)


def test_the_secret_is_read_again_on_the_way_down_too(
    source: Resource, secrets: Any, database: ConnectionParameters
) -> None:
    source.create(request(database))
    make_slot(database)
    log_in_as(secrets, database, password="before the rotation")
    begun = source.begin(source.event("Delete"))
    assert source.poll(begun) is None
    log_in_as(secrets, database)
    assert source.poll(begun) is not None
    assert not slot_exists(database)


def test_a_cluster_restored_from_something_that_isnt_encrypted_is_refused(
    source: Resource, cluster: Cluster, database: ConnectionParameters
) -> None:
    cluster.is_not_encrypted()
    reason = failing(source, request(database, setMasterPassword=True))
    assert reason.startswith("the restored cluster dev-cdc-lake isn't encrypted")


@pytest.fixture
def passwords(cluster: Cluster) -> Iterator[list[str]]:  # noqa: ARG001  whose they are
    """What RDS is told to make the master's password."""
    told: list[str] = []
    events = client("rds").meta.events
    events.register("provide-client-params.rds.ModifyDBCluster", tell := lambda params, **_: _note(told, params))
    yield told
    events.unregister("provide-client-params.rds.ModifyDBCluster", tell)


def _note(told: list[str], params: dict[str, Any]) -> None:
    assert (params["DBClusterIdentifier"], params["ApplyImmediately"]) == (CLUSTER, True)
    told.append(params["MasterUserPassword"])


def test_a_restored_clusters_master_gets_the_secrets_password(
    source: Resource, secrets: Any, passwords: list[str], database: ConnectionParameters
) -> None:
    """The server is told what RDS would tell it."""
    execute(database, "CREATE ROLE restored SUPERUSER LOGIN PASSWORD 'of the snapshot'")
    log_in_as(secrets, database, username="restored", password="of-the-secret")
    try:
        begun = created(source, request(database, setMasterPassword=True))
        assert source.poll(begun) is None
        assert passwords == ["of-the-secret"]
        execute(database, "ALTER ROLE restored PASSWORD 'of-the-secret'")
        assert source.poll(begun) is not None
    finally:
        for statement in ("REASSIGN OWNED BY restored TO postgres", "DROP OWNED BY restored", "DROP ROLE restored"):
            execute(database, statement)


def test_nobody_elses_password_is_set(
    source: Resource, secrets: Any, passwords: list[str], database: ConnectionParameters
) -> None:
    log_in_as(secrets, database, password="wrong")
    assert source.poll(created(source, request(database, setMasterPassword=False))) is None
    assert passwords == []


def test_a_creation_that_never_reached_the_database_is_deleted_without_it(
    source: Resource, secrets: Any, database: ConnectionParameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEADLINE_SECONDS", "60")
    log_in_as(secrets, database, port=free_port())
    assert failing(source, request(database)).startswith("gave up waiting: cannot connect")
    assert len(source.attempts) == 1


def test_a_request_that_was_refused_needs_no_clean_up(source: Resource, database: ConnectionParameters) -> None:
    source.properties, source.physical_id = {"Request": json.dumps({"slot": SLOT})}, "x"
    make_slot(database)
    source.delete()
    assert slot_exists(database)


def test_a_creation_refused_for_a_strangers_publication_leaves_the_strangers_slot(
    source: Resource, database: ConnectionParameters
) -> None:
    execute(database, "CREATE PUBLICATION cdc_publication")
    make_slot(database)
    assert "the publication cdc_publication is already there" in failing(source, request(database))
    assert len(source.attempts) == 1
    assert slot_exists(database)


def test_a_renamed_resource_keeps_slot_and_generation(source: Resource, database: ConnectionParameters) -> None:
    """CloudFormation makes the new one first, then deletes the old one."""
    generation = source.create(request(database))["Generation"]
    make_slot(database)
    after = renamed(source)
    assert after.create(request(database))["Generation"] == generation
    source.delete()
    assert slot_exists(database)
    after.delete()
    assert not slot_exists(database)


def test_a_rename_that_is_rolled_back_leaves_the_slot_to_the_first(
    source: Resource, cluster: Cluster, database: ConnectionParameters
) -> None:
    source.create(request(database))
    make_slot(database)
    after = renamed(source)
    after.create(request(database))
    after.delete()
    assert slot_exists(database)
    assert source_tags.RESNAPSHOT not in cluster.tags
    source.delete()
    assert not slot_exists(database)


def test_a_cancelled_creation_that_goes_on_is_deleted_by_the_next_attempt(
    source: Resource, cluster: Cluster, database: ConnectionParameters
) -> None:
    """Its waiter finishes behind its deletion."""
    begun = created(source, request(database))
    source.physical_id = "invented-by-CloudFormation"
    source.delete()
    assert source.poll(begun) is not None
    make_slot(database)
    again = Resource(
        handler=source_preparation,
        clock=source.clock,
        tick=lambda: None,
        logical_id=source.logical_id,
        stack_id=source.stack_id.rpartition("/")[0] + "/another-attempt",
    )
    again.create(request(database))
    again.delete()
    assert not slot_exists(database)
    assert not [key for key in cluster.tags if key.startswith(source_tags.PREPARED_BY)]


def test_a_first_load_misses_nothing_and_a_second_life_may_have(
    source: Resource, cluster: Cluster, database: ConnectionParameters
) -> None:
    first = source.create(request(database))["Generation"]
    assert source_tags.RESNAPSHOT not in cluster.tags
    source.delete()
    again = Resource(handler=source_preparation, clock=source.clock, tick=lambda: None, logical_id="PreparedSource")
    again._numbers = itertools.count(1_000)
    assert again.create(request(database))["Generation"] != first
    assert cluster.tags[source_tags.RESNAPSHOT].startswith("since 20")
    cluster.untag(source_tags.RESNAPSHOT)
    again.update(request(database, outboxMode="statement"))
    assert source_tags.RESNAPSHOT not in cluster.tags


def test_entries_that_a_snapshot_brought_from_another_cluster_dont_count(
    source: Resource, cluster: Cluster, database: ConnectionParameters
) -> None:
    cluster.tag(f"{source_tags.PREPARED_BY}0123", "prod-cdc-lake/generation/prod-cdc-lake-database/PreparedSource")
    load(database, LoadOptions(connector_password="x"), lambda *_: None)
    assert source.create(request(database))["Generation"] != "generation"
    assert source_tags.RESNAPSHOT in cluster.tags
    make_slot(database)
    source.delete()
    assert not slot_exists(database)


def test_an_update_to_a_restored_cluster_may_have_missed_changes(
    source: Resource, cluster: Cluster, database: ConnectionParameters
) -> None:
    source.properties = {"Request": json.dumps(request(database, clusterIdentifier="before"))}
    source.physical_id = "before/devdb/prepared/abc"
    load(database, LoadOptions(connector_password="x"), lambda *_: None)
    assert source.update(request(database))["Generation"] == "abc"
    assert source_tags.RESNAPSHOT in cluster.tags


@pytest.mark.parametrize(
    ("give", "take"),
    [
        ("ALTER ROLE cdc_connector SUPERUSER", "ALTER ROLE cdc_connector NOSUPERUSER"),
        ("ALTER ROLE cdc_connector CREATEROLE", "ALTER ROLE cdc_connector NOCREATEROLE"),
        ("CREATE ROLE rds_superuser ROLE cdc_connector", "DROP ROLE rds_superuser"),
    ],
)
def test_an_administrator_by_the_connectors_name_is_refused_and_nothing_changed(
    source: Resource, cluster: Cluster, database: ConnectionParameters, give: str, take: str
) -> None:
    load(database, LoadOptions(connector_password="theirs"), lambda *_: None)
    execute(database, give)
    try:
        reason = failing(source, request(database, outboxMode="statement"))
        assert reason == "the role cdc_connector is there with an administrator's rights: rename or demote it first"
        log_in(database, "theirs")
        assert ask(database, "SELECT mode FROM datalake.outbox_versions ORDER BY id DESC LIMIT 1") == "transaction"
        assert cluster.tags == {}
    finally:
        execute(database, take)


def test_a_secret_that_cant_be_read_is_the_reason(source: Resource, database: ConnectionParameters) -> None:
    with pytest.raises(DeploymentError, match="cannot read the secret nowhere"):
        source.poll(created(source, request(database, connectorSecret="nowhere")))
