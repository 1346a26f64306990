"""Rules for the network: ports, addresses, routes, and what may stand in a public subnet."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from ipaddress import ip_network
from typing import Any

from settings.addresses import is_private, is_within, too_many
from stacks.gate.template import App, Subject, as_list, written

# IPsec's key exchange and NAT traversal, over UDP: the only ports that may be open to everyone.
IPSEC_PORTS = frozenset({500, 4500})
POSTGRESQL = 5432
# The property that names a resource's subnets.
_SUBNETS = {
    "AWS::EKS::Cluster": "ResourcesVpcConfig.SubnetIds",
    "AWS::EMR::Cluster": "Instances.Ec2SubnetId",
    "AWS::Lambda::Function": "VpcConfig.SubnetIds",
    "AWS::MSK::Cluster": "BrokerNodeGroupInfo.ClientSubnets",
    "AWS::RDS::DBSubnetGroup": "SubnetIds",
}


def no_open_ports(subject: Subject) -> Iterator[str]:
    """Only IPsec may be open to more than one organisation, even if its addresses are split across rules."""
    ranges = []
    for owner, rule in _ingress(subject):
        yield from _source(owner, rule)
        ranges += [(text, rule) for text in _ranges(rule) if not _is_ipsec(rule)]
    if reason := too_many(text for text, _ in ranges):
        ports = sorted({_ports(rule) for text, rule in ranges if not is_private(ip_network(text, strict=False))})
        yield f"{', '.join(ports)} is open to the world: {reason}"


def databases_for_groups(subject: Subject) -> Iterator[str]:
    """A database's own port may be open to groups of this app, and nothing else to anyone."""
    for cluster in subject.app.resources("AWS::RDS::DBCluster"):
        groups = [cluster.target(group) for group in as_list(cluster.get("VpcSecurityGroupIds") or [])]
        for owner, rule in _ingress(subject) if (subject.stack, subject.id) in groups else ():
            ports = [rule.get("FromPort"), rule.get("ToPort")]
            # A rotation's rule refers to the cluster for it.
            its_own = all(port == POSTGRESQL or owner.target(port) == (cluster.stack, cluster.id) for port in ports)
            if "SourceSecurityGroupId" not in rule or not its_own:
                yield f"{_ports(rule)} of {cluster.id} is open: let in groups alone, at port {POSTGRESQL}"


def _ingress(subject: Subject) -> Iterator[tuple[Subject, Mapping[str, Any]]]:
    """Yield a group's rules with their resources: the addresses of all of them add up."""
    if subject.type == "AWS::EC2::SecurityGroup":
        for rule in as_list(subject.properties.get("SecurityGroupIngress", [])):
            yield subject, rule
        for each in subject.app.resources("AWS::EC2::SecurityGroupIngress"):
            if each.target(each.get("GroupId")) == (subject.stack, subject.id):
                yield each, each.properties
    elif subject.type == "AWS::EC2::SecurityGroupIngress" and subject.target(subject.get("GroupId")) is None:
        yield subject, subject.properties


def _source(subject: Subject, rule: Mapping[str, Any]) -> Iterator[str]:
    """Each ingress rule must name its source: addresses, or a group of this app."""
    group = rule.get("SourceSecurityGroupId")
    if "SourcePrefixListId" in rule:
        yield f"{_ports(rule)} is open to a prefix list, whose addresses no template shows: name them"
    elif rule.get("SourceSecurityGroupOwnerId", subject.facts.account) != subject.facts.account:
        yield f"{_ports(rule)} is open to a group of another account"
    elif group is not None and subject.target(group) is None:
        yield f"{_ports(rule)} is open to {written(group)}, which isn't a group of this app"
    elif group is None and not _ranges(rule):
        yield f"{_ports(rule)} doesn't say to whom it is open"
    for key in ("CidrIp", "CidrIpv6"):
        if key in rule and not isinstance(rule[key], str) and not _is_the_vpc(subject, rule[key]):
            yield f"{_ports(rule)} is open to {written(rule[key])}: write the range, so that it can be judged"
    for text in _ranges(rule):
        network = ip_network(text, strict=False)
        own = ip_network(subject.facts.cidr)
        if is_private(network) and not is_within(network, own):
            yield f"{_ports(rule)} is open to {text}, which is neither this VPC ({own}) nor public"


def _is_the_vpc(subject: Subject, value: Any) -> bool:
    target = subject.target(value)
    return target is not None and subject.app.templates[target[0]]["Resources"][target[1]]["Type"] == "AWS::EC2::VPC"


def _ranges(rule: Mapping[str, Any]) -> list[str]:
    return [rule[key] for key in ("CidrIp", "CidrIpv6") if isinstance(rule.get(key), str)]


