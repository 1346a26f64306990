"""What AWS must have before anything is changed: from the committed templates, against botocore's models."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.stub import ANY

from operate import account
from operate.account import Found
from operate.diff import snapshots
from operate.errors import OperateError
from operate.review import findings
from settings.environment import Environment
from settings.load import load
from stacks.connectors.manifests import objects
from stacks.gate.template import App
from tests.operate.conftest import MOTOS_ACCOUNT, REGION, Stubbed
from tests.stacks.environments import environment_on_eks, group

# Instances of DescribeInstanceTypes: what each has.
VCPUS = {"m5.xlarge": 4, "m5.large": 2, "r5.xlarge": 4, "t3.nano": 2, "t3.small": 2, "t4g.nano": 2}
PRINCIPAL = "arn:aws:quicksight:us-east-1:111111111111:group/default/analysts"


def has_quota(stubbed: Stubbed, code: str, value: float) -> None:
    asked = {"ServiceCode": "ec2", "QuotaCode": code}
    stubbed.answer("service-quotas", "get_service_quota", {"Quota": {"Value": value}}, asked)


# Stopped instances don't count.
LIVE = {"Name": "instance-state-name", "Values": ["pending", "running"]}


def runs(stubbed: Stubbed, *instances: dict[str, Any]) -> None:
    """What DescribeInstanceTypes and DescribeInstances say."""
    types = [{"InstanceType": type_, "VCpuInfo": {"DefaultVCpus": number}} for type_, number in VCPUS.items()]
    stubbed.answer("ec2", "describe_instance_types", {"InstanceTypes": types}, {"InstanceTypes": ANY})
    stubbed.answer("ec2", "describe_instances", {"Reservations": [{"Instances": [*instances]}]}, {"Filters": [LIVE]})


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
        ([instance("m5.xlarge", 2, Tags=OWN)], 18.0, "others in the account use 0", False),
        ([instance("m5.xlarge", 2)], 18.0, f"L-1216C47A --desired-value 22 --region {REGION}`, and wait", True),
        # Other quotas'.
        ([instance("p3.2xlarge", 4), instance("m5.xlarge", 2, InstanceLifecycle="spot")], 18.0, "use 0", False),
    ],
)
def test_vcpus_are_compared_with_what_others_leave_of_the_quota(
    stubbed: Stubbed, running: list[dict[str, Any]], quota: float, line: str, lacks: bool
) -> None:
    runs(stubbed, *running)
    has_addresses(stubbed, {}, load("dev").tags)
    has_quota(stubbed, "L-1216C47A", quota)
    has_quota(stubbed, "L-0263D0A3", 2.0)
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
        has_quota(stubbed, market, 64.0)
    has_addresses(stubbed)
    has_quota(stubbed, "L-0263D0A3", 5.0)
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


# An operation's answers in order; a text is an error's code.
Answers = tuple[dict[str, Any] | str, ...]


def zones(letters: str) -> Answers:
    return ({"AvailabilityZones": [{"ZoneName": f"{REGION}{letter}"} for letter in letters]},)


def emr(*types: str) -> Answers:
    """Two pages."""
    empty: dict[str, Any] = {"SupportedInstanceTypes": [], "Marker": "next"}
    return (empty, {"SupportedInstanceTypes": [{"Type": each} for each in types]})


def offered(**letters: str) -> Answers:
    """By instance type, with an underscore for the dot."""
    found = [(name.replace("_", "."), f"{REGION}{letter}") for name, of in letters.items() for letter in of]
    return ({"InstanceTypeOfferings": [{"InstanceType": type_, "Location": zone} for type_, zone in found]},)


# What dev needs, in zones a and b.
THERE, EMR, OFFERED = zones("abc"), emr("m5.xlarge"), offered(m5_xlarge="abc", t3_nano="abc", t4g_nano="ab")
FILE = "environments/dev.toml: "


def check(
    stubbed: Stubbed,
    environment: Environment,
    of_zones: Answers = THERE,
    of_emr: Answers = EMR,
    of_ec2: Answers = OFFERED,
) -> None:
    for service, operation, answers, asked in (
        ("ec2", "describe_availability_zones", of_zones, {"Filters": ANY}),
        ("emr", "list_supported_instance_types", of_emr, None),
        ("ec2", "describe_instance_type_offerings", of_ec2, {"LocationType": "availability-zone", "Filters": ANY}),
    ):
        for answer in answers:
            if isinstance(answer, str):
                stubbed.refuse(service, operation, answer)
            else:
                stubbed.answer(service, operation, answer, asked)
    session: Any = stubbed
    account.check_offers(session, environment)


def test_an_environment_whose_parts_aws_has_is_not_objected_to(stubbed: Stubbed, environment: Environment) -> None:
    check(stubbed, environment)


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        (
            {"of_zones": zones("bc")},
            f"availability_zones: account {MOTOS_ACCOUNT} has no {REGION}a: it has {REGION}b, ",
        ),
        (
            {"of_emr": emr("m6g.xlarge")},
            f"processing.core_instance_type: EMR has no m5.xlarge in {REGION} with emr-7.1",
        ),
        (
            {"of_ec2": offered(m5_xlarge="bc", t3_nano="ab", t4g_nano="ab")},
            f"processing.primary_instance_type: EC2 has no m5.xlarge in {REGION}a, only in {REGION}b, {REGION}c: ",
        ),
        (
            {"of_ec2": offered(m5_xlarge="a", t4g_nano="ab")},
            f"vpn.instance_type: EC2 has no t3.nano in {REGION}a, only ",
        ),
        # A NAT instance is in each zone, the others' one machine in the first.
        (
            {"of_ec2": offered(m5_xlarge="a", t3_nano="a", t4g_nano="a")},
            f"network.nat_instance_type: EC2 has no t4g.nano in {REGION}b, only in {REGION}a: choose another, or other",
        ),
        ({"of_zones": ("OptInRequired",)}, "AWS refuses DescribeAvailabilityZones: OptInRequired"),
    ],
)
def test_what_aws_does_not_have_is_a_line(environment: Environment, changed: dict[str, Answers], line: str) -> None:
    # A refusal ends it before all is asked.
    with pytest.raises(OperateError) as caught:
        check(Stubbed(), environment, **changed)
    assert any(each.removeprefix(FILE).startswith(line) for each in str(caught.value).splitlines()), caught.value


def test_what_you_may_not_ask_of_the_region_is_said_and_the_rest_is_asked(
    stubbed: Stubbed, environment: Environment, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(OperateError, match=r"vpn\.instance_type: EC2 has no t3\.nano"):
        check(
            stubbed,
            environment,
            of_zones=("UnauthorizedOperation",),
            of_emr=("AccessDeniedException",),
            of_ec2=offered(),
        )
    assert capsys.readouterr().out.splitlines() == [
        "not checked, since you may not call DescribeAvailabilityZones: whether the account has the zones",
        "not checked, since you may not call ListSupportedInstanceTypes: whether EMR has the instance types",
    ]


def test_what_the_review_warns_of_before_a_deployment_refuses_it() -> None:
    first, *others = findings._placeholders(load("prod"))
    assert str(first) == (
        "warning: placeholder: environments/prod.toml/account: 222222222222 is an example: put your own there; "
        "nothing deploys while it stands there"
    )
    assert [each.resource for each in others] == ["monitoring.alarm_email", "vpn.client_cidrs"]


def test_a_region_without_prices_is_said_in_a_line() -> None:
    elsewhere = load("dev").model_copy(update={"region": "us-east-1"})
    [found] = findings._budget(App(settings=elsewhere, templates={}))
    reason = "operate/costs/prices.toml has the prices of ap-southeast-2, not those of us-east-1, where dev is"
    assert str(found).startswith("warning: budget-covers-costs: ")
    assert str(found).endswith(f"isn't compared with the costs: {reason}")
