"""What a pause leaves out of real templates, on MSK Connect and EKS; tests/stacks/test_paused.py has more of dev's."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from operate.costs.bill import items, total, unknown
from operate.costs.lines import AURORA, CONNECTORS, NODES, WHAT_STOPS, Stopping
from operate.costs.prices import load_prices
from operate.costs.report import at_hours, hints, report
from operate.diff import snapshots
from settings.environment import Environment
from settings.load import load
from stacks.gate.facts import Facts
from stacks.gate.template import App
from stacks.paused import Paused
from tests.synthesis import shared_synthesis

pytestmark = pytest.mark.synth

Syntheses = Mapping[Paused, Mapping[str, Any]]
# Not billed themselves: a job's step on EMR, and an add-on's pods on nodes.
UNPAID = {"Custom::EmrStep", "AWS::EKS::PodIdentityAssociation", "AWS::EKS::Addon"}


@pytest.fixture(scope="module")
def on_eks(dev_on_eks: Environment, tmp_path_factory: pytest.TempPathFactory) -> Syntheses:
    folder = tmp_path_factory.mktemp("paused")
    return {paused: shared_synthesis(dev_on_eks, folder, paused=paused).templates for paused in Paused}


def left_out(*sides: Mapping[str, Any]) -> set[str]:
    before, after = (
        {each["Type"] for template in side.values() for each in template["Resources"].values()} for side in sides
    )
    return before - after - UNPAID


def billed(*, without: Stopping) -> set[str]:
    """What the costs count as stopped; Aurora's stop needs no deployment."""
    return {each.type for each in WHAT_STOPS if each not in (AURORA, without)}


def test_what_is_left_out_is_what_the_costs_count_as_stopped(on_eks: Syntheses, tmp_path: Path) -> None:
    assert left_out(on_eks[Paused.NOTHING], on_eks[Paused.ALL]) == billed(without=CONNECTORS)
    dev = load("dev")
    paused = shared_synthesis(dev, tmp_path, paused=Paused.ALL).templates
    assert left_out(snapshots.read(dev), paused) == billed(without=NODES)


def test_on_eks_hours_off_save_the_nodes_and_leave_the_control_plane(
    dev_on_eks: Environment, on_eks: Syntheses
) -> None:
    app, prices = App(facts=Facts(settings=dev_on_eks), templates=on_eks[Paused.NOTHING]), load_prices()
    lines = items(app, prices)
    of_nodes = total([line for line in lines if line.part == "kubernetes" and line.what != "EKS cluster"])
    assert unknown(lines) == []
    assert dict(hints(lines))[NODES] == pytest.approx(of_nodes)
    # One for the add-ons; four workers of one unit, of which a node has room for one and a half.
    assert of_nodes == pytest.approx(4 * (730 * 0.12 * 1.12 + 100 * 0.096))
    assert at_hours(lines, 0) == pytest.approx(total(lines) - sum(saved for _, saved in hints(lines)))
    assert "Neither MSK nor EKS's control plane can be stopped" in report(app, prices)


def test_nothing_else_of_the_stacks_on_eks_changes_but_the_watch_of_what_runs(on_eks: Syntheses) -> None:
    def changed(paused: Paused, stack: str) -> set[str]:
        name = f"dev-cdc-lake-{stack}"
        before, after = (on_eks[which][name]["Resources"] for which in (Paused.NOTHING, paused))
        assert after.keys() <= before.keys()
        return {before[id_]["Type"] for id_ in after if before[id_].get("Properties") != after[id_].get("Properties")}

    assert changed(Paused.SOURCES, "kubernetes") == changed(Paused.ALL, "kubernetes") == set()
    assert changed(Paused.SOURCES, "connectors") == {"AWS::Lambda::Function"}
    assert changed(Paused.ALL, "connectors") == {"AWS::Lambda::Function", "AWS::Events::Rule", "Custom::Topics"}


def test_plain_cdk_can_deploy_all_of_it_as_no_stack_exports_less(on_eks: Syntheses) -> None:
    def exports(paused: Paused) -> set[str]:
        outputs = [output for template in on_eks[paused].values() for output in template.get("Outputs", {}).items()]
        return {name for name, output in outputs if "Export" in output}

    assert exports(Paused.ALL) == exports(Paused.NOTHING)
