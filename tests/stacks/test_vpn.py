"""The bastion's decisions: who may connect, its rights, where its secrets are, and what replaces it."""

import json

import pytest

from stacks.gate.template import as_list
from stacks.vpn_script import fill
from tests.stacks.conftest import Synthesized

pytestmark = pytest.mark.synth

ROLE = "vpn"
SECRET = "AWS::SecretsManager::Secret"


def test_each_person_has_her_own_secret_that_iam_can_allow_to_her_alone(many: Synthesized) -> None:
    found = {
        secret["Name"]: {tag["Key"]: tag["Value"] for tag in secret["Tags"]}.get("vpn-user")
        for secret in many.properties(ROLE, SECRET)
    }
    assert found == {
        "dev-cdc-lake/vpn/.pre-shared-key": None,
        "dev-cdc-lake/vpn/alice": "alice",
        "dev-cdc-lake/vpn/bob2": "bob2",
        "dev-cdc-lake/vpn/carol_d.smith": "carol_d.smith",
    }


def test_who_may_connect_is_read_by_the_bastion_and_makes_no_other_one(dev: Synthesized, many: Synthesized) -> None:
    [users] = many.resources(ROLE, "AWS::SSM::Parameter").values()
    assert users["Properties"]["Value"] == "alice,bob2,carol_d.smith"
    # A person is on the list if their secret exists and may be read.
    assert {name for name in many.resources(ROLE, SECRET) if name.startswith("Password")} <= set(users["DependsOn"])
    assert any("Policy" in name for name in users["DependsOn"])
    assert many.resources(ROLE, "AWS::EC2::Instance") == dev.resources(ROLE, "AWS::EC2::Instance") != {}
    [nobody] = dev.properties(ROLE, "AWS::SSM::Parameter")
    assert nobody["Value"] == "-"


def test_every_secret_is_rotated_by_a_function_that_touches_no_others(many: Synthesized) -> None:
    secrets = many.resources(ROLE, SECRET).keys()
    schedules = many.properties(ROLE, "AWS::SecretsManager::RotationSchedule")
    assert {schedule["SecretId"]["Ref"] for schedule in schedules} == secrets
    for schedule in schedules:
        assert schedule["RotationRules"] == {"AutomaticallyAfterDays": 90}
        assert schedule["RotateImmediatelyOnUpdate"] is False
    [policy] = [each for name, each in many.resources(ROLE, "AWS::IAM::Policy").items() if name.startswith("Rotation")]
    rights = [each for each in policy["Properties"]["PolicyDocument"]["Statement"] if "secretsmanager:" in str(each)]
    actions = {"DescribeSecret", "GetSecretValue", "PutSecretValue", "UpdateSecretVersionStage"}
    assert {action for each in rights for action in each["Action"]} == {f"secretsmanager:{name}" for name in actions}
    assert [{resource["Ref"] for resource in as_list(each["Resource"])} for each in rights] == [secrets]
    [permission] = many.properties(ROLE, "AWS::Lambda::Permission")
    caller = (permission["Principal"], permission["SourceAccount"])
    assert caller == ("secretsmanager.amazonaws.com", many.settings.account)


def test_a_boot_that_fails_fails_the_deployment(environment: Synthesized) -> None:
    [(logical_id, instance)] = environment.resources(ROLE, "AWS::EC2::Instance").items()
    assert instance["CreationPolicy"]["ResourceSignal"] == {"Timeout": "PT15M"}
    assert f"readonly resource='{logical_id}'" in json.dumps(instance["Properties"]["UserData"])


def test_a_placeholder_without_a_value_is_noticed() -> None:
    assert fill("a='@ONE@' b='@ONE@'", {"ONE": "1"}) == "a='1' b='1'"
    with pytest.raises(KeyError, match="TWO"):
        fill("@TWO@", {"ONE": "1"})
