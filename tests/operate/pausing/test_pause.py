"""A pause: its order, its refusals, resuming an interrupted one, and that it stops what it should.

AWS, CDK's command line and its templates are stand-ins (cloud.py).
"""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from contract.errors import CANNOT
from operate.errors import OperateError
from operate.pausing import objections
from operate.pausing.arrival import LIMIT_S
from operate.pausing.connectors import NODES_LIMIT_S
from operate.pausing.database import LIMIT_S as DATABASE_LIMIT_S
from operate.pausing.pause import pause
from plugins.workers.kubernetes_api import UnreachableError
from settings.load import load
from stacks.paused import Paused
from tests.operate.pausing.cloud import EPOCH, Cloud, error

pytestmark = pytest.mark.synth
SOURCE, SINK = "dev-cdc-lake-orders-source", "dev-cdc-lake-orders-sink"


@pytest.fixture(params=["cloud", "on_eks"])
def either(request: pytest.FixtureRequest) -> Cloud:
    found: Cloud = request.getfixturevalue(request.param)
    return found


def test_alarms_go_first_then_the_parts_in_the_events_order_and_aurora_last(either: Cloud) -> None:
    either.pause()
    assert either.log == either.whole
    assert (either.connectors, either.nodes, either.clusters, either.database) == ({}, [], {}, "stopped")


def test_the_user_is_told_what_goes_on_and_when_aws_starts_aurora(cloud: Cloud) -> None:
    cloud.pause()
    text = "\n".join(cloud.said)
    assert "MSK's brokers (provisioned ones can't be stopped), NAT" in text
    assert f"AWS starts Aurora by itself at {EPOCH + timedelta(days=7):%Y-%m-%d %H:%M} UTC" in text
    assert "`./lake aws resume -e dev`" in text


def test_a_paused_environment_is_left_as_it_is(either: Cloud) -> None:
    either.pause()
    either.log.clear()
    either.pause()
    assert either.log == []
    # AWS starts it by itself, and the checkout may have moved on.
    either.database = "available"
    either.changed.add("processing")
    either.pause()
    assert either.log == ["stop dev-cdc-lake"]


def test_the_sinks_end_when_the_lake_has_all_that_was_read(cloud: Cloud) -> None:
    cloud.waiting = 20
    cloud.landed_at = EPOCH - timedelta(hours=1)
    cloud.pause()
    assert cloud.log == cloud.whole
    waited = [line for line in cloud.said if "the sink to land" in line]
    assert waited[0].strip() == "the sink to land what waits in msk.datalake.cdc_events (12 events)"
    assert any("what has landed to be in dev_datalake.cdc_events" in line for line in cloud.said)


@pytest.mark.parametrize(
    ("fault", "line"),
    [
        ({"waiting": 1e9}, "the sink to land what waits in msk.datalake.cdc_events ("),
        ({"job_runs": False}, "what has landed to be in dev_datalake.cdc_events; "),
    ],
)
def test_what_does_not_arrive_ends_it_with_the_sources_alone_stopped(
    cloud: Cloud, fault: dict[str, Any], line: str
) -> None:
    for name, value in fault.items():
        setattr(cloud, name, value)
    said = cloud.refused()
    assert f"after 30 minutes still waiting for {line}" in said
    assert "Kafka keeps it for 168 hours" in said
    assert "the landing bucket for 30 days" in said
    assert cloud.log == cloud.whole[:3]
    assert (cloud.now - EPOCH).total_seconds() >= LIMIT_S
    cloud.log.clear()
    cloud.pause(anyway=True)
    assert cloud.log == cloud.whole[3:]
    assert any("leaving behind: " in each for each in cloud.said)


@pytest.mark.parametrize("broken", range(1, 5))
def test_what_was_broken_off_is_finished_by_the_same_command(either: Cloud, broken: int) -> None:
    either.broken_off_after = broken
    with pytest.raises(KeyboardInterrupt):
        either.pause()
    assert either.log == either.whole[:broken]
    either.broken_off_after = None
    either.pause()
    assert either.log == either.whole