def _ports(rule: Mapping[str, Any]) -> str:
    return f"{rule.get('IpProtocol')} {rule.get('FromPort', 'all')}-{rule.get('ToPort', 'all')}"


def _is_ipsec(rule: Mapping[str, Any]) -> bool:
    ports = {rule.get("FromPort"), rule.get("ToPort")}
    return rule.get("IpProtocol") == "udp" and len(ports) == 1 and ports <= IPSEC_PORTS


def public_tables(app: App) -> set[tuple[str, str]]:
    """Return the route tables with a route to an internet gateway."""
    found = set()
    for route in app.resources("AWS::EC2::Route"):
        table, gateway = route.target(route.get("RouteTableId")), route.target(route.get("GatewayId"))
        if table and gateway:
            found.add(table)
    return found


@lru_cache(maxsize=1)
def public_subnets(app: App) -> set[tuple[str, str]]:
    """Return the subnets whose route table leads to an internet gateway."""
    tables = public_tables(app)
    found = set()
    for association in app.resources("AWS::EC2::SubnetRouteTableAssociation"):
        subnet = association.target(association.get("SubnetId"))
        if subnet and association.target(association.get("RouteTableId")) in tables:
            found.add(subnet)
    return found


def private_stays_private(subject: Subject) -> Iterator[str]:
    """Databases, brokers, clusters and functions must be in private subnets of this app."""
    path = _SUBNETS.get(subject.type)
    for subnet in as_list((subject.get(path) if path else None) or []):
        target = subject.target(subnet)
        if target is None:
            yield f"stands in {written(subnet)}, which isn't a subnet of this app"
        elif target in public_subnets(subject.app):
            yield f"stands in {target[1]}, which the internet reaches"


def routes_as_designed(subject: Subject) -> Iterator[str]:
    """Private subnets may reach the internet only through this app's NAT; no route may lead to other networks."""
    if subject.type == "AWS::EC2::Subnet":
        if subject.get("MapPublicIpOnLaunch") not in (None, False):
            yield "gives a public address to all that is started in it: MapPublicIpOnLaunch must be false"
        marks = {tag["Key"]: tag["Value"] for tag in subject.properties.get("Tags", [])}
        is_public = (subject.stack, subject.id) in public_subnets(subject.app)
        if is_public and marks.get("aws-cdk:subnet-type") != "Public":
            yield "is a private subnet with a route from the internet"
    if subject.type != "AWS::EC2::Route":
        return
    ways = [
        key
        for key in subject.properties
        if key not in ("RouteTableId", "DestinationCidrBlock", "DestinationIpv6CidrBlock", "DestinationPrefixListId")
    ]
    for way in ways:
        if way not in ("GatewayId", "NatGatewayId", "InstanceId") or subject.target(subject.get(way)) is None:
            yield f"leads to {way} {written(subject.get(way))}: only this app's own gateways and NAT are expected"


def public_addresses(subject: Subject) -> Iterator[str]:
    """Public addresses are only for instances in public subnets."""
    if subject.type != "AWS::EC2::Instance":
        return
    for interface in subject.properties.get("NetworkInterfaces", []) or [subject.properties]:
        subnet = subject.target(interface.get("SubnetId"))
        if subnet is None:
            yield "doesn't say which of this app's subnets it stands in"
        elif interface.get("AssociatePublicIpAddress") and subnet not in public_subnets(subject.app):
            yield f"has a public address in the private subnet {subnet[1]}"


def out_as_set(subject: Subject) -> Iterator[str]:
    """Rules on the way out lead to groups of this app, or to what the settings name: anything else is a way out."""
    if subject.type == "AWS::EC2::SecurityGroup":
        rules = as_list(subject.properties.get("SecurityGroupEgress", []))
    else:
        rules = [subject.properties] if subject.type == "AWS::EC2::SecurityGroupEgress" else []
    outside = [pipeline.database for pipeline in subject.facts.settings.pipelines if pipeline.database]
    groups = {database.security_group for database in outside}
    ranges = {"0.0.0.0/0", "255.255.255.255/32", subject.facts.cidr, *(each for one in outside for each in one.cidrs)}
    for rule in rules:
        group = rule.get("DestinationSecurityGroupId")
        if group is not None and subject.target(group) is None and group not in groups:
            yield f"leads out to {written(group)}, which isn't a group of this app or of the settings"
        if "CidrIp" in rule and not (isinstance(rule["CidrIp"], str) and rule["CidrIp"] in ranges):
            yield f"leads out to {written(rule['CidrIp'])}, which the settings don't name"
        if rule.keys() & {"DestinationPrefixListId", "CidrIpv6"}:
            yield "leads out to a prefix list or to IPv6 addresses: name the ranges"
