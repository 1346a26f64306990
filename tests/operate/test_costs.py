import copy
import dataclasses
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from operate.costs.bill import Item, items, total, unknown
from operate.costs.lines import FREE, LINES
from operate.costs.prices import load_prices
from operate.costs.report import HOURS_A_WEEK, at_hours, budget_problem, hints, overview, report
from operate.diff import snapshots
from settings import aws_offers
from settings.load import load, names
from spark_jobs.table.claim import LEASE_SECONDS
from stacks.gate.template import App

ROOT = Path(__file__).resolve().parents[2]
PRICES = load_prices()
HOURS = 730
NODE_USD, NAT_USD, GATEWAY_USD = 0.24 * HOURS, 0.0053 * HOURS, 0.059 * HOURS
EMR, BROKERS, AURORA = "AWS::EMR::Cluster", "AWS::MSK::Cluster", "AWS::RDS::DBInstance"
CONNECTOR, UNITS = "Custom::Connector", "Request.json.capacity.provisionedCapacity.mcuCount"
TYPE = "Instances.CoreInstanceGroup.InstanceType"
APPS = {name: App(settings=load(name), templates=snapshots.read(load(name))) for name in names()}
DEV, PROD, SANDBOX = APPS["dev"], APPS["prod"], APPS["sandbox"]


def changed(app: App, type_: str, path: str, value: Any) -> App:
    """The app with another property of the resources of a type."""
    templates = copy.deepcopy(app.templates)
    for template in templates.values():
        for found in (each["Properties"] for each in template["Resources"].values() if each["Type"] == type_):
            *above, last = path.split(".")
            for key in above:
                found = found[key]
            found[last] = value
    return dataclasses.replace(app, templates=templates)


def gained(resource: dict[str, Any]) -> App:
    """dev with a resource more."""
    there = DEV.templates["lake"]
    more = {**there, "Resources": {**there["Resources"], "More": resource}}
    return dataclasses.replace(DEV, templates={**DEV.templates, "lake": more})


def set_to(app: App, **sections: Any) -> App:
    """The app with other settings, which its templates don't show."""
    settings = app.settings
    update = {name: getattr(settings, name).model_copy(update=values) for name, values in sections.items()}
    return dataclasses.replace(app, settings=settings.model_copy(update=update))


def usd(lines: list[Item], part: str, word: str = "") -> float:
    return total([line for line in lines if line.part == part and word in line.what])


def each(name: str) -> float:
    return PRICES.of(name).usd


@pytest.mark.parametrize(
    ("app", "part", "word", "monthly"),
    [
        (PROD, "network", "NAT gateways", 3 * GATEWAY_USD),
        (PROD, "network", "endpoints", 6 * each("vpc.endpoint") * HOURS),
        (PROD, "network", "instances", 0),
        (PROD, "network", "addresses", 3 * each("vpc.public-ipv4") * HOURS),
        (SANDBOX, "processing", "on spot", each("ec2.spot") * NODE_USD),
        (SANDBOX, "processing", "fee", each("emr.fee") * NODE_USD),
        (SANDBOX, "network", "instances, t4g.nano", NAT_USD),
        (changed(DEV, EMR, TYPE, "m5.2xlarge"), "processing", "EMR core", 4 * NODE_USD),
        (changed(DEV, BROKERS, "NumberOfBrokerNodes", 4), "streaming", "", 2 * usd(items(DEV, PRICES), "streaming")),
        (changed(DEV, CONNECTOR, UNITS, 3), "connectors", "units", 3 * usd(items(DEV, PRICES), "connectors")),
        (changed(DEV, AURORA, "DBInstanceClass", "db.t4g.large"), "database", "instances", 2 * 0.113 * HOURS),
    ],
)
def test_a_part_costs_what_its_templates_have(app: App, part: str, word: str, monthly: float) -> None:
    assert usd(items(app, PRICES), part, word) == pytest.approx(monthly)


