"""The bastion's decisions: who may knock, what it may do, where its secrets are, what makes a new one."""

import json
from typing import Any

import pytest
from aws_cdk.assertions import Match

from stacks.environment import load
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


def test_secrets_are_generated_and_only_their_names_are_in_the_user_data(
    environment: tuple[str, Synthesized],
) -> None:
    _, stack = environment
    secrets = stack.resources(ROLE, "AWS::SecretsManager::Secret")
    assert len(secrets) == 3
    for logical_id, secret in secrets.items():
        assert secret["Properties"]["GenerateSecretString"]["PasswordLength"] == 24
        assert "SecretString" not in secret["Properties"]
        assert f'{{"Ref": "{logical_id}"}}' in user_data(stack)
    assert "{{resolve:" not in user_data(stack)


def test_its_role_reads_those_secrets_and_serves_session_manager(environment: tuple[str, Synthesized]) -> None:
    _, stack = environment
    secrets = set(stack.resources(ROLE, "AWS::SecretsManager::Secret"))
    (policy,) = stack.resources(ROLE, "AWS::IAM::Policy").values()
    rights = {
        action: statement["Resource"]
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        for action in ([statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"])
    }
    assert {resource["Ref"] for resource in rights.pop("secretsmanager:GetSecretValue")} == secrets
    assert {action.partition(":")[0] for action in rights} == {"ssm", "ssmmessages"}
    (role,) = stack.resources(ROLE, "AWS::IAM::Role").values()
    assert "ManagedPolicyArns" not in role["Properties"]


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
