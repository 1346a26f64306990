from pathlib import Path
from typing import Any

import pytest

from operate.costs.bill import NODES, Item, items, requests_of_rounds, total, unknown
from operate.costs.prices import load_prices
from operate.costs.report import HOURS_A_WEEK, at_hours, budget_problem, hints, overview, report
from operate.errors import OperateError
from settings import aws_offers
from settings.environment import Environment
from settings.load import load, names
from tests.stacks.environments import environment_on_eks

ROOT = Path(__file__).resolve().parents[2]
PRICES = load_prices()
DEV = load("dev")
GATEWAYS = {"network": {"nat": "gateways", "interface_endpoints": ("logs", "secretsmanager")}}
SPOT = {"processing": {"market": "spot"}}
SMALLEST = {"network": {"nat": "instance"}, "processing": {"core_instances": 0}}
LARGER_NODES = {"processing": {"primary_instance_type": "m5.2xlarge", "core_instance_type": "m5.2xlarge"}}
HOURS = 730
NODE_USD, NAT_USD, GATEWAY_USD = 0.24 * HOURS, 0.0053 * HOURS, 0.059 * HOURS


def changed(environment: Environment, **sections: Any) -> Environment:
    """The environment with other values in its sections."""
    update = {name: getattr(environment, name).model_copy(update=values) for name, values in sections.items()}
    return environment.model_copy(update=update)


def usd(lines: list[Item], part: str, word: str = "") -> float:
    return total([line for line in lines if line.part == part and word in line.what])


def each(name: str) -> float:
    return PRICES.of(name).usd


@pytest.mark.parametrize(
    ("changes", "part", "word", "monthly"),
    [
        ({}, "processing", "EMR core", 2 * NODE_USD),
        ({}, "processing", "fee", each("emr.fee") * 3 * NODE_USD),
        ({}, "streaming", "volumes", 2 * 20 * each("msk.storage")),
        ({}, "network", "NAT instances, t4g.nano", 2 * NAT_USD),
        (GATEWAYS, "network", "NAT gateways", 2 * GATEWAY_USD),
        (GATEWAYS, "network", "endpoints", 4 * each("vpc.endpoint") * HOURS),
        (GATEWAYS, "network", "NAT instances", 0),
        (SPOT, "processing", "on spot", each("ec2.spot") * 3 * NODE_USD),
        (SPOT, "processing", "fee", each("emr.fee") * 3 * NODE_USD),
        (SMALLEST, "network", "NAT instances, t4g.nano", NAT_USD),
        (SMALLEST, "processing", "primary", NODE_USD),
        (LARGER_NODES, "processing", "EMR core", 4 * NODE_USD),
        ({"streaming": {"brokers": 4}}, "streaming", "brokers", 2 * usd(items(DEV, PRICES), "streaming", "brokers")),
        (
            {"database": {"instance_class": "t4g.large"}},
            "database",
            "instances",
            2 * usd(items(DEV, PRICES), "database", "instances"),
        ),
    ],
)
def test_a_part_costs_what_its_settings_ask_for(changes: dict[str, Any], part: str, word: str, monthly: float) -> None:
    assert usd(items(changed(DEV, **changes), PRICES), part, word) == pytest.approx(monthly)


def test_fewer_rounds_make_fewer_requests_and_an_idle_round_is_one() -> None:
    busy, idle = requests_of_rounds(PRICES, 60)
    rounds = 730 * 60
    assert idle == pytest.approx(rounds * PRICES.of("s3.requests").usd / 1000)
    commit = PRICES.commit_requests
    each = commit["puts_and_lists"] * PRICES.of("s3.requests").usd + commit["reads"] * PRICES.of("s3.reads").usd
    assert busy == pytest.approx(rounds * each / 1000)
    assert requests_of_rounds(PRICES, 120) == pytest.approx((busy / 2, idle / 2))
    job = DEV.pipelines[0].job.model_copy(update={"sync_interval_seconds": 7})
    every_7 = DEV.model_copy(update={"pipelines": (DEV.pipelines[0].model_copy(update={"job": job}),)})
    assert any(line.split()[:2] == ["7", "s"] for line in report(every_7, PRICES).splitlines())


def test_logs_are_paid_by_who_writes_them_and_for_how_long() -> None:
    lines = {line.what: line for line in items(DEV, PRICES) if line.part == "logs"}
    # Two NAT instances, the bastion, Aurora, two brokers, two workers, three EMR nodes.
    assert lines["flow log, GB"].quantity == pytest.approx(11 * PRICES.logs["address"])
    assert lines["brokers' log, GB"].quantity == pytest.approx(2 * PRICES.logs["broker"])
    assert all(line.estimate for line in lines.values())
    longer = changed(DEV, network={"flow_log_retention_days": 3653})
    kept = {line.what: line.quantity for line in items(longer, PRICES)}["kept, GB"]
    assert kept > 50 * lines["flow log, GB"].quantity
    # One NAT instance and two core nodes fewer.
    smallest = {line.what: line for line in items(changed(DEV, **SMALLEST), PRICES)}
    assert smallest["flow log, GB"].quantity == pytest.approx(8 * PRICES.logs["address"])


def test_every_type_that_an_environment_may_choose_has_a_price() -> None:
    types = [("msk", type_.removeprefix("kafka.")) for type_ in aws_offers.MSK_BROKER_TYPES]
    types += [("aurora", type_) for type_ in aws_offers.AURORA_INSTANCE_CLASSES]
    types += [("ec2", type_) for type_ in aws_offers.INSTANCE_TYPES]
    assert [type_ for type_ in types if PRICES.of_instance(*type_) is None] == []


