"""A source's next life, after a deletion or from a snapshot, may have missed changes, and reports so."""

import json

import pytest

from contract import tags
from db.loading import LoadOptions, load
from local.services.postgres import ConnectionParameters
from tests.stacks.handlers.cloudformation import Stack, failing
from tests.stacks.handlers.preparation.cluster import Cluster
from tests.stacks.handlers.preparation.source import make_slot, request, slot_exists

pytestmark = pytest.mark.integration


def test_a_first_load_misses_nothing_and_a_second_life_may_have(
    source: Stack, cluster: Cluster, database: ConnectionParameters
) -> None:
    first = source.create(request(database))["Generation"]
    assert tags.RESNAPSHOT not in cluster.tags
    source.delete()
    again = source.again()
    assert again.create(request(database))["Generation"] != first
    assert cluster.tags[tags.RESNAPSHOT].startswith("since 20")
    cluster.untag(tags.RESNAPSHOT)
    again.update(request(database))
    assert tags.RESNAPSHOT not in cluster.tags


def test_a_cancelled_creation_that_goes_on_is_deleted_by_the_next_attempt(
    source: Stack, cluster: Cluster, database: ConnectionParameters
) -> None:
    """Its waiter finishes after its deletion."""
    begun = source.begin_create(request(database))
    source.world.waiters.clear()
    source.give_up_creation()
    assert begun.poll() is not None
    make_slot(database)
    again = source.again()
    again.create(request(database))
    again.delete()
    assert not slot_exists(database)
    assert not [key for key in cluster.tags if key.startswith(tags.PREPARED_BY)]


def test_entries_that_a_snapshot_brought_from_another_cluster_dont_count(
    source: Stack, cluster: Cluster, database: ConnectionParameters
) -> None:
    cluster.tag(f"{tags.PREPARED_BY}0123", "prod-cdc-lake/generation/prod-cdc-lake-database/PreparedSource")
    load(database, LoadOptions(connector_password="x"), lambda *_: None)
    assert source.create(request(database))["Generation"] != "generation"
    assert tags.RESNAPSHOT in cluster.tags
    make_slot(database)
    source.delete()
    assert not slot_exists(database)


def test_an_update_to_a_restored_cluster_may_have_missed_changes(
    source: Stack, cluster: Cluster, database: ConnectionParameters
) -> None:
    source.properties = {"Request": json.dumps(request(database, clusterIdentifier="before"))}
    source.physical_id = "before/devdb/prepared/abc"
    load(database, LoadOptions(connector_password="x"), lambda *_: None)
    assert source.update(request(database))["Generation"] == "abc"
    assert tags.RESNAPSHOT in cluster.tags


def test_a_cluster_restored_from_something_that_isnt_encrypted_is_refused(
    source: Stack, cluster: Cluster, database: ConnectionParameters
) -> None:
    cluster.is_not_encrypted()
    reason = failing(source.create, request(database, setMasterPassword=True))
    assert reason.startswith("the restored cluster dev-cdc-lake isn't encrypted")
