"""The topics' stack resource: what is asked for, who may do it, from where, and before what."""

import pytest

from plugins.topics import PlannedTopic
from settings.load import load
from stacks.gate.template import LATER
from tests.stacks.conftest import Synthesized

pytestmark = pytest.mark.synth


def test_every_topic_is_asked_for_with_the_environments_retention(environment: Synthesized) -> None:
    name = environment.name
    [request] = environment.requests("connectors", "Custom::Topics").values()
    topics = {topic.name: topic for topic in map(PlannedTopic.of_request, request["topics"])}
    assert set(topics) == {
        "msk.datalake.cdc_events",
        "__debezium-heartbeat.msk",
        f"__cdc_lake_offsets_{name}-cdc-lake-orders-source-{LATER}",
    }
    settings = load(name).streaming
    events = topics["msk.datalake.cdc_events"]
    assert events.config["retention.ms"] == str(settings.topic_retention_hours * 3_600_000)
    assert events.replicas == min(settings.brokers, 3)
