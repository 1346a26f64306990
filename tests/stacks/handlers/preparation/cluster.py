"""RDS's data on the source's cluster, the request for a prepared source, and a test's changes to its database."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg2
from moto.rds.models import rds_backends
from psycopg2.extras import LogicalReplicationConnection

from local.services.postgres import ConnectionParameters
from tests.conftest import ask, execute
from tests.stacks.handlers.clients import client
from tests.tls import Authority, encrypted

CLUSTER = "dev-cdc-lake"


class Cluster:
    """RDS's data on the source's cluster."""

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


SLOT = "cdc_orders"
ROWS = "SELECT count(*) FROM datalake.cdc_events"


def request(database: ConnectionParameters) -> dict[str, Any]:
    return {
        "clusterIdentifier": CLUSTER,
        "masterSecret": "master",
        "connectorSecret": "connector",
        "database": database["dbname"],
        "slot": SLOT,
        "sampleData": True,
        "sampleScale": 1,
    }


def server_request(database: ConnectionParameters, port: int, authority: Authority, **more: Any) -> dict[str, Any]:
    """What the requests for an outside server share."""
    return {
        "host": "localhost",
        "port": port,
        "sslmode": "verify-full",
        "certificate": authority.root,
        "ownerSecretArn": "owner",
        "database": database["dbname"],
        "sqlHash": "0",
        **more,
    }


def log_in(database: ConnectionParameters, password: str) -> None:
    """Log in as the connector does, over TCP and with its password."""
    settings: dict[str, Any] = {**database, "user": "cdc_connector", "password": password}
    psycopg2.connect(**settings).close()


def log_in_as(secrets: Any, database: ConnectionParameters, **changes: Any) -> None:
    """Put this login into the master's secret."""
    values = {**database, "username": database["user"], "engine": "postgres", **changes}
    secrets.put_secret_value(SecretId="master", SecretString=json.dumps(values))


@contextlib.contextmanager
def superuser(database: ConnectionParameters, name: str, password: str) -> Iterator[None]:
    execute(database, f"CREATE ROLE {name} SUPERUSER LOGIN PASSWORD '{password}'")
    try:
        yield
    finally:
        for statement in (f"REASSIGN OWNED BY {name} TO postgres", f"DROP OWNED BY {name}", f"DROP ROLE {name}"):
            execute(database, statement)


def slot_exists(database: ConnectionParameters, name: str = SLOT) -> bool:
    return bool(ask(database, f"SELECT count(*) FROM pg_replication_slots WHERE slot_name = '{name}'"))


def make_slot(database: ConnectionParameters, name: str = SLOT) -> None:
    execute(database, f"SELECT pg_create_logical_replication_slot('{name}', 'pgoutput')")


@contextlib.contextmanager
def streaming(database: ConnectionParameters, slot: str = SLOT) -> Iterator[None]:
    """A reader of the slot, as the connector is."""
    settings: dict[str, Any] = {**database, "connection_factory": LogicalReplicationConnection}
    with contextlib.closing(psycopg2.connect(**settings)) as connection, connection.cursor() as cursor:
        cursor.create_replication_slot(slot, output_plugin="pgoutput")
        options = {"proto_version": "1", "publication_names": "cdc_publication"}
        cursor.start_replication(slot, options=options, decode=False)
        yield


@contextlib.contextmanager
def others_server(database: ConnectionParameters, authority: Authority, folder: Path, role: str) -> Iterator[int]:
    """The port of an outside server with a certificate; the pipeline's role is dropped afterwards."""
    with encrypted(int(database["port"]), authority.server("localhost", folder)) as port:
        yield port
    drop_role(database, role)


def others_secrets(manager: Any, database: ConnectionParameters, **users: tuple[str, str]) -> None:
    """The owner's secret, and others by their names: user and password."""
    owner = str(database["user"]), str(database.get("password") or "none")
    for name, (user, password) in {"owner": owner, **users}.items():
        manager.create_secret(Name=name, SecretString=json.dumps({"username": user, "password": password}))


def drop_role(database: ConnectionParameters, role: str) -> None:
    """Drop a role, which belongs to the whole server, if it exists."""
    if ask(database, f"SELECT count(*) FROM pg_roles WHERE rolname = '{role}'"):
        execute(database, f"DROP OWNED BY {role}; DROP ROLE {role}")
