"""A resume: the database first, then an ordinary deployment; and other commands' messages in a paused environment."""

from datetime import timedelta
from typing import Any

import pytest

from contract.errors import CANNOT
from operate import deploy
from operate.errors import OperateError
from operate.outputs import output
from operate.pausing.pause import resume
from tests.operate.pausing.cloud import Cloud

pytestmark = pytest.mark.synth


@pytest.fixture
def paused(cloud: Cloud) -> Cloud:
    cloud.pause()
    cloud.log.clear()
    cloud.said.clear()
    return cloud


def run(cloud: Cloud) -> int:
    return resume(cloud.environment, cloud.waiter)


def refused(cloud: Cloud) -> str:
    with pytest.raises(OperateError) as caught:
        run(cloud)
    return str(caught.value)


def test_aurora_is_there_before_the_connectors(paused: Cloud) -> None:
    assert run(paused) == 0
    assert paused.log == ["start dev-cdc-lake", "deploy all"]
    assert "dev runs. Alarms that rang in the pause go back to OK within a quarter of an hour" in paused.said


def test_the_control_plane_is_said_to_go_on_and_a_resume_brings_all_back(on_eks: Cloud) -> None:
    on_eks.pause()
    assert "EKS's control plane (it can't, either), NAT" in "\n".join(on_eks.said)
    on_eks.log.clear()
    assert run(on_eks) == 0
    assert on_eks.log == ["start dev-cdc-lake", "deploy all"]
    assert set(on_eks.connectors) == {"dev-cdc-lake-orders-source", "dev-cdc-lake-orders-sink"}


def test_what_runs_is_left_as_it_is(cloud: Cloud) -> None:
    assert run(cloud) == 0
    assert cloud.log == []
    assert cloud.said == ["dev isn't paused: nothing to resume"]


@pytest.mark.parametrize("stack", ["monitoring", "processing"])
def test_a_pause_that_was_broken_off_is_taken_back(cloud: Cloud, stack: str) -> None:
    """Also after its first step, when nothing but the guard knows of it."""
    cloud.cdk_status[stack] = 1
    cloud.refused()
    cloud.log.clear()
    assert run(cloud) == 0
    assert cloud.log == ["deploy all"]


def test_a_resume_that_failed_goes_on(paused: Cloud) -> None:
    paused.cdk_status["all"] = CANNOT
    assert run(paused) == CANNOT
    assert paused.said[-1] == "dev isn't whole yet, for the reason above: `./lake aws resume -e dev` goes on from here"
    paused.cdk_status.clear()
    assert run(paused) == 0
    assert paused.log == ["start dev-cdc-lake", "deploy all", "deploy all"]


@pytest.mark.parametrize("status", ["ROLLBACK_COMPLETE", "REVIEW_IN_PROGRESS"])
def test_a_new_stack_that_was_never_made_is_made_again(paused: Cloud, status: str) -> None:
    paused.status["analytics"] = status
    assert run(paused) == 0
    paused.status["processing"] = status
    assert f"dev-cdc-lake-processing is {status}" in refused(paused)


@pytest.mark.parametrize("status", ["stopping", "starting", "backing-up"])
def test_a_database_in_between_is_waited_for(paused: Cloud, status: str, monkeypatch: pytest.MonkeyPatch) -> None:
    paused.database = status
    if status == "backing-up":
        looks = iter(["backing-up", "backing-up"])
        monkeypatch.setattr(type(paused), "database", property(lambda _: next(looks, "available"), lambda *_: None))
    assert run(paused) == 0
    assert paused.log[-1] == "deploy all"


def test_it_waits_for_the_writer(paused: Cloud) -> None:
    paused.writer_ready_at = paused.now + timedelta(minutes=10)
    assert run(paused) == 0
    assert paused.now >= paused.writer_ready_at
    assert "  the database's writer writer is rebooting" in paused.said


def test_while_something_is_deployed_it_does_nothing(paused: Cloud) -> None:
    paused.status["connectors"] = "UPDATE_IN_PROGRESS"
    assert refused(paused).startswith("dev-cdc-lake-connectors is UPDATE_IN_PROGRESS: wait until that")
    assert paused.log == []


def test_a_cluster_that_cloudformation_let_go_of_is_named_before_a_second_job_starts(paused: Cloud) -> None:
    paused.clusters = {"j-1": "RUNNING"}
    assert refused(paused).startswith("the EMR cluster j-1 is RUNNING: CloudFormation couldn't terminate it")
    assert paused.log == []
    paused.clusters = {"j-1": "TERMINATING"}
    assert run(paused) == 0


def test_a_newer_checkout_is_said(paused: Cloud) -> None:
    paused.changed.add("connectors")
    assert run(paused) == 0
    assert paused.said[0] == (
        "this checkout makes something else of connectors than what was paused: that is deployed, too"
    )


@pytest.mark.parametrize("command", [deploy.deploy, deploy.destroy])
def test_what_is_paused_is_neither_deployed_nor_destroyed(paused: Cloud, command: Any) -> None:
    with pytest.raises(OperateError, match=r"dev is paused: first `\./lake aws resume -e dev`"):
        command(paused.environment)
    assert paused.log == []


def test_who_asks_for_what_is_left_out_is_told_why(paused: Cloud) -> None:
    with pytest.raises(OperateError, match=r"dev is paused: `\./lake aws resume -e dev` first"):
        output(paused.environment, "connectors", "SourceConnectorArn")
