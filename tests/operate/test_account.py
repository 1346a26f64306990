"""What the account needs before a first deployment: from the committed templates, against botocore's models."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.stub import ANY

from operate import account
from operate.account import Found
from operate.diff import snapshots
from settings.environment import Environment
from settings.load import load
from stacks.connectors.manifests import objects
from stacks.gate.template import App
from tests.operate.conftest import REGION, Stubbed
from tests.stacks.environments import environment_on_eks, group

# Instances of DescribeInstanceTypes: what each has.
VCPUS = {"m5.xlarge": 4, "m5.large": 2, "r5.xlarge": 4, "t3.nano": 2, "t3.small": 2, "t4g.nano": 2}
PRINCIPAL = "arn:aws:quicksight:us-east-1:111111111111:group/default/analysts"


def quota(stubbed: Stubbed, code: str, value: float) -> None:
    asked = {"ServiceCode": "ec2", "QuotaCode": code}
    stubbed.answer("service-quotas", "get_service_quota", {"Quota": {"Value": value}}, asked)


def runs(stubbed: Stubbed, *instances: dict[str, Any]) -> None:
    """What DescribeInstanceTypes and DescribeInstances say."""
    types = [{"InstanceType": type_, "VCpuInfo": {"DefaultVCpus": number}} for type_, number in VCPUS.items()]
    stubbed.answer("ec2", "describe_instance_types", {"InstanceTypes": types}, {"InstanceTypes": ANY})
    stubbed.answer("ec2", "describe_instances", {"Reservations": [{"Instances": [*instances]}]})


def has_addresses(stubbed: Stubbed, *tags: dict[str, str]) -> None:
    found = [{"Tags": [{"Key": key, "Value": value} for key, value in each.items()]} for each in tags]
    stubbed.answer("ec2", "describe_addresses", {"Addresses": found})


def looked(stubbed: Any, environment: Environment) -> list[Found]:
    return [*account.look(stubbed, environment, templates(environment))]


def templates(environment: Environment) -> dict[str, Any]:
    return snapshots.read(load(environment.name))


def instance(type_: str, cores: int, **more: Any) -> dict[str, Any]:
    return {"InstanceType": type_, "CpuOptions": {"CoreCount": cores, "ThreadsPerCore": 2}, **more}


@pytest.mark.parametrize(
    ("name", "on_demand", "spot"),
    [
        ("dev", {"m5.xlarge": 3, "t4g.nano": 2, "t3.nano": 1}, {}),
        # Three zones have NAT gateways; EMR's cluster grows to six core nodes.
        ("prod", {"m5.xlarge": 7, "t3.small": 1}, {}),
        ("sandbox", {"t4g.nano": 1, "t3.nano": 1}, {"m5.xlarge": 1}),
    ],
)
def test_the_needs_are_the_templates_at_their_largest(name: str, on_demand: Any, spot: Any) -> None:
    found = account.instances(App(settings=load(name), templates=templates(load(name))))
    assert found == {"ON_DEMAND": on_demand, "SPOT": spot}


def test_nodes_of_eks_are_those_that_the_costs_assume(tmp_path: Path) -> None:
    requests = ({"json": {"objects": objects(group(most=most))}} for most in (0, 4))
    made = {"Type": "Custom::KubernetesConnector"}
    templates = {str(number): made | {"Properties": {"Request": each}} for number, each in enumerate(requests)}
    settings = environment_on_eks(tmp_path, "dev")
    found = account.instances(App(settings=settings, templates={"connectors": {"Resources": templates}}))
    # One for the add-ons; four workers of one unit, of which a node has room for one and a half.
    assert found == {"ON_DEMAND": {"m5.large": 4}, "SPOT": {}}


OWN = [{"Key": key, "Value": value} for key, value in load("dev").tags.items()]


@pytest.mark.parametrize(
    ("running", "quota", "line", "lacks"),
    [
        ([], 18.0, "it needs 18, others in the account use 0, the quota is 18", False),
        # A new account's; its command asks for enough.
        ([], 5.0, "the quota is 5: `aws service-quotas request-service-quota-increase --service-code ec2", True),
        ([], 5.0, f"--quota-code L-1216C47A --desired-value 18 --region {REGION}`, and wait", True),
        ([instance("m5.xlarge", 2, Tags=OWN)], 18.0, "others in the account use 0", False),
        ([instance("m5.xlarge", 2)], 18.0, "others in the account use 4, the quota is 18: `aws", True),
        # Other quotas'.
        ([instance("p3.2xlarge", 4), instance("m5.xlarge", 2, InstanceLifecycle="spot")], 18.0, "use 0", False),
    ],
)
def test_vcpus_are_compared_with_what_others_leave_of_the_quota(
    stubbed: Stubbed, running: list[dict[str, Any]], quota: float, line: str, lacks: bool
) -> None:
    runs(stubbed, *running)
    has_addresses(stubbed, {}, load("dev").tags)
    quota(stubbed, "L-1216C47A", quota)
    quota(stubbed, "L-0263D0A3", 2.0)
    vcpus, addresses = looked(stubbed, load("dev"))
    assert line in vcpus.line
    assert vcpus.line.startswith("vCPUs of running on-demand standard instances: it needs 18,")
    assert vcpus.lacks is lacks
    assert addresses == Found(line="elastic IPs: it needs 1, others in the account use 1, the quota is 2")


def test_what_you_may_not_ask_is_one_line_and_the_rest_is_asked(stubbed: Stubbed) -> None:
    stubbed.refuse("ec2", "describe_instance_types", "UnauthorizedOperation")
    has_addresses(stubbed, *[{}] * 5)
    stubbed.refuse("service-quotas", "get_service_quota", "NoSuchResourceException")
    stubbed.answer("service-quotas", "get_aws_default_service_quota", {"Quota": {"Value": 5.0}})
    vcpus, addresses = looked(stubbed, load("dev"))
    assert vcpus.line.startswith("couldn't check vCPUs of running on-demand standard instances: ")
    assert not vcpus.lacks
    assert addresses.lacks


@pytest.mark.parametrize(
    ("refusals", "line", "lacks"),
    [
        ({}, "AWSServiceRoleForEC2Spot is there", False),
        ({"get_role": "NoSuchEntity"}, "AWSServiceRoleForEC2Spot: created", False),
        (
            {"get_role": "NoSuchEntity", "create_service_linked_role": "AccessDenied"},
            "may not create it (AccessDenied): have somebody run `aws iam create-service-linked-role "
            "--aws-service-name spot.amazonaws.com`",
            True,
        ),
        ({"get_role": "AccessDenied"}, "couldn't check AWSServiceRoleForEC2Spot", False),
    ],
)
def test_spot_instances_get_their_role(stubbed: Stubbed, refusals: dict[str, str], line: str, lacks: bool) -> None:
    for market in ("L-1216C47A", "L-34B43A08"):
        runs(stubbed)
        quota(stubbed, market, 64.0)
    has_addresses(stubbed)
    quota(stubbed, "L-0263D0A3", 5.0)
    role = {"Path": "/", "RoleName": "x", "RoleId": "A" * 16, "Arn": "arn:aws:iam::1:role/x", "CreateDate": 0}
    for operation in ("get_role", "create_service_linked_role"):
        if code := refusals.get(operation):
            stubbed.refuse("iam", operation, code)
        elif operation == "get_role" or line.endswith("created"):
            stubbed.answer("iam", operation, {"Role": role})
    *_, found = looked(stubbed, load("sandbox"))
    assert line in found.line
    assert found.lacks is lacks


@pytest.mark.parametrize(
    ("status", "line", "lacks"),
    [
        ("ACCOUNT_CREATED", "QuickSight is ACCOUNT_CREATED", False),
        ("UNSUBSCRIBED", "QuickSight is UNSUBSCRIBED: subscribe the account", True),
        (None, "QuickSight is UNSUBSCRIBED: subscribe the account", True),
    ],
)
def test_a_dashboard_needs_a_subscription(stubbed: Stubbed, status: str | None, line: str, lacks: bool) -> None:
    stubbed.refuse("ec2", "describe_instance_types", "Throttling")
    stubbed.refuse("ec2", "describe_addresses", "Throttling")
    if status is None:
        stubbed.refuse("quicksight", "describe_account_subscription", "ResourceNotFoundException")
    else:
        info = {"AccountInfo": {"AccountSubscriptionStatus": status}}
        stubbed.answer("quicksight", "describe_account_subscription", info, {"AwsAccountId": load("dev").account})
    dev = load("dev")
    analytics = dev.analytics.model_copy(update={"quicksight_principal": PRINCIPAL})
    *_, found = looked(stubbed, dev.model_copy(update={"analytics": analytics}))
    assert (found.line.startswith(line), found.lacks) == (True, lacks)


@pytest.mark.parametrize(
    ("status", "line", "lacks"),
    [
        ("opt-in-not-required", f"{REGION} is enabled", False),
        ("not-opted-in", f"isn't enabled in your account: `aws account enable-region --region-name {REGION}`", True),
        (None, f"couldn't check whether {REGION} is enabled", False),
    ],
)
def test_the_region_is_asked_for_where_every_account_may_ask(
    stubbed: Stubbed, monkeypatch: pytest.MonkeyPatch, status: str | None, line: str, lacks: bool
) -> None:
    monkeypatch.setattr(account, "boto3", SimpleNamespace(client=stubbed.client))
    if status is None:
        stubbed.refuse("ec2", "describe_regions", "UnauthorizedOperation")
    else:
        asked = {"RegionNames": [REGION], "AllRegions": True}
        stubbed.answer("ec2", "describe_regions", {"Regions": [{"OptInStatus": status}]}, asked)
    found = account.region_enabled(load("dev"))
    assert line in found.line
    assert found.lacks is lacks
