from typing import Any

import pytest
from botocore.stub import Stubber

from stacks.handlers import database_protection
from tests.stacks.handlers.clients import client
from tests.stacks.handlers.cloudformation import Stack, World, failing

REQUEST = {"clusterIdentifier": "prod-cdc-lake"}
WANTED = {"DBClusterIdentifier": "prod-cdc-lake"}
CHANGE = {**WANTED, "DeletionProtection": True, "ApplyImmediately": True}


@pytest.fixture
def rds(monkeypatch: pytest.MonkeyPatch) -> Any:
    """botocore's stubber checks requests and answers against the service's model."""
    service = client("rds")
    monkeypatch.setattr(database_protection, "client", lambda: service)
    with Stubber(service) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


@pytest.fixture
def protection(world: World) -> Stack:
    return Stack(world, database_protection)


def described(rds: Any, *, protected: bool) -> None:
    rds.add_response("describe_db_clusters", {"DBClusters": [{"DeletionProtection": protected}]}, WANTED)


def test_it_is_switched_on_and_looked_at(rds: Any, protection: Stack) -> None:
    described(rds, protected=False)
    rds.add_response("modify_db_cluster", {"DBCluster": {}}, CHANGE)
    described(rds, protected=True)
    protection.create(REQUEST)
    assert protection.physical_id == "prod-cdc-lake/deletion-protection"


def test_a_database_that_is_protected_already_is_left_alone(rds: Any, protection: Stack) -> None:
    described(rds, protected=True)
    protection.create(REQUEST)


def test_a_database_that_is_being_changed_is_waited_for(rds: Any, protection: Stack) -> None:
    described(rds, protected=False)
    rds.add_client_error("modify_db_cluster", "InvalidDBClusterStateFault")
    described(rds, protected=True)
    protection.create(REQUEST)


def test_a_database_that_is_gone_is_said(rds: Any, protection: Stack) -> None:
    rds.add_client_error("describe_db_clusters", "DBClusterNotFoundFault")
    assert "there is no cluster prod-cdc-lake" in failing(protection.create, REQUEST)


def test_deleting_the_stack_leaves_the_protection(rds: Any, protection: Stack) -> None:
    described(rds, protected=True)
    protection.create(REQUEST)
    protection.delete()
