"""What AWS must have before a deployment costs money; docs/aws/deploy.md lists it all.

Of the account: quotas, a role, a subscription, the region; the needs are the templates', and what AWS doesn't tell is
said and passed over. Of account and region: the settings' zones, and the instance types in them.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from operate.costs.lines import NODE, eks_nodes
from operate.errors import OperateError
from operate.outputs import QUICK, one_line
from settings.environment import Environment
from settings.rules.problem import Problem, in_lines
from stacks.gate.template import App, Templates

# Service Quotas' codes.
_VCPUS = {"ON_DEMAND": "L-1216C47A", "SPOT": "L-34B43A08"}
_ADDRESSES = "L-0263D0A3"
# "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances" is a quota of its own, and so is spot's.
_STANDARD = re.compile(r"(a|c|d|h|im?|is|m|r|t|z)\d.*")
_SPOT_ROLE, _SPOT = "AWSServiceRoleForEC2Spot", "spot.amazonaws.com"
_LIVE = [{"Name": "instance-state-name", "Values": ["pending", "running"]}]
# Knows all regions, also those that the account hasn't enabled.
_HOME = "us-east-1"
DENIED = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"})
# Instance types by how they are bought, and how many of each.
Instances = Mapping[str, Counter[str]]


class Found(NamedTuple):
    """One line about the account; `lacks` what a first deployment would fail without."""

    line: str
    lacks: bool = False


def look(session: boto3.Session, environment: Environment, templates: Templates) -> Iterator[Found]:
    """Compare the account with what the templates need; create the role for spot instances where it is missing."""
    app = App(settings=environment, templates=templates)
    needed = instances(app)
    for market in (each for each in needed if needed[each]):
        yield _asked(_named(market), partial(_vcpus, session, environment, market, needed[market]))
    addresses = len([*app.resources("AWS::EC2::EIP")])
    yield _asked("elastic IPs", partial(_addresses, session, environment, addresses))
    if needed["SPOT"]:
        yield _asked(_SPOT_ROLE, partial(_spot_role, session))
    if principal := environment.analytics.quicksight_principal:
        yield _asked("QuickSight", partial(_quicksight, session, environment, principal))


def region_enabled(environment: Environment) -> Found:
    """Whether the account has enabled the region; without it, AWS doesn't even accept credentials there."""

    def found() -> Found:
        ec2 = boto3.client("ec2", region_name=_HOME, config=QUICK)
        [region] = ec2.describe_regions(RegionNames=[environment.region], AllRegions=True)["Regions"]
        if region.get("OptInStatus") != "not-opted-in":
            return Found(f"{environment.region} is enabled")
        enabling = f"`aws account enable-region --region-name {environment.region}`, and wait for it (up to hours)"
        return Found(f"{environment.region} isn't enabled in your account: {enabling}", lacks=True)

    return _asked(f"whether {environment.region} is enabled", found)


def instances(app: App) -> Instances:
    """Count the instances that the templates may run at once, EMR's at its largest; EKS's nodes as the costs do."""
    found: dict[str, Counter[str]] = {market: Counter() for market in _VCPUS}
    for instance in app.resources("AWS::EC2::Instance"):
        found["ON_DEMAND"][instance.get("InstanceType")] += 1
    for cluster in app.resources("AWS::EMR::Cluster"):
        most = cluster.get("ManagedScalingPolicy.ComputeLimits.MaximumCapacityUnits") or 0
        for role, least in (("Master", 0), ("Core", most)):
            if group := cluster.get(f"Instances.{role}InstanceGroup"):
                found[group["Market"]][group["InstanceType"]] += max(group["InstanceCount"], least)
    if app.settings.eks is not None:
        found["ON_DEMAND"][NODE] += eks_nodes(app)
    return found


def _asked(what: str, question: Callable[[], Found]) -> Found:
    """Ask; say so if AWS doesn't answer, or doesn't let you ask."""
    try:
        return question()
    except (ClientError, BotoCoreError) as error:
        return Found(f"couldn't check {what}: {' '.join(str(error).split())}")


