"""A deletion ends the reader and drops the resource's own slot, and nothing else."""

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import psycopg2
import pytest
from psycopg2.extras import LogicalReplicationConnection

from local.services.postgres import ConnectionParameters, Postgres
from tests.conftest import ask, execute, free_port, fresh_database
from tests.stacks.handlers.cloudformation import DeploymentError, Stack, failing
from tests.stacks.handlers.preparation.cluster import Cluster
from tests.stacks.handlers.preparation.source import ROWS, SLOT, log_in_as, make_slot, request, slot_exists

pytestmark = pytest.mark.integration


@contextlib.contextmanager
def streaming(database: ConnectionParameters, slot: str = SLOT) -> Iterator[None]:
    """A reader of the slot, as the connector is."""
    settings: dict[str, Any] = {**database, "connection_factory": LogicalReplicationConnection}
    with contextlib.closing(psycopg2.connect(**settings)) as connection, connection.cursor() as cursor:
        cursor.create_replication_slot(slot, output_plugin="pgoutput")
        options = {"proto_version": "1", "publication_names": "cdc_publication"}
        cursor.start_replication(slot, options=options, decode=False)
        yield


def test_deleting_ends_the_reader_drops_the_slot_and_leaves_the_data(
    source: Stack, database: ConnectionParameters
) -> None:
    source.create(request(database))
    # The terminated session may need a moment to release it: `delete` retries.
    with streaming(database):
        source.delete()
    assert not slot_exists(database)
    assert ask(database, ROWS) == 829


def test_deleting_twice_is_the_same_as_once(source: Stack, database: ConnectionParameters) -> None:
    source.create(request(database))
    make_slot(database)
    for _ in range(2):
        source.delete()
    assert not slot_exists(database)


def test_other_slots_stay(source: Stack, database: ConnectionParameters, postgres: Postgres) -> None:
    source.create(request(database))
    make_slot(database, "reports")
    with fresh_database(postgres) as other:
        make_slot(other)
        source.delete()
        assert slot_exists(database, "reports")
        assert slot_exists(database)


@pytest.mark.parametrize("end", [Cluster.is_gone, Cluster.is_deleting])
def test_a_cluster_that_is_gone_has_no_slot(
    source: Stack, secrets: Any, cluster: Cluster, database: ConnectionParameters, end: Callable[[Cluster], None]
) -> None:
    source.create(request(database))
    make_slot(database)
    secrets.delete_secret(SecretId="master", ForceDeleteWithoutRecovery=True)
    end(cluster)
    source.delete()
    assert slot_exists(database)


def test_a_database_out_of_reach_is_waited_for_and_then_a_failure(
    source: Stack, secrets: Any, database: ConnectionParameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEADLINE_SECONDS", "60")
    source.create(request(database))
    log_in_as(secrets, database, port=free_port())
    with pytest.raises(DeploymentError, match=r"gave up waiting: cannot connect.*start the database"):
        source.delete()


def test_a_creation_that_never_reached_the_database_is_deleted_without_it(
    source: Stack, secrets: Any, database: ConnectionParameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEADLINE_SECONDS", "60")
    log_in_as(secrets, database, port=free_port())
    assert failing(source.create, request(database)).startswith("gave up waiting: cannot connect")
    assert len(source.deleted) == 1


def test_a_request_that_was_refused_needs_no_clean_up(source: Stack, database: ConnectionParameters) -> None:
    source.properties, source.physical_id = {"Request": json.dumps({"slot": SLOT})}, "x"
    make_slot(database)
    source.delete()
    assert slot_exists(database)


def test_a_creation_refused_for_a_strangers_publication_leaves_the_strangers_slot(
    source: Stack, database: ConnectionParameters
) -> None:
    execute(database, "CREATE PUBLICATION cdc_publication")
    make_slot(database)
    assert "the publication cdc_publication is already there" in failing(source.create, request(database))
    assert len(source.deleted) == 1
    assert slot_exists(database)
