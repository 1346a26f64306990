"""Rules for the connectors' workers on EKS: errors that Kubernetes, EKS or a rolling change would find too late."""

import re
from collections.abc import Iterator
from ipaddress import ip_network

from settings.addresses import is_private, too_many
from settings.environment import Environment
from settings.rules.problem import Problem, Rule, streamed

# One may be lost (a replaced node, a rolling change), and the other takes its tasks.
FEWEST_WORKERS = 2
FEWEST_ZONES = 2
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
    if environment.connectors.platform != "eks" and environment.connectors.eks is not None:
        yield "connectors.eks", 'says nothing without platform = "eks": take it out, or set that'


def cluster(environment: Environment) -> Iterator[Problem]:
    """Check image, zones, and API access."""
    if (eks := environment.eks) is None:
        return
    if not _IMAGE.fullmatch(eks.image):
        yield (
            "connectors.eks.image",
            "must be <repository>@sha256:<64 hexadecimal digits>, what `docker push` says: a tag may be another image "
            "tomorrow (docs/aws/eks.md)",
        )
    if len(environment.availability_zones) < FEWEST_ZONES:
        yield "availability_zones", "workers on EKS stand in two zones, so that one may fail: name a second one"
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


RULES: tuple[Rule, ...] = (platform, cluster, workers)
