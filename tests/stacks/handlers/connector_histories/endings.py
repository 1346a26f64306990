"""How a connector's history may go, and must end."""

import pytest

from tests.stacks.handlers.histories import World
from tests.stacks.handlers.kafkaconnect_backend import KafkaConnect

BOTH_ORDERS = pytest.mark.parametrize("late_first", [True, False], ids=["late first", "late last"])


def assert_gone(world: World, connect: KafkaConnect) -> None:
    """Nothing is there, and nothing comes any more."""
    world.drain()
    assert connect.connectors == {}