def _named(market: str) -> str:
    return f"vCPUs of running {market.lower().replace('_', '-')} standard instances"


def _vcpus(session: boto3.Session, environment: Environment, market: str, counts: Mapping[str, int]) -> Found:
    if special := sorted(type_ for type_ in counts if not _STANDARD.fullmatch(type_)):
        return Found(f"couldn't check {_named(market)}: {', '.join(special)} has a quota of its own")
    ec2: Any = session.client("ec2", config=QUICK)
    described = ec2.describe_instance_types(InstanceTypes=sorted(counts))["InstanceTypes"]
    needs = sum(counts[each["InstanceType"]] * each["VCpuInfo"]["DefaultVCpus"] for each in described)
    pages = ec2.get_paginator("describe_instances").paginate(Filters=_LIVE)
    running = (each for page in pages for group in page["Reservations"] for each in group["Instances"])
    others = [
        each["CpuOptions"]["CoreCount"] * each["CpuOptions"]["ThreadsPerCore"]
        for each in running
        if (each.get("InstanceLifecycle") == "spot") == (market == "SPOT")
        and _STANDARD.fullmatch(each["InstanceType"])
        and not _own(environment, each)
    ]
    return _within(session, _VCPUS[market], _named(market), needs, sum(others))


def _addresses(session: boto3.Session, environment: Environment, needs: int) -> Found:
    found: Any = session.client("ec2", config=QUICK).describe_addresses()["Addresses"]
    others = sum(not _own(environment, address) for address in found)
    return _within(session, _ADDRESSES, "elastic IPs", needs, others)


def _own(environment: Environment, resource: Mapping[str, Any]) -> bool:
    tags = {tag["Key"]: tag["Value"] for tag in resource.get("Tags", [])}
    return environment.tags.items() <= tags.items()


def _within(session: boto3.Session, code: str, what: str, needs: int, others: int) -> Found:
    """Compare with EC2's quota: the account's own, else AWS's default."""
    quotas: Any = session.client("service-quotas", config=QUICK)
    asked = {"ServiceCode": "ec2", "QuotaCode": code}
    try:
        quota = quotas.get_service_quota(**asked)["Quota"]["Value"]
    except quotas.exceptions.NoSuchResourceException:
        quota = quotas.get_aws_default_service_quota(**asked)["Quota"]["Value"]
    line = f"{what}: it needs {needs}, others in the account use {others}, the quota is {quota:.0f}"
    if needs + others <= quota:
        return Found(line)
    increase = f"--service-code ec2 --quota-code {code} --desired-value {needs + others}"
    command = f"aws service-quotas request-service-quota-increase {increase} --region {session.region_name}"
    return Found(f"{line}: `{command}`, and wait for it (hours to days)", lacks=True)


def _spot_role(session: boto3.Session) -> Found:
    """Spot instances fail without it. AWS's services create their other roles themselves."""
    iam: Any = session.client("iam", config=QUICK)
    try:
        iam.get_role(RoleName=_SPOT_ROLE)
    except iam.exceptions.NoSuchEntityException:
        try:
            iam.create_service_linked_role(AWSServiceName=_SPOT)
        except ClientError as error:
            command = f"aws iam create-service-linked-role --aws-service-name {_SPOT}"
            reason = error.response["Error"]["Code"]
            line = f"{_SPOT_ROLE} is missing, and you may not create it ({reason}): have somebody run `{command}`"
            return Found(line, lacks=True)
        return Found(f"{_SPOT_ROLE}: created")
    return Found(f"{_SPOT_ROLE} is there")


def _quicksight(session: boto3.Session, environment: Environment, principal: str) -> Found:
    # The subscription is asked for where its users are.
    region = principal.split(":")[3]
    quicksight: Any = session.client("quicksight", region_name=region, config=QUICK)
    try:
        info = quicksight.describe_account_subscription(AwsAccountId=environment.account)["AccountInfo"]
        status = info.get("AccountSubscriptionStatus", "unknown")
    except quicksight.exceptions.ResourceNotFoundException:
        status = "UNSUBSCRIBED"
    if not status.startswith("UNSUBSCRIBE"):
        return Found(f"QuickSight is {status}")
    way = "subscribe the account (docs/aws/analysts.md#quicksight), or remove analytics.quicksight_principal"
    return Found(f"QuickSight is {status}: {way}", lacks=True)


