"""The network as templates state it: who may reach whom, who wears which group, and which subnets are public.

The gate judges these rules below, the diff subtracts those of two states, and the review's page shows them.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any, NamedTuple

from settings.addresses import is_private, is_within, too_many
from settings.environment_pipeline import POSTGRESQL
from stacks.gate.template import App, Place, Subject, as_list, references, written

GROUP = "AWS::EC2::SecurityGroup"
# An EKS cluster has a group that EKS makes.
_GROUPS = frozenset({GROUP, "AWS::EKS::Cluster"})
EVERYBODY = frozenset({"0.0.0.0/0", "::/0"})
# CDK's rule for a group without egress.
_NOBODY = "255.255.255.255/32"
_DEFAULT_EGRESS = {"IpProtocol": "-1", "CidrIp": "0.0.0.0/0"}
_PEERS = ("CidrIp", "CidrIpv6", "{}PrefixListId", "{}SecurityGroupId", "{}SecurityGroupName")
_ALL_PORTS = {"FromPort": 0, "ToPort": 65535}
# IPsec's key exchange and NAT traversal, over UDP: the only ports that may be open to everyone.
IPSEC = frozenset({("udp", 500, 500), ("udp", 4500, 4500)})
# SoftEther's management, and what a group may reach everywhere unless resources of these types wear it.
HTTPS = ("tcp", 443, 443)
EVERYWHERE = "0.0.0.0/0"
_ANYWHERE = frozenset({"AWS::EMR::Cluster", "AWS::Serverless::Application"})
# What may stand in public subnets, and nowhere else.
_PUBLIC = frozenset({"AWS::EC2::Instance", "AWS::EC2::NatGateway"})


class Rule(NamedTuple):
    """Lets a peer reach a group's members, or them reach the peer if `out`, on ports from `first` to `last`.

    The peer is a group of this app by its place; else what the template says: a range, another's group, a prefix list.
    """

    group: Place
    out: bool
    protocol: str
    first: int
    last: int
    peer: Place | str
    why: str

    @property
    def range(self) -> IPv4Network | IPv6Network | None:
        """The peer's addresses; None if it is a group, or no template shows them."""
        try:
            return ip_network(self.peer, strict=False) if isinstance(self.peer, str) else None
        except ValueError:
            return None

    @property
    def ports(self) -> str:
        """Protocol and ports in words."""
        if self.protocol == "-1":
            return "everything"
        if [self.first, self.last] == [*_ALL_PORTS.values()]:
            return f"all {self.protocol.upper()}"
        ports = self.first if self.first == self.last else f"{self.first}-{self.last}"
        return f"{self.protocol.upper()} {ports}"


@lru_cache(maxsize=1)
def rules(app: App) -> tuple[Rule, ...]:
    """Return each rule of a security group: in it, apart from it, or AWS's own.

    A rule apart whose group isn't of this app counts as a group.
    """
    return tuple(rule for stated in _stated(app) for rule in _rules(*stated))


def _stated(app: App) -> Iterator[tuple[Place, bool, Subject, Mapping[str, Any]]]:
    """Yield group, whether it is a way out, and where the rule is stated, with its properties."""
    apart = [
        (each.target(each.get("GroupId")) or each.place, each.type == f"{GROUP}Egress", each, each.properties)
        for each in app.resources(f"{GROUP}Ingress", f"{GROUP}Egress")
    ]
    limited = {group for group, out, *_ in apart if out}
    for subject in app.resources(GROUP):
        # AWS lets a group out to everybody until it has a rule.
        unsaid = [] if subject.place in limited else [_DEFAULT_EGRESS]
        for out, found in ((False, subject.get("SecurityGroupIngress")), (True, subject.get("SecurityGroupEgress"))):
            for each in as_list(found or (unsaid if out else [])):
                yield subject.place, out, subject, each
    yield from apart


def _rules(group: Place, out: bool, subject: Subject, rule: Mapping[str, Any]) -> Iterator[Rule]:
    """Yield a rule for each peer that a statement names."""
    protocol = str(rule.get("IpProtocol", "-1"))
    ports = [limit if protocol == "-1" else _port(subject, rule.get(key), limit) for key, limit in _ALL_PORTS.items()]
    keys = [key.format("Destination" if out else "Source") for key in _PEERS]
    for value in [rule[key] for key in keys if rule.get(key)] or ["?"]:
        found = subject.referred(value)
        peer = found.place if found and found.type in _GROUPS else written(value)
        if peer != _NOBODY:
            yield Rule(group, out, protocol, ports[0], ports[1], peer, str(rule.get("Description", "")))


