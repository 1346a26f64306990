"""The bastion's decisions: who may knock, what it may do, where its secrets are, what makes a new one."""

import json
from typing import Any

import pytest
from aws_cdk.assertions import Match

from settings.load import load
from stacks.gate import plain_text
from stacks.vpn import fill
from tests.stacks.conftest import Synthesized
from tests.stacks.ports import open_ports

pytestmark = pytest.mark.synth

ROLE = "vpn"


@pytest.fixture(params=["dev", "prod"])
def environment(request: pytest.FixtureRequest, dev: Synthesized, prod: Synthesized) -> tuple[str, Synthesized]:
    return request.param, {"dev": dev, "prod": prod}[request.param]


def instance(stack: Synthesized) -> dict[str, Any]:
    (found,) = stack.resources(ROLE, "AWS::EC2::Instance").values()
    return dict(found)


def user_data(stack: Synthesized) -> str:
    return json.dumps(instance(stack)["Properties"]["UserData"])


def test_only_ipsec_is_open_and_management_to_nobody(environment: tuple[str, Synthesized]) -> None:
    name, stack = environment
    settings = load(name).vpn
    clients = {f"udp {port} from {cidr}" for port in (500, 4500) for cidr in settings.client_cidrs}
    managers = {f"tcp 443 from {cidr}" for cidr in settings.management_cidrs}
    assert open_ports(stack, ROLE, "VpnServer") == clients | managers
    assert not settings.management_cidrs


def test_the_bastion_wears_the_group_that_services_open_their_ports_to(environment: tuple[str, Synthesized]) -> None:
    _, stack = environment
    (interface,) = instance(stack)["Properties"]["NetworkInterfaces"]
    assert "VpnAccess" in json.dumps(interface["GroupSet"])
    assert "VpnServer" in json.dumps(interface["GroupSet"])


def test_secrets_are_generated_and_none_is_in_the_user_data(environment: tuple[str, Synthesized]) -> None:
    name, stack = environment
    secrets = stack.resources(ROLE, "AWS::SecretsManager::Secret")
    assert len(secrets) == 1 + len(load(name).vpn.users)
    for secret in secrets.values():
        assert secret["Properties"]["GenerateSecretString"]["PasswordLength"] == 24
        assert "SecretString" not in secret["Properties"]
    assert "{{resolve:" not in user_data(stack)


def test_its_role_reads_those_secrets_and_the_list_and_serves_session_manager(
    environment: tuple[str, Synthesized],
) -> None:
    name, stack = environment
    secrets = set(stack.resources(ROLE, "AWS::SecretsManager::Secret"))
    rights = role_rights(stack.resources(ROLE, "AWS::IAM::Policy"), "Bastion")
    (secret,) = secrets
    assert rights.pop("secretsmanager:GetSecretValue") == {"Ref": secret}
    assert plain_text(rights.pop("ssm:GetParameter")).endswith(f"parameter/{name}-cdc-lake/vpn/users")
    assert {action.partition(":")[0] for action in rights} == {"ssm", "ssmmessages"}
    roles = stack.resources(ROLE, "AWS::IAM::Role").values()
    assert not any("ManagedPolicyArns" in role["Properties"] for role in roles)


def role_rights(policies: dict[str, Any], name: str) -> dict[str, Any]:
    """What the role whose logical id begins so may do, and on what."""
    (policy,) = [policy for logical_id, policy in policies.items() if logical_id.startswith(name)]
    return {
        action: statement["Resource"]
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        for action in ([statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"])
    }


@pytest.fixture(scope="module")
def with_people(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The resources of dev's VPN with three people, by logical id."""
    from operate.synth import synthesize

    settings = load("dev")
    vpn = settings.vpn.model_copy(update={"users": ("alice", "bob", "carol.smith")})
    templates = synthesize(settings.model_copy(update={"vpn": vpn}), tmp_path_factory.mktemp("people")).templates
    return dict(templates["dev-cdc-lake-vpn"]["Resources"])


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
    # She is on the list when her secret is there and may be read.
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


def test_production_rotates(prod: Synthesized) -> None:
    assert prod.resources(ROLE, "AWS::SecretsManager::RotationSchedule")


def test_its_disk_is_encrypted_and_its_metadata_want_a_token(environment: tuple[str, Synthesized]) -> None:
    _, stack = environment
    properties = instance(stack)["Properties"]
    assert properties["BlockDeviceMappings"][0]["Ebs"]["Encrypted"] is True
    assert properties["MetadataOptions"]["HttpTokens"] == "required"
    assert "KeyName" not in properties


def test_a_boot_that_fails_fails_the_deployment(environment: tuple[str, Synthesized]) -> None:
    _, stack = environment
    assert instance(stack)["CreationPolicy"]["ResourceSignal"] == {"Timeout": "PT15M"}
    (logical_id,) = stack.resources(ROLE, "AWS::EC2::Instance")
    assert f"readonly resource='{logical_id}'" in user_data(stack)


def test_the_address_stays_when_the_instance_is_replaced(environment: tuple[str, Synthesized]) -> None:
    _, stack = environment
    (address,) = stack.resources(ROLE, "AWS::EC2::EIP")
    stack[ROLE].has_resource_properties(
        "AWS::EC2::EIPAssociation",
        {"AllocationId": {"Fn::GetAtt": [address, "AllocationId"]}, "InstanceId": {"Ref": Match.any_value()}},
    )


def test_only_the_vpcs_traffic_goes_through_the_vpn(dev: Synthesized) -> None:
    assert "readonly vpc_network='10.100.0.0/255.255.0.0'" in user_data(dev)


def test_a_placeholder_without_a_value_is_noticed() -> None:
    assert fill("a='@ONE@' b='@ONE@'", {"ONE": "1"}) == "a='1' b='1'"
    with pytest.raises(KeyError, match="TWO"):
        fill("@TWO@", {"ONE": "1"})