def test_a_deployment_that_fails_ends_it_with_the_two_ways_on(cloud: Cloud) -> None:
    cloud.cdk_status["processing"] = CANNOT
    said = cloud.refused()
    assert "the deployment of dev-cdc-lake-processing failed, for the reason above" in said
    assert "`./lake aws pause -e dev` goes on from here, `./lake aws resume -e dev` goes back" in said
    assert cloud.database == "available"
    cloud.cdk_status.clear()
    cloud.pause()
    assert cloud.database == "stopped"


@pytest.mark.parametrize(
    ("kept", "line"),
    [
        (
            SOURCE,
            f"the connector {SOURCE} is RUNNING: .*`aws kafkaconnect delete-connector --connector-arn arn:{SOURCE}`",
        ),
        (SINK, f"the connector {SINK} is RUNNING: .*`aws kafkaconnect delete-connector --connector-arn arn:{SINK}`"),
        ("j-1", "the EMR cluster j-1 is RUNNING: .*`aws emr terminate-clusters --cluster-ids j-1`"),
    ],
)
def test_what_cloudformation_let_go_of_is_named_each_time_until_it_is_gone(cloud: Cloud, kept: str, line: str) -> None:
    cloud.keeps.add(kept)
    for _ in range(2):
        assert re.match(line, cloud.refused())
        assert cloud.database == "available"
    cloud.connectors.pop(kept, None)
    cloud.clusters.pop(kept, None)
    cloud.pause()
    assert cloud.database == "stopped"


def test_a_deletion_that_outlasts_its_deployment_is_waited_for(cloud: Cloud) -> None:
    cloud.keeps |= {SOURCE, "j-1"}
    cloud.connectors[SOURCE], cloud.clusters["j-1"] = "DELETING", "TERMINATING"
    cloud.pause()
    assert cloud.log == cloud.whole


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            lambda each: each.status.update(lake="UPDATE_IN_PROGRESS"),
            "dev-cdc-lake-lake is UPDATE_IN_PROGRESS: wait until",
        ),
        (
            lambda each: each.status.update(lake="ROLLBACK_FAILED"),
            "dev-cdc-lake-lake is ROLLBACK_FAILED: repair it first",
        ),
        (
            lambda each: each.status.pop("connectors"),
            "dev isn't deployed: in ap-southeast-2 there is no stack dev-cdc-lake-c",
        ),
        (lambda each: each.connectors.update({SOURCE: "UPDATING"}), f"the connector {SOURCE} is UPDATING: wait until"),
        (
            lambda each: each.configurations[SOURCE].update({"offset.mismatch.strategy": "trust_slot"}),
            f"a re-snapshot with {SOURCE} is under way, or was broken off: let `./lake resnapshot -e dev` end",
        ),
        (
            lambda each: each.changed.add("processing"),
            "this checkout makes something else of dev's processing than what is",
        ),
    ],
)
def test_what_is_under_way_or_differs_is_left_alone(cloud: Cloud, change: Callable[[Cloud], Any], line: str) -> None:
    change(cloud)
    assert cloud.refused().startswith(line)
    assert cloud.log == []


