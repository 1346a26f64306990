"""The same connector by another logical id: it goes on, and belongs to whoever is left."""

from typing import Any

import pytest

from contract.tags import FORMER_OWNER, OWNER
from stacks.handlers import connector
from tests.stacks.handlers.connector_histories.endings import assert_gone
from tests.stacks.handlers.connector_requests import NAME, assert_as, configuration
from tests.stacks.handlers.histories import Stack
from tests.stacks.handlers.kafkaconnect_backend import KafkaConnect


def test_a_renamed_construct_keeps_its_connector(stack: Stack, connect: KafkaConnect, wanted: dict[str, Any]) -> None:
    stack.create(wanted)
    before = connect.connector(NAME)["connectorArn"]
    renamed = Stack(stack.world, connector, "Renamed")
    assert renamed.create(wanted).succeeded
    assert stack.destroy().succeeded
    stack.world.drain()
    assert connect.connector(NAME)["connectorArn"] == before
    assert connect.called("DeleteConnector", "UpdateConnector") == []
    assert renamed.update(configuration(wanted, a="b")).succeeded
    assert renamed.destroy().succeeded
    assert_gone(stack.world, connect)


@pytest.mark.parametrize("cancelled", [True, False])
def test_a_rename_that_is_rolled_back_gives_the_connector_back(
    stack: Stack, connect: KafkaConnect, wanted: dict[str, Any], cancelled: bool
) -> None:
    stack.create(wanted)
    renamed = Stack(stack.world, connector, "Renamed")
    if cancelled:
        renamed.begin_create(wanted)
        stack.world.run(30)
        assert renamed.give_up_creation().succeeded
    else:
        renamed.create(wanted)
        assert renamed.destroy().succeeded
    stack.world.drain()
    assert_as(connect, wanted)
    (tags,) = [tags for arn, tags in connect.tags.items() if arn in connect.connectors]
    assert tags[OWNER] == "dev-cdc-lake-connectors/Source"
    assert FORMER_OWNER not in tags
    assert stack.destroy().succeeded
    assert_gone(stack.world, connect)


def test_a_construct_is_not_renamed_and_changed_at_once(
    stack: Stack, connect: KafkaConnect, wanted: dict[str, Any]
) -> None:
    stack.create(wanted)
    renamed = Stack(stack.world, connector, "Renamed")
    reason = renamed.create(configuration(wanted, a="b")).reason
    assert f"the connector {NAME}, which is RUNNING, is dev-cdc-lake-connectors/Source's" in reason
    assert "connectorConfiguration (a)" in reason
    assert_as(connect, wanted)
    assert stack.update(configuration(wanted, a="c")).succeeded
