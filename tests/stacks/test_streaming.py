"""MSK's decisions: IAM over TLS only, who reaches the brokers, and what survives a broker and a deployment."""

import pytest

from contract.sizes import SizeLimits
from settings.load import load
from stacks.streaming import server_properties
from tests.stacks.conftest import Synthesized

pytestmark = pytest.mark.synth

ROLE = "streaming"


@pytest.mark.parametrize(
    ("zones", "replicas", "in_sync"),
    [
        pytest.param(3, 3, 2, id="one may be lost, and every acknowledged event is on another"),
        # The reason for production's three zones (settings/rules/production.py).
        pytest.param(2, 2, 1, id="one may be away, but an event acknowledged then is on one disk alone"),
    ],
)
def test_brokers_replicate_over_the_zones(zones: int, replicas: int, in_sync: int) -> None:
    properties = server_properties(zones)
    assert properties["default.replication.factor"] == str(replicas)
    assert properties["offsets.topic.replication.factor"] == str(replicas)
    assert properties["min.insync.replicas"] == str(in_sync)
    assert in_sync < replicas
    assert properties["unclean.leader.election.enable"] == "false"


def test_production_has_three_replicas_in_three_zones() -> None:
    settings = load("prod")
    assert len(set(settings.availability_zones)) == 3
    assert server_properties(len(settings.availability_zones))["min.insync.replicas"] == "2"


def test_brokers_and_both_connectors_agree_on_the_largest_event(environment: Synthesized) -> None:
    limits = SizeLimits(load(environment.name).streaming.largest_event_bytes)
    assert limits.event_bytes >= 16_000_000
    [configuration] = environment.properties(ROLE, "AWS::MSK::Configuration")
    lines = set(configuration["ServerProperties"].splitlines())
    assert {f"{key}={value}" for key, value in limits.broker.items()} <= lines
    connectors = {
        request["connectorName"].rpartition("-")[2]: request["connectorConfiguration"]
        for request in environment.requests("connectors", "Custom::Connector").values()
    }
    assert connectors["source"]["producer.override.max.request.size"] == str(limits.request_bytes)
    assert connectors["sink"]["consumer.override.max.partition.fetch.bytes"] == str(limits.message_bytes)


def test_the_addresses_are_looked_up_once_because_other_stacks_import_them(environment: Synthesized) -> None:
    """If the request contained the number of brokers, it would look again: CloudFormation refuses a changed export."""
    [request] = environment.requests(ROLE, "Custom::BootstrapBrokers").values()
    assert set(request) == {"clusterArn"}