def test_an_unknown_type_is_said_to_be_unknown_and_the_total_incomplete() -> None:
    environment = changed(DEV, vpn={"instance_type": "c9.nano"})
    lines = items(environment, PRICES)
    assert [line.what for line in unknown(lines)] == ["bastion, c9.nano"]
    text = report(environment, PRICES)
    [row] = [line for line in text.splitlines() if "c9.nano" in line and "incomplete" not in line]
    assert row.endswith("unknown price")
    assert "incomplete: operate/costs/prices.toml has no price for bastion, c9.nano" in text


def test_hints_say_what_is_saved_and_production_gets_none() -> None:
    lines = items(DEV, PRICES)
    found = {stopping.what: usd for stopping, usd in hints(lines)}
    assert found["EMR"] == pytest.approx(usd(lines, "processing"))
    assert found["Aurora's instances"] == pytest.approx(usd(lines, "database", "instances"))
    assert list(found) == sorted(found, key=lambda what: -found[what])
    assert "pause" in report(DEV, PRICES)
    assert "pause" not in report(load("prod"), PRICES)


def test_hours_off_save_what_a_pause_switches_off_and_nothing_else() -> None:
    lines = items(DEV, PRICES)
    stops = usd(lines, "processing") + usd(lines, "connectors") + usd(lines, "database", "instances")
    assert at_hours(lines, HOURS_A_WEEK) == pytest.approx(total(lines))
    assert at_hours(lines, 0) == pytest.approx(total(lines) - stops)
    assert at_hours(lines, 42) == pytest.approx(total(lines) - stops * 3 / 4)


def test_on_eks_hours_off_save_the_nodes_and_leave_the_control_plane(tmp_path: Path) -> None:
    environment = environment_on_eks(tmp_path, "dev")
    lines = items(environment, PRICES)
    goes_on = usd(lines, "connectors", "EKS cluster") + usd(lines, "connectors", "metrics")
    nodes = usd(lines, "connectors") - goes_on
    stops = usd(lines, "processing") + nodes + usd(lines, "database", "instances")
    assert at_hours(lines, 0) == pytest.approx(total(lines) - stops)
    assert dict(hints(lines))[NODES] == pytest.approx(nodes)
    assert "Neither MSK nor EKS's control plane can be stopped" in report(environment, PRICES)


def test_the_bill_has_the_hours_that_were_asked_for() -> None:
    rows = dict(line.split() for line in report(DEV, PRICES, 37.5).splitlines() if len(line.split()) == 2)
    assert rows["37.5"] == f"~{round(at_hours(items(DEV, PRICES), 37.5), -1):g}"
    assert "hours a week" not in report(load("prod"), PRICES)
    assert "hours a week" in report(load("prod"), PRICES, 40)


def test_the_sandbox_costs_two_fifths_of_dev_at_the_most() -> None:
    assert total(items(load("sandbox"), PRICES)) <= 0.4 * total(items(DEV, PRICES))


@pytest.mark.parametrize("name", names())
def test_every_budget_covers_what_its_environment_costs_and_not_much_more(name: str) -> None:
    environment = load(name)
    assert budget_problem(environment, PRICES) is None
    assert environment.budget.monthly_usd <= 1.1 * total(items(environment, PRICES))


def test_a_budget_below_the_costs_is_said_with_what_would_do() -> None:
    poor = changed(DEV, budget={"monthly_usd": 1400})
    problem = budget_problem(poor, PRICES)
    assert problem is not None
    assert problem.startswith("environments/dev.toml: budget.monthly_usd: 1,400 is less than the environment costs")
    assert problem in report(poor, PRICES).splitlines()
    enough = int(problem.split()[-3].replace(",", ""))
    assert budget_problem(changed(DEV, budget={"monthly_usd": enough}), PRICES) is None
    assert budget_problem(changed(DEV, budget={"monthly_usd": enough - 10}), PRICES)
    # The prices there are unknown.
    assert budget_problem(poor.model_copy(update={"region": "eu-west-1"}), PRICES) is None


def test_managed_scaling_is_mentioned_because_it_is_not_in_the_total() -> None:
    assert "managed scaling goes up to 6" in report(load("prod"), PRICES)
    assert "managed scaling" not in report(DEV, PRICES)


def test_another_region_has_no_prices() -> None:
    elsewhere = DEV.model_copy(update={"region": "eu-west-1"})
    with pytest.raises(OperateError, match="prices of ap-southeast-2, not those of eu-west-1"):
        items(elsewhere, PRICES)


def test_every_price_says_when_and_where_it_was_read() -> None:
    for row in (*PRICES.prices, *PRICES.families):
        assert row.source
        assert row.read.year >= 2026
        # A price derived from another region's can't be a fact.
        assert row.estimate or "us-east-1" not in row.source


def test_the_documents_compare_all_environments() -> None:
    assert overview(map(load, names()), PRICES) in (ROOT / "docs" / "aws" / "costs.md").read_text()


def test_the_documents_show_what_the_command_prints() -> None:
    text = report(DEV, PRICES)
    assert text in (ROOT / "docs" / "aws" / "costs.md").read_text()
    [line] = [line for line in text.splitlines() if line.startswith("dev costs about ")]
    amount = line.removeprefix("dev costs ").partition(" a month")[0]
    readme = (ROOT / "README.md").read_text()
    assert f"dev {amount}" in readme
    sandbox = items(load("sandbox"), PRICES)
    always, at_40 = (f"{round(each, -1):,.0f} USD" for each in (total(sandbox), at_hours(sandbox, 40)))
    assert f"sandbox {always}, or {at_40} at 40 hours a week" in " ".join(readme.split())