def _port(subject: Subject, value: Any, unknown: int) -> int:
    """Read a port, which may be a database's; -1 means all, and so does what can't be read."""
    found = subject.referred(value)
    text = str(value if found is None else found.get("Port"))
    return int(text) if text.isdigit() else unknown


def users(subject: Subject, type_: str = "") -> list[Subject]:
    """Return what refers to a resource: it wears the group, or stands in the subnet."""
    return [each for each in _users(subject.app).get(subject.place, []) if type_ in ("", each.type)]


@lru_cache(maxsize=1)
def _users(app: App) -> Mapping[Place | None, list[Subject]]:
    found: dict[Place | None, list[Subject]] = {}
    for subject in app.subjects:
        for place in {subject.target(value) for value in references(subject.properties)}:
            found.setdefault(place, []).append(subject)
    return found


@lru_cache(maxsize=1)
def public_subnets(app: App) -> frozenset[Place | None]:
    """Return the subnets whose route table leads to an internet gateway."""
    routes = [each for each in app.resources("AWS::EC2::Route") if each.get("GatewayId")]
    tables = {each.target(each.get("RouteTableId")) for each in routes}
    return frozenset(
        each.target(each.get("SubnetId"))
        for each in app.resources("AWS::EC2::SubnetRouteTableAssociation")
        if each.target(each.get("RouteTableId")) in tables
    )


def _of_group(subject: Subject, *, out: bool) -> list[Rule]:
    return [rule for rule in rules(subject.app) if rule.group == subject.place and rule.out == out]


def no_open_ports(subject: Subject) -> Iterator[str]:
    """Only what the settings name may be open, and only IPsec to more than one organisation, also across rules."""
    own, found = ip_network(subject.settings.network.cidr), _of_group(subject, out=False)
    vpn = subject.settings.vpn
    for rule in found:
        if rule.range is None and isinstance(rule.peer, str):
            yield f"{rule.ports} is open to {rule.peer}: name a range that can be judged, or a group of this app"
        elif rule.range and is_private(rule.range) and not is_within(rule.range, own):
            yield f"{rule.ports} is open to {rule.peer}, which is neither this VPC ({own}) nor public"
        elif rule.range and not is_private(rule.range):
            named = vpn.client_cidrs if rule[2:5] in IPSEC else vpn.management_cidrs if rule[2:5] == HTTPS else ()
            if str(rule.peer) not in {*map(str, named)}:
                yield f"{rule.ports} is open to {rule.peer}, which the settings don't name for it"
    wide = [rule for rule in found if rule.range and not is_private(rule.range) and rule[2:5] not in IPSEC]
    if reason := too_many(str(rule.peer) for rule in wide):
        yield f"{', '.join(sorted({rule.ports for rule in wide}))} is open to the world: {reason}"


def databases_for_groups(subject: Subject) -> Iterator[str]:
    """A database's own port may be open to groups of this app, and nothing else to anyone."""
    for cluster in users(subject, "AWS::RDS::DBCluster"):
        for rule in _of_group(subject, out=False):
            if isinstance(rule.peer, str) or (rule.first, rule.last) != (POSTGRESQL, POSTGRESQL):
                yield f"{rule.ports} of {cluster.id} is open: let in groups alone, at port {POSTGRESQL}"


def out_as_set(subject: Subject) -> Iterator[str]:
    """Rules on the way out lead to groups of this app, to what the settings name, or by HTTPS to the internet.

    EMR, AWS's rotation and NAT instances reach it by more, a database not at all.
    """
    settings = subject.settings
    outside = [pipeline.database for pipeline in settings.pipelines if pipeline.database]
    theirs = {peer for each in outside for peer in (*each.cidrs, each.security_group)}
    worn = users(subject)
    anywhere = any(each.type in _ANYWHERE or each.get("SourceDestCheck") is False for each in worn)
    stores = any(each.type == "AWS::RDS::DBCluster" for each in worn)
    for rule in _of_group(subject, out=True):
        if rule.peer == EVERYWHERE and (stores or not (anywhere or rule[2:5] == HTTPS)):
            yield f"leads out to the internet by {rule.ports}: HTTPS alone is expected, and nothing of a database"
        elif isinstance(rule.peer, str) and rule.peer not in {EVERYWHERE, settings.network.cidr, *theirs}:
            yield f"leads out to {rule.peer}, which is neither a group of this app nor in the settings"


def private_stays_private(subject: Subject) -> Iterator[str]:
    """What the internet must reach stands in public subnets, with a public address; nothing else does."""
    public = subject.place in public_subnets(subject.app)
    for user in users(subject):
        if user.type != "AWS::EC2::SubnetRouteTableAssociation" and (user.type in _PUBLIC) != public:
            yield f"{'the internet reaches it' if public else 'it is private'}, and {user.id} stands in it"
