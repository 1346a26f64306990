"""The network's decisions: zones and subnets, the way out, who may come from where, what is recorded."""

import json
from typing import Any

import pytest
from aws_cdk.assertions import Match

from settings.load import load
from tests.stacks.conftest import Synthesized
from tests.stacks.ports import open_ports, ways_out

pytestmark = pytest.mark.synth

ROLE = "network"


@pytest.fixture(params=["dev", "prod"])
def environment(request: pytest.FixtureRequest, dev: Synthesized, prod: Synthesized) -> tuple[str, Synthesized]:
    return request.param, {"dev": dev, "prod": prod}[request.param]


def test_each_zone_has_a_public_and_a_private_subnet(environment: tuple[str, Synthesized]) -> None:
    name, stack = environment
    subnets = [subnet["Properties"] for subnet in stack.resources(ROLE, "AWS::EC2::Subnet").values()]
    zones = load(name).availability_zones
    assert sorted(subnet["AvailabilityZone"] for subnet in subnets) == sorted(zones * 2)
    assert not any(subnet["MapPublicIpOnLaunch"] for subnet in subnets)


def test_dev_goes_out_by_an_instance_per_zone_and_prod_by_a_gateway(dev: Synthesized, prod: Synthesized) -> None:
    dev[ROLE].resource_count_is("AWS::EC2::NatGateway", 0)
    dev[ROLE].resource_count_is("AWS::EC2::Instance", len(load("dev").availability_zones))
    prod[ROLE].resource_count_is("AWS::EC2::NatGateway", len(load("prod").availability_zones))
    prod[ROLE].resource_count_is("AWS::EC2::Instance", 0)


def test_nat_instances_forward_for_the_vpc_alone(dev: Synthesized) -> None:
    assert open_ports(dev, ROLE, "NatSecurityGroup") == {f"all from {load('dev').network.cidr}"}
    for instance in dev.resources(ROLE, "AWS::EC2::Instance").values():
        properties = instance["Properties"]
        assert properties["SourceDestCheck"] is False
        assert properties["MetadataOptions"] == {"HttpTokens": "required"}
        assert properties["BlockDeviceMappings"][0]["Ebs"]["Encrypted"] is True


def test_nothing_in_the_network_is_open_to_the_world(environment: tuple[str, Synthesized]) -> None:
    _, stack = environment
    groups = stack.resources(ROLE, "AWS::EC2::SecurityGroup")
    rules = [rule for group in groups.values() for rule in group["Properties"].get("SecurityGroupIngress", [])]
    assert not any(rule.get("CidrIp") == "0.0.0.0/0" or "CidrIpv6" in rule for rule in rules)


def test_vpn_clients_go_into_the_vpc_and_the_bastion_fetches_over_https(environment: tuple[str, Synthesized]) -> None:
    name, stack = environment
    assert open_ports(stack, ROLE, "VpnAccess") == set()
    assert ways_out(stack, ROLE, "VpnAccess") == {f"all to {load(name).network.cidr}", "tcp 443 to 0.0.0.0/0"}


def test_every_subnet_reaches_s3_inside_awss_network(environment: tuple[str, Synthesized]) -> None:
    name, stack = environment
    gateways = [e["Properties"] for e in endpoints(stack) if e["Properties"]["VpcEndpointType"] == "Gateway"]
    assert len(gateways) == 1
    assert gateways[0]["ServiceName"] == {"Fn::Join": ["", ["com.amazonaws.", {"Ref": "AWS::Region"}, ".s3"]]}
    assert len(gateways[0]["RouteTableIds"]) == 2 * len(load(name).availability_zones)


def test_interface_endpoints_are_the_environments_choice(environment: tuple[str, Synthesized]) -> None:
    name, stack = environment
    interfaces = [e["Properties"] for e in endpoints(stack) if e["Properties"]["VpcEndpointType"] == "Interface"]
    wanted = load(name).network.interface_endpoints
    assert sorted(e["ServiceName"].rpartition(".")[2] for e in interfaces) == sorted(wanted)
    assert open_ports(stack, ROLE, "EndpointAccess") == (
        {f"tcp 443 from {load(name).network.cidr}"} if wanted else set()
    )


def test_all_traffic_is_recorded_for_as_long_as_the_environment_says(environment: tuple[str, Synthesized]) -> None:
    name, stack = environment
    settings = load(name)
    stack[ROLE].has_resource_properties(
        "AWS::EC2::FlowLog", {"TrafficType": "ALL", "LogDestinationType": Match.any_value()}
    )
    stack[ROLE].has_resource(
        "AWS::Logs::LogGroup",
        {
            "Properties": {"RetentionInDays": settings.network.flow_log_retention_days},
            "DeletionPolicy": "Delete" if settings.removal_policy == "destroy" else "RetainExceptOnCreate",
        },
    )


def endpoints(stack: Synthesized) -> list[dict[str, Any]]:
    return list(json.loads(json.dumps(stack.resources(ROLE, "AWS::EC2::VPCEndpoint"))).values())
