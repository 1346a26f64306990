"""What the review says of a VPN user, from templates and settings."""

from typing import Any

from operate.reach import vpn_users
from settings.environment import Environment
from settings.load import load

BASTION = {"Fn::ImportValue": "dev-cdc-lake-network:ExportsOutputFnGetAttVpnAccessA1GroupIdB2"}
OTHER = {"Fn::GetAtt": ["BrokerAccess1", "GroupId"]}


def templates(*rules: dict[str, Any]) -> dict[str, dict[str, Any]]:
    group = {"Type": "AWS::EC2::SecurityGroup", "Properties": {"SecurityGroupIngress": [*rules]}}
    return {"dev-cdc-lake-streaming": {"Resources": {"BrokerAccess1": group}}}


def rule(port: int | None, **source: Any) -> dict[str, Any]:
    ports = {} if port is None else {"FromPort": port, "ToPort": port}
    return {"IpProtocol": "-1" if port is None else "tcp", **ports, **source}


def reached(environment: Environment, *rules: dict[str, Any]) -> list[str]:
    return list(vpn_users(environment, templates(*rules)))[4:]


def test_what_lets_in_the_bastions_group_or_address_lets_a_user_in() -> None:
    assert reached(
        load("dev"),
        rule(9098, SourceSecurityGroupId=BASTION),
        rule(9094, SourceSecurityGroupId=OTHER),
        rule(443, CidrIp="10.100.0.0/16"),
        rule(None, CidrIp="0.0.0.0/0"),
        rule(22, CidrIp="203.0.113.0/24"),
        rule(22, CidrIpv6="::/0"),
    ) == [
        "| dev-cdc-lake-streaming | BrokerAccess1 | -1 all | 0.0.0.0/0 |",
        "| dev-cdc-lake-streaming | BrokerAccess1 | tcp 443 | 10.100.0.0/16 |",
        "| dev-cdc-lake-streaming | BrokerAccess1 | tcp 9098 | VpnAccessA1GroupIdB2 |",
    ]


def test_it_says_who_may_connect_and_from_where() -> None:
    prod = load("prod")
    prod = prod.model_copy(update={"vpn": prod.vpn.model_copy(update={"users": ("alice", "bob")})})
    assert next(vpn_users(load("dev"), {})) == "Users: nobody. They come from 0.0.0.0/0."
    assert next(vpn_users(prod, {})) == (
        "Users: alice, bob. They come from 203.0.113.0/24 (for documentation: nobody has it, name your own)."
    )
