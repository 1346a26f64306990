"""A source's deletion, next life and rename: its own slot alone is dropped, and missed changes are reported."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from contract import tags
from db.loading import LoadOptions, load
from local.services.postgres import ConnectionParameters, Postgres
from stacks.handlers import journal
from tests.conftest import ask, execute, free_port, fresh_database
from tests.stacks.handlers.cloudformation import DeploymentError, Stack, failing
from tests.stacks.handlers.preparation.cluster import ROWS, SLOT, Cluster, log_in_as, make_slot, slot_exists, streaming

pytestmark = pytest.mark.integration


def test_a_first_load_misses_nothing_and_a_second_life_may_have(source: Stack, cluster: Cluster) -> None:
    first = source.create()["Generation"]
    assert tags.RESNAPSHOT not in cluster.tags
    source.delete()
    again = source.again()
    assert again.create()["Generation"] != first
    assert cluster.tags[tags.RESNAPSHOT].startswith("since 20")
    cluster.untag(tags.RESNAPSHOT)
    again.update(source.wanted)
    assert tags.RESNAPSHOT not in cluster.tags


def test_a_cancelled_creation_that_goes_on_is_deleted_by_the_next_attempt(
    source: Stack, cluster: Cluster, database: ConnectionParameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its waiter finishes after its deletion: before there is a lake's stack, there is no bucket for the journal."""
    monkeypatch.setattr(journal, "store", lambda: journal.S3Store(bucket="not-there-yet", prefix="requests/"))
    begun = source.begin_create()
    source.world.waiters.clear()
    source.give_up_creation()
    assert begun.poll() is not None
    make_slot(database)
    again = source.again()
    again.create()
    again.delete()
    assert not slot_exists(database)
    assert not [key for key in cluster.tags if key.startswith(tags.PREPARED_BY)]


def test_entries_that_a_snapshot_brought_from_another_cluster_dont_count(
    source: Stack, cluster: Cluster, database: ConnectionParameters
) -> None:
    cluster.tag(f"{tags.PREPARED_BY}0123", "prod-cdc-lake/generation/prod-cdc-lake-database/PreparedSource")
    load(database, LoadOptions(connector_password="x"), lambda *_: None)
    assert source.create()["Generation"] != "generation"
    assert tags.RESNAPSHOT in cluster.tags
    make_slot(database)
    source.delete()
    assert not slot_exists(database)


def test_an_update_to_a_restored_cluster_may_have_missed_changes(
    source: Stack, cluster: Cluster, database: ConnectionParameters
) -> None:
    source.properties = {"Request": json.dumps(source.but(clusterIdentifier="before"))}
    source.physical_id = "before/devdb/prepared/abc"
    load(database, LoadOptions(connector_password="x"), lambda *_: None)
    assert source.update(source.wanted)["Generation"] == "abc"
    assert tags.RESNAPSHOT in cluster.tags
    cluster.untag(tags.RESNAPSHOT)
    # As a rollback from another restore: its slot has kept everything.
    source.properties = {"Request": json.dumps(source.but(clusterIdentifier="later"))}
    source.update(source.wanted)
    assert tags.RESNAPSHOT not in cluster.tags


def test_a_cluster_restored_from_something_that_isnt_encrypted_is_refused(source: Stack, cluster: Cluster) -> None:
    cluster.is_not_encrypted()
    reason = failing(source.create, source.but(setMasterPassword=True))
    assert reason.startswith("the restored cluster dev-cdc-lake isn't encrypted")


def test_deleting_ends_the_reader_drops_the_slot_and_leaves_the_data_however_often(
    source: Stack, database: ConnectionParameters
) -> None:
    source.create()
    # The terminated session may need a moment to release it: `delete` retries.
    with streaming(database):
        source.delete()
    source.delete()
    assert not slot_exists(database)
    assert ask(database, ROWS) == 829


def test_other_slots_stay(source: Stack, database: ConnectionParameters, postgres: Postgres) -> None:
    source.create()
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
    source.create()
    make_slot(database)
    secrets.delete_secret(SecretId="master", ForceDeleteWithoutRecovery=True)
    end(cluster)
    source.delete()
    assert slot_exists(database)


def test_a_database_out_of_reach_is_waited_for_and_then_a_failure(
    source: Stack, secrets: Any, database: ConnectionParameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEADLINE_SECONDS", "60")
    source.create()
    log_in_as(secrets, database, port=free_port())
    with pytest.raises(DeploymentError, match=r"gave up waiting: cannot connect.*start the database"):
        source.delete()


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
    assert "the publication cdc_publication is already there" in failing(source.create)
    assert len(source.deleted) == 1
    assert slot_exists(database)


def test_a_renamed_resource_keeps_slot_and_generation(source: Stack, database: ConnectionParameters) -> None:
    """CloudFormation creates the new one first, then deletes the old one."""
    generation = source.create()["Generation"]
    make_slot(database)
    after = source.renamed()
    assert after.create()["Generation"] == generation
    source.delete()
    assert slot_exists(database)
    after.delete()
    assert not slot_exists(database)


def test_a_rename_that_is_rolled_back_leaves_the_slot_to_the_first(
    source: Stack, cluster: Cluster, database: ConnectionParameters
) -> None:
    source.create()
    make_slot(database)
    after = source.renamed()
    after.create()
    after.delete()
    assert slot_exists(database)
    assert tags.RESNAPSHOT not in cluster.tags
    source.delete()
    assert not slot_exists(database)
