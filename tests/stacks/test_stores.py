"""Database, brokers and buckets: who reaches them, their retention, and what survives."""

import json
from collections import Counter
from typing import Any

import pytest

from contract.sizes import SizeLimits
from stacks.gate.template import request_of
from stacks.streaming import server_properties
from tests.stacks.conftest import Synthesized

pytestmark = pytest.mark.synth


DATABASE = "database"


def test_prods_database_is_protected_when_all_else_is_there(dev: Synthesized, prod: Synthesized) -> None:
    """Protected earlier, a failed first deployment couldn't be rolled back: the remaining name would block the next."""
    assert dev.resources(DATABASE, "Custom::ProtectedDatabase") == {}
    [(logical_id, protected)] = prod.resources(DATABASE, "Custom::ProtectedDatabase").items()
    assert set(request_of(protected) or {}) == {"clusterIdentifier"}
    assert prod.resources(DATABASE, "Custom::PreparedSource").keys() < set(protected["DependsOn"])
    assert prod.resources(DATABASE, "AWS::RDS::DBInstance").keys() < set(protected["DependsOn"])
    depending = [json.dumps(each.get("DependsOn", [])) for each in prod[DATABASE]["Resources"].values()]
    assert [each for each in depending if logical_id in each] == []


def test_the_preparation_waits_for_the_instances_and_the_way_to_them(environment: Synthesized) -> None:
    """In reverse order, the slot is dropped while the database can still be reached."""
    [prepared] = environment.resources(DATABASE, "Custom::PreparedSource").values()
    wanted = set(environment.resources(DATABASE, "AWS::RDS::DBInstance"))
    wanted |= {
        logical_id
        for logical_id, rule in environment.resources(DATABASE, "AWS::EC2::SecurityGroupIngress").items()
        if "PreparationAccess" in json.dumps(rule["Properties"]["SourceSecurityGroupId"])
    }
    assert len(wanted) > 1
    assert wanted <= set(prepared["DependsOn"])


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
    assert properties["unclean.leader.election.enable"] == "false"


def test_brokers_and_both_connectors_agree_on_the_largest_event(environment: Synthesized) -> None:
    limits = SizeLimits(environment.settings.streaming.largest_event_bytes)
    assert limits.event_bytes >= 16_000_000
    [configuration] = environment.properties("streaming", "AWS::MSK::Configuration")
    lines = set(configuration["ServerProperties"].splitlines())
    assert {f"{key}={value}" for key, value in limits.broker.items()} <= lines
    name = f"{environment.settings.prefix}-orders"
    source, sink = (environment.connectors()[f"{name}-{role}"]["connectorConfiguration"] for role in ("source", "sink"))
    assert source["producer.override.max.request.size"] == str(limits.request_bytes)
    assert sink["consumer.override.max.partition.fetch.bytes"] == str(limits.message_bytes)


KEPT = "RetainExceptOnCreate"


def resources(environment: Synthesized) -> list[dict[str, Any]]:
    return [each for template in environment.by_role.values() for each in template["Resources"].values()]


def test_prod_keeps_what_holds_data_but_not_from_a_creation_that_failed(dev: Synthesized, prod: Synthesized) -> None:
    """If kept under its fixed name, it would block every further attempt."""
    policies = Counter(each.get("DeletionPolicy", "Delete") for each in resources(prod))
    assert policies.keys() == {"Delete", KEPT}
    assert policies[KEPT] > 20
    kept = [each for each in resources(prod) if each.get("DeletionPolicy") == KEPT]
    assert [each for each in kept if each["UpdateReplacePolicy"] != "Retain"] == []
    assert {each.get("DeletionPolicy", "Delete") for each in resources(dev)} == {"Delete"}


def test_what_is_kept_needs_nothing_that_goes(prod: Synthesized) -> None:
    """A kept cluster in a deleted group could neither be deleted nor be imported into a new stack alone."""
    for role, template in prod.by_role.items():
        found = template["Resources"]
        kept = {name for name, resource in found.items() if resource.get("DeletionPolicy") == KEPT}
        for name in kept:
            needed = {other for other in found if f'"{other}"' in json.dumps(found[name])}
            assert needed <= kept, f"{role}/{name} needs {needed - kept}"
