"""The database's decisions: who reaches it, encryption, retention, rotation, and how the source is prepared."""

import json
from typing import Any

import pytest

from stacks.gate.template import request_of
from stacks.lambda_assets import sql_hash
from tests.stacks.conftest import Synthesized

pytestmark = pytest.mark.synth

ROLE = "database"


def prepared(stack: Synthesized) -> dict[str, Any]:
    (found,) = stack.resources(ROLE, "Custom::PreparedSource").values()
    return dict(found)


def test_prods_database_is_protected_when_all_else_is_there(dev: Synthesized, prod: Synthesized) -> None:
    """Protected earlier, a failed first deployment couldn't be rolled back: the remaining name would block the next."""
    assert dev.resources(ROLE, "Custom::ProtectedDatabase") == {}
    ((logical_id, protected),) = prod.resources(ROLE, "Custom::ProtectedDatabase").items()
    request = request_of(protected)
    assert request is not None
    assert set(request) == {"clusterIdentifier"}
    assert prod.resources(ROLE, "Custom::PreparedSource").keys() < set(protected["DependsOn"])
    assert prod.resources(ROLE, "AWS::RDS::DBInstance").keys() < set(protected["DependsOn"])
    waiting = [
        name
        for name, resource in prod[ROLE].to_json()["Resources"].items()
        if logical_id in json.dumps(resource.get("DependsOn", []))
    ]
    assert waiting == []


def test_another_outbox_calls_the_preparation_again(environment: Synthesized) -> None:
    request = request_of(prepared(environment))
    assert request is not None
    assert request["sqlHash"] == sql_hash("preparation")


def test_the_preparation_waits_for_the_instances_and_the_way_to_them(environment: Synthesized) -> None:
    """In reverse order, the slot is dropped while the database can still be reached."""
    wanted = set(environment.resources(ROLE, "AWS::RDS::DBInstance"))
    wanted |= {
        logical_id
        for logical_id, rule in environment.resources(ROLE, "AWS::EC2::SecurityGroupIngress").items()
        if "PreparationAccess" in json.dumps(rule["Properties"]["SourceSecurityGroupId"])
    }
    assert len(wanted) > 1
    assert wanted <= set(prepared(environment)["DependsOn"])
