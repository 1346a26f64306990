from pathlib import Path
from typing import Any

import pytest

from operate.cost_report import report
from operate.costs import Item, confirmed, hints, items, requests_of_rounds, total, unknown
from operate.errors import OperateError
from operate.prices import Prices, load_prices
from settings import aws_offers, emr_offers
from settings.environment import Environment
from settings.load import load

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
    types += [("ec2", type_) for type_ in emr_offers.INSTANCE_TYPES[prices.region]]
    assert [type_ for type_ in types if prices.of_instance(*type_) is None] == []


def test_an_unknown_type_is_said_to_be_unknown_and_the_total_incomplete(dev: Environment, prices: Prices) -> None:
    environment = changed(dev, "vpn", instance_type="c9.nano")
    lines = items(environment, prices)
    assert [line.what for line in unknown(lines)] == ["bastion, c9.nano"]
    text = report(environment, prices)
    [row] = [line for line in text.splitlines() if "c9.nano" in line and "incomplete" not in line]
    assert row.endswith("unknown price")
    assert "incomplete: operate/prices.toml has no price for bastion, c9.nano" in text


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
    found = {hint.what: hint.usd for hint in hints(lines, dev)}
    assert found["EMR"] == pytest.approx(usd(lines, "processing"))
    assert found["Aurora's instances"] == pytest.approx(usd(lines, "database", "instances"))
    assert list(found) == sorted(found, key=lambda what: -found[what])
    assert "could be off" not in report(load("prod"), prices)


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
        # A price that was derived from another region's can't be a fact.
        assert row.estimate or "us-east-1" not in row.source


def test_the_documents_show_what_the_command_prints(dev: Environment, prices: Prices) -> None:
    text = report(dev, prices)
    assert text in (ROOT / "docs" / "costs.md").read_text()
    [line] = [line for line in text.splitlines() if line.startswith("dev costs about ")]
    amount = line.removeprefix("dev costs ").partition(" a month")[0]
    assert f"dev {amount}" in (ROOT / "README.md").read_text()
