"""Each supported region has its templates, of which no part is another region's, and the gate lets them pass."""

from pathlib import Path

import pytest

from contract import rds_ca
from settings import aws_offers
from settings.load import load
from stacks.gate import review
from tests.cases import long
from tests.stacks.settings import change, copied
from tests.synthesis import shared_synthesis

COMMITTED = "ap-southeast-2"
# AWS spells some names of hosts differently there. The others differ from each other in `aws_offers` alone.
OLDEST = "us-east-1"
OTHERS = [each for each in aws_offers.ZONES if each not in (COMMITTED, OLDEST)]


@pytest.mark.synth
@pytest.mark.parametrize("region", [OLDEST, *map(long, OTHERS)])
def test_a_region_is_synthesized_and_the_gate_lets_it_pass(tmp_path: Path, region: str) -> None:
    folder, letters = copied(tmp_path), aws_offers.ZONES[region][:2]
    change(folder, "dev", "", f'region = "{region}"')
    change(folder, "dev", "", f"availability_zones = {[f'{region}{letter}' for letter in letters]}")
    environment = load("dev", folder)
    synthesis = shared_synthesis(environment, tmp_path, nag=False)
    found = review(synthesis.templates, environment, synthesis.accepted, synthesis.protected)
    assert {each.rule for each in found} == {"checksums-present"}
    for stack in synthesis.templates:
        text = (synthesis.folder / f"{stack}.template.json").read_text()
        assert COMMITTED not in text, stack
        assert region in text or "network" not in stack


def test_each_regions_databases_can_be_verified() -> None:
    assert set(aws_offers.ZONES) <= set(rds_ca.roots())
