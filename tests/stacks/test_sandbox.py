"""Differences of the cheap environment: one NAT, one node, small brokers, and matching replicas."""

import pytest

from operate.review.findings import find
from plugins.kafka.topics import in_sync_of, replicas_on
from settings.load import load
from tests.stacks.conftest import Synthesized

pytestmark = pytest.mark.synth


def test_all_checks_find_nothing_but_missing_checksums(sandbox: Synthesized) -> None:
    """Of cdk-nag, cfn-lint and our rules, on what only this environment's templates have."""
    findings = find(load("sandbox"), sandbox.synthesis)
    assert [str(finding) for finding in findings if "./lake dev lock plugins" not in finding.message] == []


def test_topics_have_as_many_replicas_as_there_are_brokers_and_one_may_be_away(sandbox: Synthesized) -> None:
    settings = load("sandbox")
    [cluster] = sandbox.properties("streaming", "AWS::MSK::Cluster")
    assert cluster["BrokerNodeGroupInfo"]["InstanceType"] == "kafka.t3.small"
    replicas = replicas_on(len(settings.availability_zones))
    assert replicas == cluster["NumberOfBrokerNodes"] == 2
    assert in_sync_of(replicas) == 1
    [configuration] = sandbox.resources("streaming", "AWS::MSK::Configuration").values()
    lines = configuration["Properties"]["ServerProperties"].splitlines()
    assert {"default.replication.factor=2", "min.insync.replicas=1"} <= set(lines)
