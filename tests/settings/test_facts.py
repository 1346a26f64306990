"""What others end is noticed before it ends."""

import datetime
import json
import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path

import pytest

from operate.costs.prices import load_prices
from plugins.releases.versions import OPTIONAL, load_versions
from settings import aws_offers
from settings.aws_offers import FACTS, UNKNOWN, Facts

ROOT = Path(__file__).resolve().parents[2]
BEFORE, AGE = datetime.timedelta(days=60), datetime.timedelta(days=365)
DATED = [(group, name) for group, facts in FACTS.items() for name, ends in facts.ends.items() if ends != UNKNOWN]


def old(facts: Mapping[str, Facts], today: datetime.date) -> Iterator[str]:
    """Yield a line for each fact that ends soon, or of which we only know that it had no end a year ago."""
    for group, of in facts.items():
        for name, ends in of.ends.items():
            due = of.read + AGE if ends == UNKNOWN else ends - BEFORE
            if today >= due:
                yield f"{group} {name} ends {ends} ({of.source}, read {of.read}): {of.then} (settings/facts.toml)"
    for price in load_prices().rows:
        if today >= price.read + AGE:
            yield f"{price.name} was read {price.read} ({price.source}): look it up again (operate/costs/prices.toml)"


def test_nothing_that_is_offered_ends_within_60_days_and_all_was_looked_up_within_a_year() -> None:
    assert list(old(FACTS, datetime.datetime.now(datetime.UTC).date())) == []


@pytest.mark.parametrize(("group", "name"), DATED)
def test_what_ends_is_named_60_days_before_with_what_to_do(group: str, name: str) -> None:
    ends, alone = FACTS[group].ends[name], {group: FACTS[group]}
    assert isinstance(ends, datetime.date)
    line = f"{group} {name} ends {ends} ({FACTS[group].source}, read {FACTS[group].read}): {FACTS[group].then}"
    assert not any(each.startswith(line) for each in old(alone, ends - BEFORE - datetime.timedelta(days=1)))
    assert any(each.startswith(line) for each in old(alone, ends - BEFORE))


def test_what_has_no_known_end_is_looked_up_again_after_a_year() -> None:
    kafka, price = FACTS["kafka"], load_prices().find("m5.large")
    assert price is not None
    line = f"kafka 3.9.x ends unknown ({kafka.source}, read {kafka.read}): "
    assert not any(each.startswith(line) for each in old(FACTS, kafka.read + AGE - datetime.timedelta(days=1)))
    assert any(each.startswith(line) for each in old(FACTS, kafka.read + AGE))
    assert any(each.startswith(f"m5 was read {price.read} (") for each in old({}, price.read + AGE))


def test_every_version_of_ours_has_its_fact() -> None:
    assert set(FACTS["emr"].ends) == set(aws_offers.RELEASES)
    assert set(FACTS["plugins"].ends) == {*load_versions().releases} - OPTIONAL
    allowed = (ROOT / "stacks/gate/allowed.toml").read_text()
    runtimes = re.findall(r'^"(?:Runtime|CompatibleRuntimes/\*)!" = (\[.*\])$', allowed, re.MULTILINE)
    assert {name for line in runtimes for name in json.loads(line)} == set(FACTS["lambda"].ends)
    assert set(FACTS["images"].ends) == {"amazon-linux-2023", "debian13"}
    assert "latest_amazon_linux2023" in (ROOT / "stacks/vpn.py").read_text()
    assert "debian13" in (ROOT / "connect-image/Dockerfile").read_text()


def test_the_runtimes_days_are_those_of_cfn_lint() -> None:
    runtimes = json.loads((files("cfnlint.data.AdditionalSpecs") / "LmbdRuntimeLifecycle.json").read_text())
    days = FACTS["lambda"].ends
    assert {name: str(day) for name, day in days.items()} == {name: runtimes[name]["deprecated"] for name in days}
