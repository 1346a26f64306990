"""A source's next life, after a deletion or from a snapshot, may have missed changes, and says so."""

import itertools
import json

import pytest

from contract import tags
from db.loading import LoadOptions, load
from local.services.postgres import ConnectionParameters
from stacks.handlers import preparation
from tests.stacks.handlers.deployment import Resource, failing
from tests.stacks.handlers.source_preparation.cluster import Cluster
from tests.stacks.handlers.source_preparation.source import created, make_slot, request, slot_exists

pytestmark = pytest.mark.integration


def test_a_first_load_misses_nothing_and_a_second_life_may_have(
    source: Resource, cluster: Cluster, database: ConnectionParameters
) -> None:
    first = source.create(request(database))["Generation"]
    assert tags.RESNAPSHOT not in cluster.tags
    source.delete()
    again = Resource(handler=preparation, clock=source.clock, tick=lambda: None, logical_id="PreparedSource")
    again._numbers = itertools.count(1_000)
    assert again.create(request(database))["Generation"] != first
    assert cluster.tags[tags.RESNAPSHOT].startswith("since 20")
    cluster.untag(tags.RESNAPSHOT)
    again.update(request(database))
    assert tags.RESNAPSHOT not in cluster.tags


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
        handler=preparation,
        clock=source.clock,
        tick=lambda: None,
        logical_id=source.logical_id,
        stack_id=source.stack_id.rpartition("/")[0] + "/another-attempt",
    )
    again.create(request(database))
    again.delete()
    assert not slot_exists(database)
    assert not [key for key in cluster.tags if key.startswith(tags.PREPARED_BY)]


def test_entries_that_a_snapshot_brought_from_another_cluster_dont_count(
    source: Resource, cluster: Cluster, database: ConnectionParameters
) -> None:
    cluster.tag(f"{tags.PREPARED_BY}0123", "prod-cdc-lake/generation/prod-cdc-lake-database/PreparedSource")
    load(database, LoadOptions(connector_password="x"), lambda *_: None)
    assert source.create(request(database))["Generation"] != "generation"
    assert tags.RESNAPSHOT in cluster.tags
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
    assert tags.RESNAPSHOT in cluster.tags


def test_a_cluster_restored_from_something_that_isnt_encrypted_is_refused(
    source: Resource, cluster: Cluster, database: ConnectionParameters
) -> None:
    cluster.is_not_encrypted()
    reason = failing(source, request(database, setMasterPassword=True))
    assert reason.startswith("the restored cluster dev-cdc-lake isn't encrypted")