@pytest.mark.parametrize(
    ("type_", "properties", "name", "times"),
    [
        ("AWS::EC2::EIP", {}, "vpc.public-ipv4", HOURS),
        ("AWS::EC2::VPCEndpoint", {"SubnetIds": ["a", "b"]}, "vpc.endpoint", 2 * HOURS),
        ("AWS::CloudWatch::Alarm", {"MetricName": "Errors"}, "cloudwatch.alarm", 1),
        ("AWS::CloudWatch::Alarm", {"Metrics": [{"MetricStat": {"Stat": "Sum"}}] * 3}, "cloudwatch.alarm", 3),
        ("AWS::CloudWatch::Dashboard", {}, "cloudwatch.dashboard", 1),
        ("AWS::KMS::Key", {}, "kms.key", 1),
        ("AWS::SecretsManager::Secret", {}, "secrets.secret", 1),
        ("AWS::S3::Bucket", {"MetricsConfigurations": [{"Id": "all"}]}, "cloudwatch.metric", 16),
        ("AWS::IAM::Role", {}, "kms.key", 0),
    ],
)
def test_what_a_template_gains_is_paid(type_: str, properties: dict[str, Any], name: str, times: int) -> None:
    more = gained({"Type": type_, "Properties": properties})
    # An endpoint's addresses are in the flow log, too.
    before, after = (total([one for one in items(app, PRICES) if one.part != "logs"]) for app in (DEV, more))
    assert after - before == pytest.approx(times * each(name))


def test_every_type_is_paid_or_known_to_cost_nothing() -> None:
    allowed = tomllib.loads((ROOT / "stacks" / "gate" / "allowed.toml").read_text())
    types = {name for name in allowed if "::" in name}
    assert len(types) > 60
    free = {name for name in {*types, *LINES} if re.fullmatch(FREE, name)}
    assert (types - free - LINES.keys(), free & LINES.keys()) == (set(), set())
    assert [unknown(items(app, PRICES)) for app in APPS.values()] == [[], [], []]


@pytest.mark.parametrize(
    ("app", "what"),
    [
        (changed(DEV, "AWS::EC2::Instance", "InstanceType", "c9.nano"), "instances, c9.nano; instances, c9.nano"),
        (gained({"Type": "AWS::EFS::FileSystem"}), "AWS::EFS::FileSystem"),
        (changed(DEV, BROKERS, "BrokerNodeGroupInfo.StorageInfo", {"Ref": "Size"}), "their volumes, GB of Cluster"),
    ],
)
def test_what_has_no_price_is_said_and_the_total_incomplete(app: App, what: str) -> None:
    assert "; ".join(line.what for line in unknown(items(app, PRICES))) == what
    lines = report(app, PRICES).splitlines()
    assert f"incomplete: operate/costs has no price for {what}" in lines
    assert next(line for line in lines if what.split("; ")[0] in line).endswith("unknown price")


def test_requests_are_those_of_the_claim_and_of_the_environments_own_rounds() -> None:
    # Each third of a lease takes a LIST and a PUT.
    assert PRICES.job_requests["claim_an_hour"] == pytest.approx(2 * 3600 / (LEASE_SECONDS / 3))
    [pipeline] = DEV.settings.pipelines
    job = pipeline.job.model_copy(update={"sync_interval_seconds": 7})
    settings = DEV.settings.model_copy(update={"pipelines": (pipeline.model_copy(update={"job": job}),)})
    every_7 = dataclasses.replace(DEV, settings=settings)
    assert any(line.split()[:2] == ["7", "s"] for line in report(every_7, PRICES).splitlines())


def test_every_type_that_an_environment_may_choose_has_a_price() -> None:
    classes = [f"db.{class_}" for class_ in aws_offers.AURORA_INSTANCE_CLASSES]
    types = [*aws_offers.MSK_PARTITIONS_PER_BROKER, *classes, *aws_offers.YARN_MEMORY_MB]
    assert [type_ for type_ in types if PRICES.find(type_) is None] == []


