"""A request that comes twice, and an answer that gets lost: the step is added once."""

import json
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from stacks.handlers import emr_steps
from tests.stacks.handlers.clients import client
from tests.stacks.handlers.deployment import Resource
from tests.stacks.handlers.emr_step.cluster import Cluster


def test_a_delivery_that_comes_twice_finds_the_step_of_the_first(cluster: Cluster, resource: Resource) -> None:
    resource.properties = {"Request": json.dumps(cluster.wanted())}
    event = resource.event("Create")
    first, second = resource.begin(event), resource.begin(event)
    for _ in range(2):
        resource.poll(first)
        resource.poll(second)
        cluster.tick()
    assert len(cluster.steps) == 1
    assert resource.finish(first) == resource.finish(second)


def test_a_step_whose_answer_was_lost_is_found_and_not_added_again(cluster: Cluster, resource: Resource) -> None:
    events, lost = client("emr").meta.events, [ReadTimeoutError(endpoint_url="https://emr")]

    def lose(**_: Any) -> None:
        if lost:
            raise lost.pop()

    resource.properties = {"Request": json.dumps(cluster.wanted())}
    waiting = resource.begin(resource.event("Create"))
    events.register("after-call.emr.AddJobFlowSteps", lose)
    try:
        data = resource.finish(waiting)
    finally:
        events.unregister("after-call.emr.AddJobFlowSteps", lose)
    assert lost == []
    assert [step.id for step in cluster.steps] == [data["StepId"]]


def test_botocore_never_repeats_the_addition_of_a_step(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def recorded(service: str, config: Any = None) -> Any:
        asked.append((service, config))
        return client(service)

    monkeypatch.setattr(emr_steps, "client", recorded)
    emr_steps.Steps(cluster.wanted()).add("name")
    service, config = asked[-1]
    assert service == "emr"
    assert config.retries == {"mode": "standard", "total_max_attempts": 1}
