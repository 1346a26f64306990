"""A stack with a connector."""

from typing import Any

import pytest

from stacks.handlers import connector
from tests.stacks.handlers.histories import Stack, World
from tests.stacks.handlers.kafkaconnect_backend import KafkaConnect


@pytest.fixture
def stack(world: World, connect: KafkaConnect, wanted: dict[str, Any]) -> Stack:  # noqa: ARG001
    """A stack with a connector, which takes some minutes for anything; what it refers to is there already."""
    connect.ticks_needed = 4
    return Stack(world, connector)
