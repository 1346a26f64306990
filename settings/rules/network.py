"""Rules for an environment's network, its managed services and the workers on EKS: AWS would refuse them too late."""

import math
import re
from collections.abc import Iterator
from ipaddress import IPv4Network, ip_network

from settings import aws_offers
from settings.addresses import is_private, too_many
from settings.environment import Environment
from settings.rules.problem import Problem, streamed

MINIMUM_ZONES = 2
MOST_ZONES = 3
# Days of a topic's retention that volumes must have room for: who keeps events for longer sizes them.
MOST_DAYS = 7
MB_PER_GB = 1024
SMALLEST_VPC = 20
# The addresses that stacks/userdata/softether.sh gives VPN clients.
VPN_CLIENTS = IPv4Network("192.168.30.0/24")


def zones(environment: Environment) -> Iterator[Problem]:
    """Require two or three subnets for MSK, each in its own zone; MSK spreads its brokers evenly over them."""
    named = environment.availability_zones
    if not MINIMUM_ZONES <= len(set(named)) == len(named) <= MOST_ZONES:
        yield (
            "availability_zones",
            f"MSK spreads its brokers over {MINIMUM_ZONES} or {MOST_ZONES} zones: name 2 or 3 different ones",
        )
    there = [f"{environment.region}{letter}" for letter in aws_offers.ZONES[environment.region]]
    for zone in named:
        if zone not in there:
            yield "availability_zones", f"{environment.region} has no {zone!r}, only {', '.join(there)}"


def network(environment: Environment) -> Iterator[Problem]:
    """Require private VPC addresses that fit our subnets and don't overlap the VPN clients'."""
    cidr = IPv4Network(environment.network.cidr)
    if not is_private(cidr):
        yield "network.cidr", f"{cidr} isn't private: choose from 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16"
    if not 16 <= cidr.prefixlen <= SMALLEST_VPC:
        yield "network.cidr", f"{cidr} must be from /16 (AWS's largest VPC) to /{SMALLEST_VPC} (our subnets)"
    if cidr.overlaps(VPN_CLIENTS):
        yield "network.cidr", f"{cidr} overlaps {VPN_CLIENTS}, the addresses of VPN clients: choose another network"


def vpn(environment: Environment) -> Iterator[Problem]:
    """Require that someone can reach the VPN, and that the internet can't manage it."""
    if not environment.vpn.client_cidrs:
        yield "vpn.client_cidrs", "is empty, so that nobody could connect: name the networks that clients come from"
    if reason := too_many(environment.vpn.management_cidrs):
        yield (
            "vpn.management_cidrs",
            f"opens VPN management to {reason}: name your own network, or none and use Session Manager",
        )


# One may be lost (a replaced node, a rolling change), and the other takes its tasks.
FEWEST_WORKERS = 2
_IMAGE = re.compile(r"[a-z0-9][a-z0-9.:/_-]*@sha256:[0-9a-f]{64}")
_ACCOUNT = re.compile(r":iam::([0-9]{12}):")


def platform(environment: Environment) -> Iterator[Problem]:
    """Require the section where it is needed, and refuse it elsewhere."""
    if environment.connectors.platform == "eks" and environment.connectors.eks is None:
        yield "connectors.eks", 'is missing: platform = "eks" needs [connectors.eks] with kubernetes_version and image'
    if environment.eks is not None and not environment.streamed:
        yield (
            "connectors.platform",
            "is where connectors run, and all pipelines here are queried, which takes none: take it and "
            "[connectors.eks] out",
        )


def cluster(environment: Environment) -> Iterator[Problem]:
    """Check image and API access."""
    if (eks := environment.eks) is None:
        return
    own = f"{environment.account}.dkr.ecr.{environment.region}.amazonaws.com"
    registry = eks.image.partition("/")[0]
    if not _IMAGE.fullmatch(eks.image):
        yield (
            "connectors.eks.image",
            "must be <repository>@sha256:<64 hexadecimal digits>, what `docker push` says: a tag may be another image "
            "tomorrow (docs/aws/eks.md)",
        )
    elif environment.production and registry not in (own, *eks.registries):
        yield (
            "connectors.eks.image",
            f"is of {registry}, and production takes its account's own: push it to {own}, or name that host in "
            "connectors.eks.registries",
        )
    if private := [cidr for cidr in eks.endpoint_cidrs if is_private(ip_network(cidr))]:
        yield (
            "connectors.eks.endpoint_cidrs",
            f"{private[0]} is private: from the VPC and its VPN the API is reached anyway",
        )
    if reason := too_many(eks.endpoint_cidrs):
        yield "connectors.eks.endpoint_cidrs", f"would open the Kubernetes API to the world: {reason}"
    for arn in eks.administrators:
        if (found := _ACCOUNT.search(arn)) and found[1] != environment.account:
            yield "connectors.eks.administrators", f"{arn} is of another account than this environment's"


def workers(environment: Environment) -> Iterator[Problem]:
    """Require two or more workers of each connector, and no more than its maximum."""
    if (eks := environment.eks) is None:
        return
    for number, pipeline in streamed(environment):
        for name, connector in (("source", pipeline.source), ("sink", pipeline.sink)):
            if connector.workers < FEWEST_WORKERS:
                yield (
                    f"pipelines[{number}].{name}.workers",
                    "on EKS two or more, so that one may go while the other works: set 2",
                )
        if eks.maximum_workers and eks.maximum_workers < pipeline.sink.workers:
            yield (
                "connectors.eks.maximum_workers",
                f"{eks.maximum_workers} is less than the {pipeline.sink.workers} workers of {pipeline.name}'s sink",
            )


def database(environment: Environment) -> Iterator[Problem]:
    """Refuse deletion protection for a cluster that is to be destroyed with its stack."""
    settings = environment.database
    if settings.deletion_protection and environment.removal_policy == "destroy":
        yield "database.deletion_protection", 'would make `cdk destroy` fail: set false, or removal_policy = "retain"'


def streaming(environment: Environment) -> Iterator[Problem]:
    """Check small brokers' connection limits, that brokers spread evenly over the zones, and their volumes."""
    settings = environment.streaming
    if settings.broker_type == aws_offers.MSK_SMALL_BROKER and environment.connector_workers > settings.brokers:
        yield (
            "streaming.broker_type",
            f"{settings.broker_type} takes 4 new connections a second, and {environment.connector_workers} workers of "
            f"connectors that start at once would be refused by {settings.brokers} brokers: set kafka.m5.large",
        )
    zones = len(environment.availability_zones)
    if zones and settings.brokers % zones:
        yield "streaming.brokers", f"{settings.brokers} brokers don't spread evenly over {zones} zones"
    yield from _volumes(environment)


def _volumes(environment: Environment) -> Iterator[Problem]:
    """Require room for as many days as topics keep, each with what a slot may keep back without an alarm."""
    settings, monitoring = environment.streaming, environment.monitoring
    days = max(1, min(MOST_DAYS, settings.topic_retention_hours // 24))
    # A pipeline's topic is one partition: each of its brokers has a whole replica.
    enough = math.ceil(days * monitoring.slot_lag_mb * 100 / monitoring.broker_disk_percent / MB_PER_GB)
    if environment.streamed and enough > settings.volume_gb:
        yield (
            "streaming.volume_gb",
            f"{settings.volume_gb:,} is too little for {days} days (topic_retention_hours) of "
            f"{monitoring.slot_lag_mb:,} MB, the backlog that monitoring.slot_lag_mb takes for normal, below "
            f"broker_disk_percent ({monitoring.broker_disk_percent} %): set {enough:,} or more, or less slot_lag_mb",
        )
