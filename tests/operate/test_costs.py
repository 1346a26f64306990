from pathlib import Path
from typing import Any

import pytest

from operate.costs.bill import Item, confirmed, items, requests_of_rounds, total, unknown
from operate.costs.prices import Prices, load_prices
from operate.costs.report import HOURS_A_WEEK, at_hours, budget_problem, hints, overview, report
from operate.errors import OperateError
from settings import aws_offers
from settings.environment import Environment
from settings.load import load, names
from tests.stacks.environments import environment_on_eks

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def prices() -> Prices:
    return load_prices()


@pytest.fixture
def dev() -> Environment:
    return load("dev")


def changed(environment: Environment, section: str, **values: Any) -> Environment:
    return environment.model_copy(update={section: getattr(environment, section).model_copy(update=values)})


def usd(lines: list[Item], part: str, word: str = "") -> float:
    return total([line for line in lines if line.part == part and word in line.what])


def test_an_instance_is_paid_for_every_hour_and_a_volume_for_every_gigabyte(dev: Environment, prices: Prices) -> None:
    lines = items(dev, prices)
    assert usd(lines, "processing", "EMR core") == pytest.approx(2 * 0.24 * 730)
    assert usd(lines, "streaming", "volumes") == pytest.approx(2 * 20 * prices.of("msk.storage").usd)
    assert usd(lines, "network", "NAT instances, t4g.nano") == pytest.approx(2 * 0.0053 * 730)


def test_emrs_fee_is_a_share_of_what_its_instances_cost(dev: Environment, prices: Prices) -> None:
    lines = items(dev, prices)
    share = prices.of("emr.fee").usd
    assert usd(lines, "processing", "fee") == pytest.approx(share * 3 * 0.24 * 730)


@pytest.mark.parametrize(
    ("section", "values", "part", "factor"),
    [
        ("streaming", {"brokers": 4}, "streaming", 2),
        ("database", {"instance_class": "t4g.large"}, "database", 2),
        ("processing", {"primary_instance_type": "m5.2xlarge", "core_instance_type": "m5.2xlarge"}, "processing", 2),
    ],
)
def test_twice_as_much_costs_twice_as_much(
    dev: Environment, prices: Prices, section: str, values: dict[str, Any], part: str, factor: float
) -> None:
    def instances(environment: Environment) -> float:
        lines = items(environment, prices)
        return total([line for line in lines if line.part == part and line.price and line.price.unit == "hour"])

    assert instances(changed(dev, section, **values)) == pytest.approx(factor * instances(dev))


def test_fewer_rounds_make_fewer_requests_and_an_idle_round_is_one(dev: Environment, prices: Prices) -> None:
    busy, idle = requests_of_rounds(prices, 60)
    rounds = 730 * 60
    assert idle == pytest.approx(rounds * prices.of("s3.requests").usd / 1000)
    commit = prices.commit_requests
    each = commit.puts_and_lists * prices.of("s3.requests").usd + commit.reads * prices.of("s3.reads").usd
    assert busy == pytest.approx(rounds * each / 1000)
    assert requests_of_rounds(prices, 120) == pytest.approx((busy / 2, idle / 2))
    job = dev.pipelines[0].job.model_copy(update={"sync_interval_seconds": 7})
    every_7 = dev.model_copy(update={"pipelines": (dev.pipelines[0].model_copy(update={"job": job}),)})
    assert any(line.split()[:2] == ["7", "s"] for line in report(every_7, prices).splitlines())


def test_logs_are_paid_by_who_writes_them_and_for_how_long(dev: Environment, prices: Prices) -> None:
    lines = {line.what: line for line in items(dev, prices) if line.part == "logs"}
    # Two NAT instances, the bastion, Aurora, two brokers, two workers, three EMR nodes.
    assert lines["flow log, GB"].quantity == pytest.approx(11 * prices.logs.address)
    assert lines["brokers' log, GB"].quantity == pytest.approx(2 * prices.logs.broker)
    assert all(line.estimate for line in lines.values())
    longer = changed(dev, "network", flow_log_retention_days=3653)
    kept = {line.what: line.quantity for line in items(longer, prices)}["kept, GB"]
    assert kept > 50 * lines["flow log, GB"].quantity


