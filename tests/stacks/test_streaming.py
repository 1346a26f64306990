"""MSK's decisions: IAM over TLS and nothing else, who reaches the brokers, what survives a broker and a deployment."""

import pytest

from contract.sizes import SizeLimits
from settings.load import load
from stacks.gate import request_of
from stacks.streaming import server_properties
from tests.stacks.conftest import Synthesized

pytestmark = pytest.mark.synth

ROLE = "streaming"


@pytest.fixture(params=["dev", "prod"])
def environment(request: pytest.FixtureRequest, dev: Synthesized, prod: Synthesized) -> tuple[str, Synthesized]:
    return request.param, {"dev": dev, "prod": prod}[request.param]


def _check_replication(zones: int, replicas: int, in_sync: int) -> None:
    properties = server_properties(zones)
    assert properties["default.replication.factor"] == str(replicas)
    assert properties["offsets.topic.replication.factor"] == str(replicas)
    assert properties["min.insync.replicas"] == str(in_sync)
    assert in_sync < replicas
    assert properties["unclean.leader.election.enable"] == "false"


def test_one_of_three_replicas_may_be_lost_and_every_acknowledged_event_is_on_another() -> None:
    _check_replication(3, 3, 2)


def test_one_of_two_replicas_may_be_away_but_an_event_acknowledged_then_is_on_one_disk_alone() -> None:
    """Why production wants three zones (settings/rules/production.py)."""
    _check_replication(2, 2, 1)


def test_production_has_three_replicas_in_three_zones() -> None:
    settings = load("prod")
    assert len(set(settings.availability_zones)) == 3
    assert server_properties(len(settings.availability_zones))["min.insync.replicas"] == "2"


def test_brokers_and_both_connectors_agree_on_the_largest_event(environment: tuple[str, Synthesized]) -> None:
    name, stack = environment
    limits = SizeLimits(load(name).streaming.largest_event_bytes)
    assert limits.event_bytes >= 16_000_000
    ((_, configuration),) = stack.resources(ROLE, "AWS::MSK::Configuration").items()
    lines = set(configuration["Properties"]["ServerProperties"].splitlines())
    assert {f"{key}={value}" for key, value in limits.broker.items()} <= lines
    connectors = {
        request["connectorName"].rpartition("-")[2]: request["connectorConfiguration"]
        for resource in stack.resources("connectors", "Custom::Connector").values()
        if (request := request_of(resource)) is not None
    }
    assert connectors["source"]["producer.override.max.request.size"] == str(limits.request_bytes)
    assert connectors["sink"]["consumer.override.max.partition.fetch.bytes"] == str(limits.message_bytes)


def test_the_addresses_are_looked_up_once_because_other_stacks_import_them(
    environment: tuple[str, Synthesized],
) -> None:
    """A request that knew the number of brokers would look again, and CloudFormation refuse the changed export."""
    (lookup,) = environment[1].resources(ROLE, "Custom::BootstrapBrokers").values()
    request = request_of(lookup)
    assert request is not None
    assert set(request) == {"clusterArn"}
