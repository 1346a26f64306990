"""The same source by another logical id: its slot and its generation stay."""

import pytest

from contract import tags
from local.services.postgres import ConnectionParameters
from stacks.handlers import preparation
from tests.stacks.handlers.deployment import Resource
from tests.stacks.handlers.source_preparation.cluster import Cluster
from tests.stacks.handlers.source_preparation.source import make_slot, request, slot_exists

pytestmark = pytest.mark.integration


def renamed(source: Resource) -> Resource:
    """The same in the template, by another logical id."""
    return Resource(handler=preparation, clock=source.clock, tick=lambda: None, logical_id="RenamedSource")


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
    assert tags.RESNAPSHOT not in cluster.tags
    source.delete()
    assert not slot_exists(database)
