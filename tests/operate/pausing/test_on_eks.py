"""A pause of an environment with connectors on EKS: what is the same, and what removes its nodes."""

import pytest

from operate.pausing.connectors import NODES_LIMIT_S
from operate.pausing.pause import resume
from plugins.workers.kubernetes_api import UnreachableError
from tests.operate.pausing.cloud import EPOCH, Cloud

pytestmark = pytest.mark.synth
SOURCE, SINK = "dev-cdc-lake-orders-source", "dev-cdc-lake-orders-sink"


def test_the_control_plane_is_said_to_go_on_and_a_resume_brings_all_back(on_eks: Cloud) -> None:
    on_eks.pause()
    assert "EKS's control plane (it can't, either), NAT" in "\n".join(on_eks.said)
    on_eks.log.clear()
    assert resume(on_eks.environment, on_eks.waiter) == 0
    assert on_eks.log == ["start dev-cdc-lake", "deploy all"]
    assert set(on_eks.connectors) == {SOURCE, SINK}


@pytest.mark.parametrize("kept", [SOURCE, SINK])
def test_a_connector_that_cloudformation_let_go_of_is_named_until_its_workers_are_gone(
    on_eks: Cloud, kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_eks.keeps.add(kept)
    for _ in range(2):
        said = on_eks.refused()
        assert said.startswith(f"CloudFormation couldn't delete the connector {kept} (its events say why)")
        assert f"{kept}-0 run: `kubectl -n kafka-connect delete deployment {kept}`" in said
        assert on_eks.database == "available"

    def unreachable(*_: object) -> list[str]:
        raise UnreachableError("x.eks.amazonaws.com can't be reached: TimeoutError: timed out")

    with monkeypatch.context() as patch:
        patch.setattr("operate.pausing.connectors.workers", unreachable)
        assert "whether its workers run can't be asked: x.eks.amazonaws.com can't be reached" in on_eks.refused()
    del on_eks.connectors[kept]
    on_eks.pause()
    assert on_eks.database == "stopped"


def test_a_re_snapshot_is_let_end(on_eks: Cloud) -> None:
    on_eks.follows.add(SOURCE)
    assert on_eks.refused(anyway=True).startswith(f"a re-snapshot with {SOURCE} is under way, was broken off, or")
    assert on_eks.log == []


def test_a_source_that_nobody_has_heard_of_is_an_objection(on_eks: Cloud) -> None:
    on_eks.silent.add(SOURCE)
    assert on_eks.refused().startswith(f"{SOURCE} had no figures in the last 5 minutes")
    assert on_eks.log == []
    on_eks.pause(anyway=True)
    assert on_eks.log == on_eks.whole


def test_nodes_that_others_pods_keep_are_said_and_end_nothing(on_eks: Cloud) -> None:
    on_eks.keeps.add("i-2")
    on_eks.pause()
    assert on_eks.log == on_eks.whole
    assert any("still waiting for the end of the nodes i-2, which are paid for" in line for line in on_eks.said)
    assert (on_eks.now - EPOCH).total_seconds() >= NODES_LIMIT_S
