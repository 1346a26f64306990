"""The life cycle of the objects that all connectors on EKS share, with an absent or refusing API."""

from typing import Any

import pytest

from plugins.workers.kubernetes_api import KubernetesError, UnreachableError
from stacks.connectors.eks_cluster import shared_objects
from stacks.handlers import kubernetes_objects
from stacks.handlers.framework import ResourceError, Waiting
from stacks.handlers.kubernetes_objects import SPREADS_SECONDS, refused
from tests.stacks.handlers.cloudformation import Clock, Stack, World
from tests.stacks.handlers.kubernetes.cluster import FakeCluster


def request(objects: list[dict[str, Any]]) -> dict[str, Any]:
    return {"cluster": {"name": "dev", "endpoint": "https://x", "authority": ""}, "objects": objects}


def test_they_are_made_changed_and_taken_away(eks: FakeCluster, world: World) -> None:
    shared = Stack(world, kubernetes_objects, "Shared")
    shared.create(request(shared_objects()))
    assert len(eks.objects) == len(shared_objects())
    fewer = [each for each in shared_objects() if each["kind"] != "RoleBinding"]
    shared.update(request(fewer))
    assert "RoleBinding" not in eks.kinds
    shared.delete()
    assert eks.objects == {}


def test_an_access_entry_that_spreads_is_waited_for_and_then_no_more(clock: Clock) -> None:
    event = {"Started": clock.seconds}
    forbidden = KubernetesError("PATCH /api", 403, "forbidden")
    assert isinstance(refused(event, forbidden), Waiting)
    assert isinstance(refused(event, UnreachableError("away")), Waiting)
    clock.seconds += SPREADS_SECONDS + 1
    assert isinstance(refused(event, UnreachableError("away")), Waiting)
    with pytest.raises(ResourceError, match="forbidden"):
        refused(event, forbidden)


def test_a_malformed_object_fails_at_once(clock: Clock) -> None:
    with pytest.raises(ResourceError, match="field not declared"):
        refused({"Started": clock.seconds}, KubernetesError("PATCH", 500, "field not declared in schema"))
