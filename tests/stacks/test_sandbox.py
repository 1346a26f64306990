"""What is other in the cheap environment: one way out, one node, small brokers, and replicas that fit them."""

import pytest

from operate.review import find
from plugins.topics import in_sync_of, replicas_on
from settings.load import load
from tests.stacks.conftest import Synthesized
from tests.stacks.connectors.test_stack import requests

pytestmark = pytest.mark.synth


def test_all_checks_find_nothing_but_missing_checksums(sandbox: Synthesized) -> None:
    """Of cdk-nag, cfn-lint and our rules, on what only this environment's templates have."""
    findings = find(load("sandbox"), sandbox.synthesis)
    assert [str(finding) for finding in findings if "./lake dev lock plugins" not in finding.message] == []


def test_both_zones_go_out_through_one_instance(sandbox: Synthesized) -> None:
    ways = [
        route["Properties"]["InstanceId"]["Ref"]
        for name, route in sandbox.resources("network", "AWS::EC2::Route").items()
        if "Private" in name
    ]
    [instance] = sandbox.resources("network", "AWS::EC2::Instance")
    assert ways == [instance] * len(load("sandbox").availability_zones)


def test_the_cluster_is_one_spot_node_that_nothing_scales(sandbox: Synthesized) -> None:
    [cluster] = [each["Properties"] for each in sandbox.resources("processing", "AWS::EMR::Cluster").values()]
    instances = cluster["Instances"]
    assert "CoreInstanceGroup" not in instances
    primary = instances["MasterInstanceGroup"]
    assert (primary["InstanceCount"], primary["Market"]) == (1, "SPOT")
    assert "ManagedScalingPolicy" not in cluster
    # Its groups are EMR's all the same: both have to be named.
    assert {"EmrManagedMasterSecurityGroup", "EmrManagedSlaveSecurityGroup"} <= instances.keys()


def test_topics_have_as_many_replicas_as_there_are_brokers_and_one_may_be_away(sandbox: Synthesized) -> None:
    settings = load("sandbox")
    [cluster] = [each["Properties"] for each in sandbox.resources("streaming", "AWS::MSK::Cluster").values()]
    assert cluster["BrokerNodeGroupInfo"]["InstanceType"] == "kafka.t3.small"
    replicas = replicas_on(len(settings.availability_zones))
    assert replicas == cluster["NumberOfBrokerNodes"] == 2
    assert in_sync_of(replicas) == 1
    [configuration] = sandbox.resources("streaming", "AWS::MSK::Configuration").values()
    lines = configuration["Properties"]["ServerProperties"].splitlines()
    assert {"default.replication.factor=2", "min.insync.replicas=1"} <= set(lines)


def test_one_worker_starts_at_a_time(sandbox: Synthesized) -> None:
    """So that the brokers' 4 new connections a second are enough."""
    connectors = sandbox.resources("connectors", "Custom::Connector")
    source, sink = sorted(connectors, key=lambda name: name.startswith("Sink"))
    assert source in connectors[sink]["DependsOn"]
    for request in requests(sandbox, "Custom::Connector").values():
        assert request["capacity"]["provisionedCapacity"] == {"mcuCount": 1, "workerCount": 1}