def test_a_resnapshot_that_begins_meanwhile_ends_the_pause(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    deploy = cloud._deploy

    def deploy_and_begin(stack: str, paused: Paused) -> int:
        cloud.configurations[SOURCE]["offset.mismatch.strategy"] = "trust_slot"
        return deploy(stack, paused)

    monkeypatch.setattr(cloud, "_deploy", deploy_and_begin)
    assert cloud.refused().startswith("a re-snapshot with")
    assert SOURCE in cloud.connectors


@pytest.mark.parametrize(
    ("platform", "change", "line"),
    [
        ("cloud", {"alarms": ["a-1", "b"]}, "alarms ring, which a pause would silence: a-1, b (docs/aws/alarms.md)"),
        ("cloud", {}, "db.example goes on being written: now 12 MB"),
        ("on_eks", {"silent": {SOURCE}}, f"{SOURCE} had no figures in the last 5 minutes, so "),
    ],
    ids=["what rings", "an outside database", "a source that nobody has heard of"],
)
def test_what_speaks_against_it_ends_it_unless_it_is_meant(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, platform: str, change: dict[str, Any], line: str
) -> None:
    found: Cloud = request.getfixturevalue(platform)
    for name, value in change.items():
        setattr(found, name, value)
    outside = [] if change else [line]
    monkeypatch.setattr(objections, "outside", lambda _session, _environment: iter(outside))
    said = found.refused()
    assert said.startswith(line)
    assert said.endswith(". `./lake aws pause -e dev --anyway` pauses even so")
    assert found.log == []
    found.pause(anyway=True)
    assert found.log == found.whole
    assert any(each.startswith(f"although {line}") for each in found.said)


def test_production_wants_its_name_twice(cloud: Cloud) -> None:
    prod = load("prod").model_copy(update={"account": cloud.environment.account})
    line = r"prod is production, .* `./lake aws pause -e prod --confirm prod` if that is meant"
    with pytest.raises(OperateError, match=line):
        pause(prod, cloud.waiter)
    with pytest.raises(OperateError, match="--confirm dev names another environment than --env prod"):
        pause(prod, cloud.waiter, confirmed="dev", anyway=True)
    with pytest.raises(OperateError, match="--confirm prod names another environment than --env dev"):
        pause(cloud.environment, cloud.waiter, confirmed="prod")
    assert cloud.log == []


def test_a_dry_run_says_what_is_done_and_changes_nothing(cloud: Cloud) -> None:
    cloud.pause(dry=True)
    assert cloud.log == []
    assert [line.split()[0] for line in cloud.said] == ["to"] * 7
    cloud.pause()
    cloud.said.clear()
    cloud.pause(dry=True)
    assert [line.split()[0] for line in cloud.said] == ["done"] * 7


def test_another_accounts_credentials_change_nothing(cloud: Cloud) -> None:
    other = cloud.environment.model_copy(update={"account": "999999999999"})
    with pytest.raises(OperateError, match="your credentials are of account"):
        pause(other, cloud.waiter)
    assert cloud.log == []


def test_a_throttled_call_while_it_waits_is_made_again(cloud: Cloud) -> None:
    cloud.faults = {name: [error("Throttling", name)] * 3 for name in ("GetMetricData", "ListClusters")}
    cloud.pause()
    assert cloud.log == cloud.whole
    assert "  GetMetricData again: Throttling" in cloud.said


def test_what_aws_refuses_is_one_line(cloud: Cloud) -> None:
    cloud.faults["StopDBCluster"] = [error("AccessDenied", "StopDBCluster")]
    assert cloud.refused() == "AWS refuses StopDBCluster: AccessDenied: AccessDenied"
    cloud.pause()
    assert cloud.log == cloud.whole


def test_a_database_that_is_busy_is_waited_for(cloud: Cloud) -> None:
    cloud.database = "starting"
    cloud.faults["StopDBCluster"] = [error("InvalidDBClusterStateFault", "StopDBCluster")]
    cloud.pause()
    assert cloud.database == "stopped"
    assert "  the database dev-cdc-lake doesn't take it now" in cloud.said


@pytest.mark.parametrize(
    ("status", "line", "waits"),
    [
        ("upgrading", "upgrading, for 60 minutes now: it didn't stop", True),
        ("failed", "failed: repair it first", False),
        (
            "inaccessible-encryption-credentials-recoverable",
            "inaccessible-encryption-credentials-recoverable: r",
            False,
        ),
    ],
)
def test_a_database_that_never_stops_is_given_up_at_once_if_only_a_person_can_mend_it(
    cloud: Cloud, status: str, line: str, *, waits: bool
) -> None:
    cloud.database = status
    assert cloud.refused().startswith(f"the database dev-cdc-lake is {line}")
    assert ((cloud.now - EPOCH).total_seconds() >= DATABASE_LIMIT_S) is waits


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


def test_nodes_that_others_pods_keep_are_said_and_end_nothing(on_eks: Cloud) -> None:
    on_eks.keeps.add("i-2")
    on_eks.pause()
    assert on_eks.log == on_eks.whole
    assert any("still waiting for the end of the nodes i-2, which are paid for" in line for line in on_eks.said)
    assert (on_eks.now - EPOCH).total_seconds() >= NODES_LIMIT_S