def test_hints_say_what_is_saved_and_production_gets_none() -> None:
    lines = items(DEV, PRICES)
    found = {stopping.what: usd for stopping, usd in hints(lines)}
    assert found["EMR"] == pytest.approx(usd(lines, "processing"))
    assert found["Aurora's instances"] == pytest.approx(usd(lines, "database", "instances"))
    assert list(found) == sorted(found, key=lambda what: -found[what])
    assert "pause" in report(DEV, PRICES)
    assert "pause" not in report(PROD, PRICES)


def test_the_bill_has_the_hours_that_were_asked_for() -> None:
    rows = dict(line.split() for line in report(DEV, PRICES, 37.5).splitlines() if len(line.split()) == 2)
    assert rows["37.5"] == f"~{round(at_hours(items(DEV, PRICES), 37.5), -1):g}"
    assert "hours a week" not in report(PROD, PRICES)
    assert "hours a week" in report(PROD, PRICES, 40)


def test_the_sandbox_costs_two_fifths_of_dev_at_the_most() -> None:
    assert total(items(SANDBOX, PRICES)) <= 0.4 * total(items(DEV, PRICES))


@pytest.mark.parametrize("app", APPS.values())
def test_every_budget_covers_what_its_environment_costs_and_not_much_more(app: App) -> None:
    costs = total(items(app, PRICES))
    assert budget_problem(app.settings, costs) is None
    assert app.settings.budget.monthly_usd <= 1.1 * costs


def test_a_budget_below_the_costs_is_said_with_what_would_do() -> None:
    poor, costs = set_to(DEV, budget={"monthly_usd": 1400}), total(items(DEV, PRICES))
    problem = budget_problem(poor.settings, costs)
    assert problem is not None
    assert problem.startswith("environments/dev.toml: budget.monthly_usd: 1,400 is less than the environment costs")
    assert problem in report(poor, PRICES).splitlines()
    enough = int(problem.split()[-3].replace(",", ""))
    assert budget_problem(set_to(DEV, budget={"monthly_usd": enough}).settings, costs) is None
    assert budget_problem(set_to(DEV, budget={"monthly_usd": enough - 10}).settings, costs)


def test_managed_scaling_is_mentioned_because_it_is_not_in_the_total() -> None:
    assert "managed scaling goes up to 6" in report(PROD, PRICES)
    assert "managed scaling" not in report(DEV, PRICES)


def test_every_price_says_when_and_where_it_was_read() -> None:
    for row in PRICES.rows:
        assert row.source
        assert row.read.year >= 2026
        # A price derived from another region's can't be a fact.
        assert row.estimate or "us-east-1" not in row.source


def test_the_documents_compare_all_environments() -> None:
    assert overview(APPS.values(), PRICES) in (ROOT / "docs" / "aws" / "costs.md").read_text()
    assert "| 168 hours a week on, else paused |" in (always := overview(APPS.values(), PRICES, HOURS_A_WEEK))
    assert all(len(set(line.split(" | ")[1:3])) == 1 for line in always.splitlines()[2:])


def test_the_documents_show_what_the_command_prints() -> None:
    text = report(DEV, PRICES)
    assert text in (ROOT / "docs" / "aws" / "costs.md").read_text()
    [line] = [line for line in text.splitlines() if line.startswith("dev costs about ")]
    amount = line.removeprefix("dev costs ").partition(" a month")[0]
    readme = (ROOT / "README.md").read_text()
    assert f"dev {amount}" in readme
    sandbox = items(SANDBOX, PRICES)
    always, at_40 = (f"{round(each, -1):,.0f} USD" for each in (total(sandbox), at_hours(sandbox, 40)))
    assert f"sandbox {always}, or {at_40} at 40 hours a week" in " ".join(readme.split())