def test_gateways_and_endpoints_are_paid_per_zone(dev: Environment, prices: Prices) -> None:
    network = changed(dev, "network", nat="gateways", interface_endpoints=("logs", "secretsmanager"))
    lines = items(network, prices)
    assert usd(lines, "network", "NAT gateways") == pytest.approx(2 * 0.059 * 730)
    assert usd(lines, "network", "endpoints") == pytest.approx(4 * prices.of("vpc.endpoint").usd * 730)
    assert not usd(lines, "network", "NAT instances")


def test_every_type_that_an_environment_may_choose_has_a_price(prices: Prices) -> None:
    types = [("msk", type_.removeprefix("kafka.")) for type_ in aws_offers.MSK_BROKER_TYPES]
    types += [("aurora", type_) for type_ in aws_offers.AURORA_INSTANCE_CLASSES]
    types += [("ec2", type_) for type_ in aws_offers.INSTANCE_TYPES[prices.region]]
    assert [type_ for type_ in types if prices.of_instance(*type_) is None] == []


def test_an_unknown_type_is_said_to_be_unknown_and_the_total_incomplete(dev: Environment, prices: Prices) -> None:
    environment = changed(dev, "vpn", instance_type="c9.nano")
    lines = items(environment, prices)
    assert [line.what for line in unknown(lines)] == ["bastion, c9.nano"]
    text = report(environment, prices)
    [row] = [line for line in text.splitlines() if "c9.nano" in line and "incomplete" not in line]
    assert row.endswith("unknown price")
    assert "incomplete: operate/costs/prices.toml has no price for bastion, c9.nano" in text


def test_estimates_are_marked_and_what_is_confirmed_is_added_up_apart(dev: Environment, prices: Prices) -> None:
    lines = items(dev, prices)
    rows = report(dev, prices).splitlines()
    broker = next(row for row in rows if "kafka.m5.large" in row)
    primary = next(row for row in rows if "EMR primary" in row)
    assert "~" in broker
    assert "~" not in primary
    assert 0 < confirmed(lines) < total(lines)
    assert confirmed(lines) == pytest.approx(sum(line.usd or 0 for line in lines if not line.estimate))


def test_the_total_is_no_more_exact_than_the_prices(dev: Environment, prices: Prices) -> None:
    [line] = [line for line in report(dev, prices).splitlines() if line.startswith("dev costs about ")]
    shown = int(line.split()[3].replace(",", ""))
    assert shown % 10 == 0
    assert abs(shown - total(items(dev, prices))) <= 5


def test_hints_say_what_is_saved_and_production_gets_none(dev: Environment, prices: Prices) -> None:
    lines = items(dev, prices)
    found = {hint.what: hint.usd for hint in hints(lines)}
    assert found["EMR"] == pytest.approx(usd(lines, "processing"))
    assert found["Aurora's instances"] == pytest.approx(usd(lines, "database", "instances"))
    assert list(found) == sorted(found, key=lambda what: -found[what])
    assert "pause" in report(dev, prices)
    assert "pause" not in report(load("prod"), prices)


def test_hours_off_save_what_a_pause_switches_off_and_nothing_else(dev: Environment, prices: Prices) -> None:
    lines = items(dev, prices)
    stops = usd(lines, "processing") + usd(lines, "connectors") + usd(lines, "database", "instances")
    assert at_hours(lines, HOURS_A_WEEK) == pytest.approx(total(lines))
    assert at_hours(lines, 0) == pytest.approx(total(lines) - stops)
    assert at_hours(lines, 42) == pytest.approx(total(lines) - stops * 3 / 4)


def test_on_eks_hours_off_save_the_nodes_and_leave_the_control_plane(prices: Prices, tmp_path: Path) -> None:
    environment = environment_on_eks(tmp_path, "dev")
    lines = items(environment, prices)
    goes_on = usd(lines, "connectors", "EKS cluster") + usd(lines, "connectors", "metrics")
    nodes = usd(lines, "connectors") - goes_on
    stops = usd(lines, "processing") + nodes + usd(lines, "database", "instances")
    assert at_hours(lines, 0) == pytest.approx(total(lines) - stops)
    assert {hint.what: hint.usd for hint in hints(lines)}["EKS's nodes"] == pytest.approx(nodes)
    assert "Neither MSK nor EKS's control plane can be stopped" in report(environment, prices)