def check_offers(session: boto3.Session, environment: Environment) -> None:
    """Raise OperateError with a line for each thing that AWS doesn't have in the environment's account and region.

    Prints what your credentials may not ask: AWS then tells it while it deploys.
    """
    problems: list[Problem] = []
    with one_line(environment):
        for question, ask in QUESTIONS.items():
            try:
                problems += ask(session, environment)
            except ClientError as error:
                if error.response["Error"]["Code"] not in DENIED:
                    raise
                print(f"not checked, since you may not call {error.operation_name}: {question}", flush=True)
    if problems:
        raise OperateError(in_lines(environment, problems))


def _zones(session: boto3.Session, environment: Environment) -> Iterator[Problem]:
    answer = session.client("ec2", config=QUICK).describe_availability_zones(
        Filters=[{"Name": "zone-type", "Values": ["availability-zone"]}, {"Name": "state", "Values": ["available"]}]
    )
    there = sorted(zone["ZoneName"] for zone in answer["AvailabilityZones"])
    if missing := sorted({*environment.availability_zones} - {*there}):
        said = f"account {environment.account} has no {', '.join(missing)}: it has {', '.join(there)}"
        yield "availability_zones", said


def _emr(session: boto3.Session, environment: Environment) -> Iterator[Problem]:
    release, emr = environment.processing.release, session.client("emr", config=QUICK)
    answer = emr.list_supported_instance_types(ReleaseLabel=release)
    there = {each["Type"] for each in answer["SupportedInstanceTypes"]}
    while marker := answer.get("Marker"):
        answer = emr.list_supported_instance_types(ReleaseLabel=release, Marker=marker)
        there |= {each["Type"] for each in answer["SupportedInstanceTypes"]}
    for key, (type_, _) in _types(environment).items():
        if key.startswith("processing.") and type_ not in there:
            yield key, f"EMR has no {type_} in {environment.region} with {release}: choose another"


def _ec2(session: boto3.Session, environment: Environment) -> Iterator[Problem]:
    wanted = _types(environment)
    types = sorted({type_ for type_, _ in wanted.values()})
    pages = session.client("ec2", config=QUICK).get_paginator("describe_instance_type_offerings")
    there: defaultdict[str, set[str]] = defaultdict(set)
    for page in pages.paginate(LocationType="availability-zone", Filters=[{"Name": "instance-type", "Values": types}]):
        for each in page["InstanceTypeOfferings"]:
            there[each["InstanceType"]].add(each["Location"])
    for key, (type_, zones) in wanted.items():
        if missing := sorted({*zones} - there[type_]):
            only = ", ".join(sorted(there[type_])) or "none"
            what = f"EC2 has no {type_} in {', '.join(missing)}, only in {only}"
            yield key, f"{what}: choose another, or other availability_zones"


def _types(environment: Environment) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return each instance type by its key, with the zones that it must be in: a single machine is in the first."""
    processing, network, zones = environment.processing, environment.network, environment.availability_zones
    found = {
        "processing.primary_instance_type": (processing.primary_instance_type, zones[:1]),
        "vpn.instance_type": (environment.vpn.instance_type, zones[:1]),
    }
    if processing.core_instances:
        found["processing.core_instance_type"] = (processing.core_instance_type, zones[:1])
    if network.nat != "gateways":
        where = zones[:1] if network.nat == "instance" else zones
        found["network.nat_instance_type"] = (network.nat_instance_type, where)
    return found


QUESTIONS: dict[str, Callable[[boto3.Session, Environment], Iterator[Problem]]] = {
    "whether the account has the zones": _zones,
    "whether EMR has the instance types": _emr,
    "whether the zones have the instance types": _ec2,
}
