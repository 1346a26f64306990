"""What isn't known offline is asked of AWS: the account's zones, and which of them have the instance types."""

from collections import defaultdict
from collections.abc import Callable, Iterator

import boto3
from botocore.exceptions import ClientError

from operate.errors import OperateError
from operate.outputs import QUICK, one_line
from settings.environment import Environment
from settings.rules.problem import Problem, in_lines

DENIED = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"})


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
        yield (
            "availability_zones",
            f"account {environment.account} has no {', '.join(missing)}: it has {', '.join(there)}",
        )


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
            yield (
                key,
                f"EC2 has no {type_} in {', '.join(missing)}, only in {', '.join(sorted(there[type_])) or 'none'}: "
                "choose another, or other availability_zones",
            )


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