def test_the_bill_has_the_hours_that_were_asked_for(dev: Environment, prices: Prices) -> None:
    rows = dict(line.split() for line in report(dev, prices, 37.5).splitlines() if len(line.split()) == 2)
    assert rows["37.5"] == f"~{round(at_hours(items(dev, prices), 37.5), -1):g}"
    assert "hours a week" not in report(load("prod"), prices)
    assert "hours a week" in report(load("prod"), prices, 40)


def test_the_sandbox_costs_two_fifths_of_dev_at_the_most(dev: Environment, prices: Prices) -> None:
    assert total(items(load("sandbox"), prices)) <= 0.4 * total(items(dev, prices))


def test_spot_is_a_share_of_the_price_and_emrs_fee_stays(dev: Environment, prices: Prices) -> None:
    lines = items(changed(dev, "processing", market="spot"), prices)
    assert usd(lines, "processing", "on spot") == pytest.approx(prices.of("ec2.spot").usd * 3 * 0.24 * 730)
    assert usd(lines, "processing", "fee") == pytest.approx(usd(items(dev, prices), "processing", "fee"))
    assert all(line.estimate for line in lines if "on spot" in line.what)


def test_one_node_and_one_way_out_are_paid_once(dev: Environment, prices: Prices) -> None:
    lines = items(changed(changed(dev, "network", nat="instance"), "processing", core_instances=0), prices)
    assert usd(lines, "network", "NAT instances, t4g.nano") == pytest.approx(0.0053 * 730)
    assert {line.quantity for line in lines if line.part == "processing"} == {1, prices.counts.emr_volume_gb}
    # One NAT instance and two core nodes fewer than dev's eleven.
    assert {line.what: line for line in lines}["flow log, GB"].quantity == pytest.approx(8 * prices.logs.address)


@pytest.mark.parametrize("name", names())
def test_every_budget_covers_what_its_environment_costs_and_not_much_more(name: str, prices: Prices) -> None:
    environment = load(name)
    assert budget_problem(environment, prices) is None
    assert environment.budget.monthly_usd <= 1.1 * total(items(environment, prices))


def test_a_budget_below_the_costs_is_said_with_what_would_do(dev: Environment, prices: Prices) -> None:
    poor = changed(dev, "budget", monthly_usd=1400)
    problem = budget_problem(poor, prices)
    assert problem is not None
    assert problem.startswith("environments/dev.toml: budget.monthly_usd: 1,400 is less than the environment costs")
    assert problem in report(poor, prices).splitlines()
    enough = int(problem.split()[-3].replace(",", ""))
    assert budget_problem(changed(dev, "budget", monthly_usd=enough), prices) is None
    assert budget_problem(changed(dev, "budget", monthly_usd=enough - 10), prices)
    # The prices there are unknown.
    assert budget_problem(poor.model_copy(update={"region": "eu-west-1"}), prices) is None


def test_managed_scaling_is_mentioned_because_it_is_not_in_the_total(dev: Environment, prices: Prices) -> None:
    assert "managed scaling goes up to 6" in report(load("prod"), prices)
    assert "managed scaling" not in report(dev, prices)


def test_another_region_has_no_prices(dev: Environment, prices: Prices) -> None:
    elsewhere = dev.model_copy(update={"region": "eu-west-1"})
    with pytest.raises(OperateError, match="prices of ap-southeast-2, not those of eu-west-1"):
        items(elsewhere, prices)


def test_every_price_says_when_and_where_it_was_read(prices: Prices) -> None:
    for row in (*prices.prices, *prices.families):
        assert row.source
        assert row.read.year >= 2026
        # A price derived from another region's can't be a fact.
        assert row.estimate or "us-east-1" not in row.source


def test_the_documents_compare_all_environments(prices: Prices) -> None:
    assert overview(map(load, names()), prices) in (ROOT / "docs" / "aws" / "costs.md").read_text()


def test_the_documents_show_what_the_command_prints(dev: Environment, prices: Prices) -> None:
    text = report(dev, prices)
    assert text in (ROOT / "docs" / "aws" / "costs.md").read_text()
    [line] = [line for line in text.splitlines() if line.startswith("dev costs about ")]
    amount = line.removeprefix("dev costs ").partition(" a month")[0]
    readme = (ROOT / "README.md").read_text()
    assert f"dev {amount}" in readme
    sandbox = items(load("sandbox"), prices)
    always, at_40 = (f"{round(each, -1):,.0f} USD" for each in (total(sandbox), at_hours(sandbox, 40)))
    assert f"sandbox {always}, or {at_40} at 40 hours a week" in " ".join(readme.split())
