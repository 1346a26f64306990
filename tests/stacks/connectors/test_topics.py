"""The topics' stack resource: what is asked for, who may do it, from where, and before what."""

from typing import Any

import pytest

from plugins.kafka.topics import PlannedTopic
from settings.load import load
from stacks.gate import request_of
from stacks.gate.template import LATER
from tests.stacks.conftest import Synthesized

pytestmark = pytest.mark.synth

ROLE = "connectors"


@pytest.fixture(params=["dev", "prod"])
def environment(request: pytest.FixtureRequest, dev: Synthesized, prod: Synthesized) -> tuple[str, Synthesized]:
    return request.param, {"dev": dev, "prod": prod}[request.param]


def request(stack: Synthesized) -> dict[str, Any]:
    (resource,) = stack.resources(ROLE, "Custom::Topics").values()
    return request_of(resource) or {}


def test_every_topic_is_asked_for_with_the_environments_retention(environment: tuple[str, Synthesized]) -> None:
    name, stack = environment
    topics = {topic.name: topic for topic in map(PlannedTopic.of_request, request(stack)["topics"])}
    assert set(topics) == {
        "msk.datalake.cdc_events",
        "__debezium-heartbeat.msk",
        f"__cdc_lake_offsets_{name}-cdc-lake-orders-source-{LATER}",
    }
    settings = load(name).streaming
    events = topics["msk.datalake.cdc_events"]
    assert events.config["retention.ms"] == str(settings.topic_retention_hours * 3_600_000)
    assert events.replicas == min(settings.brokers, 3)
