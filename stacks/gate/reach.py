"""Rules for the network: ports, addresses, and what may stand in a public subnet."""

from collections.abc import Iterator
from ipaddress import ip_network

from settings.addresses import is_private, is_within, too_many
from settings.environment_pipeline import POSTGRESQL
from stacks.gate.network import GROUP, Rule, public_subnets, rules, users
from stacks.gate.template import Subject

# IPsec's key exchange and NAT traversal, over UDP: the only ports that may be open to everyone.
IPSEC = frozenset({("udp", 500, 500), ("udp", 4500, 4500)})
# SoftEther's management, and what a group may reach everywhere unless resources of these types wear it.
HTTPS = ("tcp", 443, 443)
EVERYWHERE = "0.0.0.0/0"
_ANYWHERE = frozenset({"AWS::EMR::Cluster", "AWS::Serverless::Application"})
# What may stand in public subnets, and nowhere else.
_PUBLIC = frozenset({"AWS::EC2::Instance", "AWS::EC2::NatGateway"})


def _rules(subject: Subject, *, out: bool) -> list[Rule]:
    found = rules(subject.app) if subject.type.startswith(GROUP) else ()
    return [rule for rule in found if rule.group == subject.place and rule.out == out]


def no_open_ports(subject: Subject) -> Iterator[str]:
    """Only what the settings name may be open, and only IPsec to more than one organisation, also across rules."""
    own, found = ip_network(subject.settings.network.cidr), _rules(subject, out=False)
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
        for rule in _rules(subject, out=False):
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
    for rule in _rules(subject, out=True):
        if rule.peer == EVERYWHERE and (stores or not (anywhere or rule[2:5] == HTTPS)):
            yield f"leads out to the internet by {rule.ports}: HTTPS alone is expected, and nothing of a database"
        elif isinstance(rule.peer, str) and rule.peer not in {EVERYWHERE, settings.network.cidr, *theirs}:
            yield f"leads out to {rule.peer}, which is neither a group of this app nor in the settings"


def private_stays_private(subject: Subject) -> Iterator[str]:
    """What the internet must reach stands in public subnets, with a public address; nothing else does."""
    public = subject.place in public_subnets(subject.app)
    for user in users(subject) if subject.type == "AWS::EC2::Subnet" else ():
        if user.type != "AWS::EC2::SubnetRouteTableAssociation" and (user.type in _PUBLIC) != public:
            yield f"{'the internet reaches it' if public else 'it is private'}, and {user.id} stands in it"
