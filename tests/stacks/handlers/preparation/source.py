"""The request for a prepared source, and what a test does to its database and to its master's secret."""

import json
from typing import Any

import psycopg2

from local.services.postgres import ConnectionParameters
from tests.conftest import ask, execute
from tests.stacks.handlers.preparation.cluster import CLUSTER

SLOT = "cdc_orders"
ROWS = "SELECT count(*) FROM datalake.cdc_events"


def request(database: ConnectionParameters, **changes: Any) -> dict[str, Any]:
    return {
        "clusterIdentifier": CLUSTER,
        "masterSecret": "master",
        "connectorSecret": "connector",
        "database": database["dbname"],
        "slot": SLOT,
        "sampleData": True,
        "sampleScale": 1,
        **changes,
    }


def log_in(database: ConnectionParameters, password: str) -> None:
    """As the connector does, by TCP and with its password."""
    settings: dict[str, Any] = {**database, "user": "cdc_connector", "password": password}
    psycopg2.connect(**settings).close()


def log_in_as(secrets: Any, database: ConnectionParameters, **changes: Any) -> None:
    """What the master's secret says from now on."""
    values = {**database, "username": database["user"], "engine": "postgres", **changes}
    secrets.put_secret_value(SecretId="master", SecretString=json.dumps(values))


def slot_exists(database: ConnectionParameters, name: str = SLOT) -> bool:
    return bool(ask(database, f"SELECT count(*) FROM pg_replication_slots WHERE slot_name = '{name}'"))


def make_slot(database: ConnectionParameters, name: str = SLOT) -> None:
    execute(database, f"SELECT pg_create_logical_replication_slot('{name}', 'pgoutput')")
