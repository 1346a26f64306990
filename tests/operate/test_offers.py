"""What AWS has in an account and a region is asked before anything is changed; the stubber knows AWS's models."""

from typing import TYPE_CHECKING, Any, cast

import pytest

from operate.account import check_offers
from operate.errors import OperateError
from operate.review import findings
from settings.environment import Environment
from settings.load import load
from stacks.gate.template import App
from tests.operate.conftest import MOTOS_ACCOUNT, REGION, Stubbed

if TYPE_CHECKING:
    import boto3

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


def check(environment: Environment, *, of_zones: Answers, of_emr: Answers, of_ec2: Answers) -> None:
    aws = Stubbed()
    for service, operation, answers in (
        ("ec2", "describe_availability_zones", of_zones),
        ("emr", "list_supported_instance_types", of_emr),
        ("ec2", "describe_instance_type_offerings", of_ec2),
    ):
        for answer in answers:
            if isinstance(answer, str):
                aws.refuse(service, operation, answer)
            else:
                aws.answer(service, operation, answer)
    check_offers(cast("boto3.Session", aws), environment)
    aws.check_all_asked()


def test_an_environment_whose_parts_aws_has_is_not_objected_to(environment: Environment) -> None:
    check(environment, of_zones=THERE, of_emr=EMR, of_ec2=OFFERED)


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
    with pytest.raises(OperateError) as caught:
        check(environment, **{"of_zones": THERE, "of_emr": EMR, "of_ec2": OFFERED} | changed)
    assert any(each.removeprefix(FILE).startswith(line) for each in str(caught.value).splitlines()), caught.value


def test_what_you_may_not_ask_is_said_and_the_rest_is_asked(
    environment: Environment, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(OperateError, match=r"vpn\.instance_type: EC2 has no t3\.nano"):
        check(environment, of_zones=("UnauthorizedOperation",), of_emr=("AccessDeniedException",), of_ec2=offered())
    assert capsys.readouterr().out.splitlines() == [
        "not checked, since you may not call DescribeAvailabilityZones: whether the account has the zones",
        "not checked, since you may not call ListSupportedInstanceTypes: whether EMR has the instance types",
    ]


def test_what_the_review_warns_of_before_a_deployment_refuses_it() -> None:
    account, *others = findings._placeholders(load("prod"))
    assert str(account) == (
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
