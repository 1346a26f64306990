import pytest

from stacks.handlers import emr_step
from tests.stacks.handlers.cloudformation import Stack, World
from tests.stacks.handlers.emr_step.cluster import Cluster


@pytest.fixture
def cluster(emr: Cluster) -> Cluster:
    return emr


@pytest.fixture
def resource(world: World, cluster: Cluster) -> Stack:  # noqa: ARG001  without it there is no step
    return Stack(world, emr_step)
