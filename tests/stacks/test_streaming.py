"""MSK's decisions: IAM over TLS and nothing else, who reaches the brokers, what survives a broker and a deployment."""

import json
from typing import Any

import pytest

from contract.sizes import SizeLimits
from settings.load import load
from stacks.gate import request_of
from stacks.streaming import server_properties
from tests.stacks.conftest import Synthesized
from tests.stacks.ports import open_ports, ways_out

pytestmark = pytest.mark.synth

ROLE = "streaming"


@pytest.fixture(params=["dev", "prod"])
def environment(request: pytest.FixtureRequest, dev: Synthesized, prod: Synthesized) -> tuple[str, Synthesized]:
    return request.param, {"dev": dev, "prod": prod}[request.param]


def cluster(stack: Synthesized) -> dict[str, Any]:
    (found,) = stack.resources(ROLE, "AWS::MSK::Cluster").values()
    return dict(found)


def test_iam_is_the_only_way_in_and_everything_is_encrypted(environment: tuple[str, Synthesized]) -> None:
    _, stack = environment
    properties = cluster(stack)["Properties"]
    assert properties["ClientAuthentication"] == {
        "Sasl": {"Iam": {"Enabled": True}, "Scram": {"Enabled": False}},
        "Tls": {"Enabled": False},
        "Unauthenticated": {"Enabled": False},
    }
    assert properties["EncryptionInfo"]["EncryptionInTransit"] == {"ClientBroker": "TLS", "InCluster": True}
    assert "ConnectivityInfo" not in properties["BrokerNodeGroupInfo"]


def test_its_own_group_and_the_vpn_reach_it_and_nobody_else(environment: tuple[str, Synthesized]) -> None:
    _, stack = environment
    assert open_ports(stack, ROLE, "BrokerAccess") == {"all from BrokerAccess", "tcp 9098 from VpnAccess"}
    assert ways_out(stack, ROLE, "BrokerAccess") == {"all to BrokerAccess", "tcp 443 to 0.0.0.0/0"}


def test_the_brokers_are_the_environments_and_stand_in_private_subnets(environment: tuple[str, Synthesized]) -> None:
    name, stack = environment
    settings = load(name).streaming
    properties = cluster(stack)["Properties"]
    brokers = properties["BrokerNodeGroupInfo"]
    assert properties["NumberOfBrokerNodes"] == settings.brokers
    assert brokers["InstanceType"] == settings.broker_type
    assert brokers["StorageInfo"] == {"EBSStorageInfo": {"VolumeSize": settings.volume_gb}}
    assert len(brokers["ClientSubnets"]) == len(load(name).availability_zones)
    assert all("PrivateSubnet" in json.dumps(subnet) for subnet in brokers["ClientSubnets"])


def test_the_configuration_is_code_and_no_topic_is_made_for_whoever_asks(environment: tuple[str, Synthesized]) -> None:
    _, stack = environment
    ((logical_id, configuration),) = stack.resources(ROLE, "AWS::MSK::Configuration").items()
    lines = configuration["Properties"]["ServerProperties"].splitlines()
    assert {"auto.create.topics.enable=false", "delete.topic.enable=true"} <= set(lines)
    assert cluster(stack)["Properties"]["ConfigurationInfo"] == {
        "Arn": {"Fn::GetAtt": [logical_id, "Arn"]},
        "Revision": {"Fn::GetAtt": [logical_id, "LatestRevision.Revision"]},
    }


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


def test_topics_stay_in_prod_and_go_in_dev(dev: Synthesized, prod: Synthesized) -> None:
    assert cluster(dev)["DeletionPolicy"] == "Delete"
    assert cluster(prod)["DeletionPolicy"] == "RetainExceptOnCreate"


def test_the_brokers_log_is_kept_for_as_long_as_the_environment_says(environment: tuple[str, Synthesized]) -> None:
    name, stack = environment
    logs = cluster(stack)["Properties"]["LoggingInfo"]["BrokerLogs"]["CloudWatchLogs"]
    group = stack.resources(ROLE, "AWS::Logs::LogGroup")[logs["LogGroup"]["Ref"]]
    assert logs["Enabled"] is True
    assert group["Properties"]["RetentionInDays"] == load(name).streaming.log_retention_days


def test_the_addresses_are_looked_up_once_because_other_stacks_import_them(
    environment: tuple[str, Synthesized],
) -> None:
    """A request that knew the number of brokers would look again, and CloudFormation refuse the changed export."""
    (lookup,) = environment[1].resources(ROLE, "Custom::BootstrapBrokers").values()
    request = request_of(lookup)
    assert request is not None
    assert set(request) == {"clusterArn"}
