from typing import Any

import pytest

from tests.stacks.handlers.cloudformation import Stack
from tests.stacks.handlers.msk_connect.service import KafkaConnect


@pytest.fixture
def stack(source: Stack, connect: KafkaConnect, wanted: dict[str, Any]) -> Stack:  # noqa: ARG001
    """A stack with a connector, whose operations take minutes; everything it refers to exists."""
    connect.ticks_needed = 4
    return source
