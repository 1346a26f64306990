"""The bastion's decisions: who may connect, its rights, where its secrets are, and what replaces it."""

import json
from typing import Any

import pytest

from settings.load import load
from stacks.vpn import fill
from tests.stacks.conftest import Synthesized

pytestmark = pytest.mark.synth

ROLE = "vpn"


def instance(stack: Synthesized) -> dict[str, Any]:
    (found,) = stack.resources(ROLE, "AWS::EC2::Instance").values()
    return dict(found)


def user_data(stack: Synthesized) -> str:
    return json.dumps(instance(stack)["Properties"]["UserData"])


def role_rights(policies: dict[str, Any], name: str) -> dict[str, Any]:
    """Rights of the role whose logical id starts with this, and their resources."""
    (policy,) = [policy for logical_id, policy in policies.items() if logical_id.startswith(name)]
    return {
        action: statement["Resource"]
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        for action in ([statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"])
    }


@pytest.fixture(scope="module")
def with_people(many: Synthesized) -> dict[str, Any]:
    """The resources of dev's VPN with three people, by logical id."""
    return dict(many[ROLE].to_json()["Resources"])


def of_type(resources: dict[str, Any], type_: str) -> dict[str, Any]:
    return {logical_id: each for logical_id, each in resources.items() if each["Type"] == type_}


def test_each_person_has_her_own_secret_that_iam_can_allow_to_her_alone(with_people: dict[str, Any]) -> None:
    found = {
        secret["Properties"]["Name"]: {tag["Key"]: tag["Value"] for tag in secret["Properties"]["Tags"]}.get("vpn-user")
        for secret in of_type(with_people, "AWS::SecretsManager::Secret").values()
    }
    assert found == {
        "dev-cdc-lake/vpn/.pre-shared-key": None,
        "dev-cdc-lake/vpn/alice": "alice",
        "dev-cdc-lake/vpn/bob": "bob",
        "dev-cdc-lake/vpn/carol.smith": "carol.smith",
    }


def test_who_may_connect_is_read_by_the_bastion_and_makes_no_other_one(
    dev: Synthesized, with_people: dict[str, Any]
) -> None:
    (users,) = of_type(with_people, "AWS::SSM::Parameter").values()
    assert users["Properties"]["Value"] == "alice,bob,carol.smith"
    # A person is on the list if their secret exists and may be read.
    secrets = of_type(with_people, "AWS::SecretsManager::Secret")
    assert {name for name in secrets if name.startswith("Password")} <= set(users["DependsOn"])
    assert any("Policy" in name for name in users["DependsOn"])
    (bastion,) = of_type(with_people, "AWS::EC2::Instance").items()
    assert bastion == next(iter(dev.resources(ROLE, "AWS::EC2::Instance").items()))
    (nobody,) = dev.resources(ROLE, "AWS::SSM::Parameter").values()
    assert nobody["Properties"]["Value"] == "-"


def test_every_secret_is_rotated_by_a_function_that_touches_no_others(with_people: dict[str, Any]) -> None:
    secrets = set(of_type(with_people, "AWS::SecretsManager::Secret"))
    schedules = of_type(with_people, "AWS::SecretsManager::RotationSchedule").values()
    assert {schedule["Properties"]["SecretId"]["Ref"] for schedule in schedules} == secrets
    for schedule in schedules:
        assert schedule["Properties"]["RotationRules"] == {"AutomaticallyAfterDays": 90}
        assert schedule["Properties"]["RotateImmediatelyOnUpdate"] is False
    rights = role_rights(of_type(with_people, "AWS::IAM::Policy"), "Rotation")
    for action in ("DescribeSecret", "GetSecretValue", "PutSecretValue", "UpdateSecretVersionStage"):
        assert {resource["Ref"] for resource in rights[f"secretsmanager:{action}"]} == secrets
    (permission,) = of_type(with_people, "AWS::Lambda::Permission").values()
    assert permission["Properties"]["Principal"] == "secretsmanager.amazonaws.com"
    assert permission["Properties"]["SourceAccount"] == load("dev").account


def test_a_boot_that_fails_fails_the_deployment(environment: Synthesized) -> None:
    assert instance(environment)["CreationPolicy"]["ResourceSignal"] == {"Timeout": "PT15M"}
    (logical_id,) = environment.resources(ROLE, "AWS::EC2::Instance")
    assert f"readonly resource='{logical_id}'" in user_data(environment)


def test_a_placeholder_without_a_value_is_noticed() -> None:
    assert fill("a='@ONE@' b='@ONE@'", {"ONE": "1"}) == "a='1' b='1'"
    with pytest.raises(KeyError, match="TWO"):
        fill("@TWO@", {"ONE": "1"})
