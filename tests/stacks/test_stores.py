"""Database, brokers and buckets: who reaches them, their retention, and what survives."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from contract.sizes import SizeLimits
from plugins.kafka.topics import in_sync_of, replicas_on
from settings.load import load
from stacks.gate.template import request_of
from stacks.lambda_assets import sql_hash
from stacks.streaming import server_properties
from tests.stacks.conftest import Synthesized

pytestmark = pytest.mark.synth


DATABASE = "database"


def prepared(stack: Synthesized) -> dict[str, Any]:
    (found,) = stack.resources(DATABASE, "Custom::PreparedSource").values()
    return dict(found)


def test_prods_database_is_protected_when_all_else_is_there(dev: Synthesized, prod: Synthesized) -> None:
    """Protected earlier, a failed first deployment couldn't be rolled back: the remaining name would block the next."""
    assert dev.resources(DATABASE, "Custom::ProtectedDatabase") == {}
    ((logical_id, protected),) = prod.resources(DATABASE, "Custom::ProtectedDatabase").items()
    request = request_of(protected)
    assert request is not None
    assert set(request) == {"clusterIdentifier"}
    assert prod.resources(DATABASE, "Custom::PreparedSource").keys() < set(protected["DependsOn"])
    assert prod.resources(DATABASE, "AWS::RDS::DBInstance").keys() < set(protected["DependsOn"])
    waiting = [
        name
        for name, resource in prod[DATABASE].to_json()["Resources"].items()
        if logical_id in json.dumps(resource.get("DependsOn", []))
    ]
    assert waiting == []


def test_another_outbox_calls_the_preparation_again(environment: Synthesized) -> None:
    request = request_of(prepared(environment))
    assert request is not None
    assert request["sqlHash"] == sql_hash("preparation")


def test_the_preparation_waits_for_the_instances_and_the_way_to_them(environment: Synthesized) -> None:
    """In reverse order, the slot is dropped while the database can still be reached."""
    wanted = set(environment.resources(DATABASE, "AWS::RDS::DBInstance"))
    wanted |= {
        logical_id
        for logical_id, rule in environment.resources(DATABASE, "AWS::EC2::SecurityGroupIngress").items()
        if "PreparationAccess" in json.dumps(rule["Properties"]["SourceSecurityGroupId"])
    }
    assert len(wanted) > 1
    assert wanted <= set(prepared(environment)["DependsOn"])


STREAMING = "streaming"


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
    [configuration] = environment.properties(STREAMING, "AWS::MSK::Configuration")
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
    [request] = environment.requests(STREAMING, "Custom::BootstrapBrokers").values()
    assert set(request) == {"clusterArn"}


def test_what_has_landed_expires_and_the_sinks_bookkeeping_never(environment: Synthesized) -> None:
    settings = load(environment.name)
    [landing] = [
        bucket
        for bucket in environment.properties("lake", "AWS::S3::Bucket")
        if bucket["BucketName"] == settings.bucket_name("landing")
    ]
    expiring = [rule for rule in landing["LifecycleConfiguration"]["Rules"] if "ExpirationInDays" in rule]
    assert [(rule["Prefix"], rule["ExpirationInDays"]) for rule in expiring] == [
        (f"{settings.pipelines[0].landing_prefix}/", settings.lake.landing_expiry_days)
    ]
    for bookkeeping in (".indexes/", ".temp-upload/"):
        assert not any(bookkeeping.startswith(rule["Prefix"]) for rule in expiring)


KEPT = "RetainExceptOnCreate"


def resources(environment: Synthesized) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every resource with its stack's role and its logical id."""
    for role, template in environment.by_role.items():
        for logical_id, resource in template.to_json()["Resources"].items():
            yield role, logical_id, resource


def test_nothing_is_kept_from_a_creation_that_failed(dev: Synthesized, prod: Synthesized) -> None:
    """If kept under its fixed name, it would block every further attempt."""
    for environment in (dev, prod):
        policies = {resource.get("DeletionPolicy", "Delete") for _, _, resource in resources(environment)}
        assert policies <= {"Delete", KEPT}


def test_what_is_kept_is_kept_when_it_is_replaced_too(prod: Synthesized) -> None:
    kept = [(role, name, r) for role, name, r in resources(prod) if r.get("DeletionPolicy") == KEPT]
    assert len(kept) > 20
    assert [(role, name) for role, name, resource in kept if resource["UpdateReplacePolicy"] != "Retain"] == []


def test_dev_keeps_nothing(dev: Synthesized) -> None:
    assert not any(resource.get("DeletionPolicy") == KEPT for _, _, resource in resources(dev))


def test_what_is_kept_needs_nothing_that_goes(prod: Synthesized) -> None:
    """A kept cluster in a deleted group could neither be deleted nor be imported into a new stack alone."""
    for role, template in prod.by_role.items():
        found = template.to_json()["Resources"]
        kept = {name for name, resource in found.items() if resource.get("DeletionPolicy") == KEPT}
        for name in kept:
            needed = {other for other in found if f'"{other}"' in json.dumps(found[name])}
            assert needed <= kept, f"{role}/{name} needs {needed - kept}"


def test_prods_stacks_are_protected_from_deletion_and_devs_are_not(dev: Synthesized, prod: Synthesized) -> None:
    for environment, protected in ((dev, {False}), (prod, {True})):
        manifest = json.loads((environment.synthesis.folder / "manifest.json").read_text())
        stacks = [each for each in manifest["artifacts"].values() if each["type"] == "aws:cloudformation:stack"]
        assert len(stacks) == len(environment.by_role)
        assert {stack["properties"].get("terminationProtection", False) for stack in stacks} == protected


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
