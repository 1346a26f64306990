"""A connector on EKS: its workers, tasks and failures; and the objects that all connectors share."""

import json
from typing import Any

import pytest

from plugins.workers.kubernetes_api import KubernetesError, UnreachableError
from stacks.connectors.eks_cluster import shared_objects
from stacks.handlers import kubernetes_connector, kubernetes_objects
from stacks.handlers.framework import ResourceError, Waiting
from stacks.handlers.kubernetes_objects import SPREADS_SECONDS, refused
from tests.stacks.environments import group
from tests.stacks.handlers.cloudformation import Clock, Stack, World, failing
from tests.stacks.handlers.kubernetes.cluster import CONFIGURATION, NAME, FakeCluster, eks_request


@pytest.fixture
def cluster(eks: FakeCluster) -> FakeCluster:
    return eks


@pytest.fixture
def source(world: World, cluster: FakeCluster) -> Stack:  # noqa: ARG001  without it there is nothing to be asked
    return Stack(world, kubernetes_connector, wanted=eks_request())


def test_the_workers_come_first_then_the_connector_and_its_name_is_its_id(source: Stack, cluster: FakeCluster) -> None:
    assert source.create() == {"Name": NAME}
    assert source.physical_id == NAME
    assert cluster.connectors == {NAME: CONFIGURATION | {"name": NAME}}
    assert cluster.said == ["PUT /config"]
    source.delete()
    assert cluster.said == ["PUT /config", "DELETE"]
    assert (cluster.objects, cluster.connectors) == ({}, {})


def test_a_failing_task_fails_a_deployment_with_its_cause_leaving_nothing(source: Stack, cluster: FakeCluster) -> None:
    reason = failing(source.create, eks_request(fail="publication is gone, password=abc"))
    assert "1 of its tasks keep failing: wrong: publication is gone, password=[hidden]" in reason
    assert cluster.said == ["PUT /config", *["POST /restart?includeTasks=true&onlyFailed=true"] * 3, "DELETE"]
    assert (cluster.objects, cluster.connectors) == ({}, {})


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        ({"missing": "connect"}, "worker-1 can't start: ImagePullBackOff: no such image"),
        ({"ready": False}, "2 of 2 workers are of the newest kind, 0 ready"),
        ({"ready": False, "stuck": "exceeded its deadline"}, "its workers don't become ready: exceeded its deadline"),
    ],
)
def test_workers_that_never_become_ready_are_told_of_and_leave_nothing(
    source: Stack, cluster: FakeCluster, trouble: dict[str, Any], reason: str
) -> None:
    vars(cluster).update(trouble)
    assert reason in failing(source.create)
    assert cluster.objects == {}


def test_a_change_reaches_workers_and_configuration_and_an_old_file_goes(source: Stack, cluster: FakeCluster) -> None:
    source.create()
    changed = eks_request(**{"poll.interval.ms": "5"})
    for each in changed["objects"]:
        if each["kind"] == "ConfigMap":
            each["metadata"]["name"] = "other"
    source.update(changed)
    assert cluster.connectors[NAME]["poll.interval.ms"] == "5"
    assert [name for kind, _, name in cluster.objects if kind == "ConfigMap"] == ["other"]


def test_a_failed_change_is_rolled_back(source: Stack, cluster: FakeCluster) -> None:
    source.create()
    image = f"other@sha256:{'1' * 64}"
    assert "keep failing" in failing(source.update, eks_request(image=image, fail="yes"))
    assert cluster.connectors[NAME] == CONFIGURATION | {"name": NAME}
    assert cluster.deployment()["spec"]["template"]["spec"]["containers"][0]["image"] == group().image


def test_a_change_to_a_missing_image_is_rolled_back_past_its_dying_workers(source: Stack, cluster: FakeCluster) -> None:
    source.create()
    cluster.missing = "wrong"
    assert "no such image: wrong" in failing(source.update, eks_request(image=f"wrong@sha256:{'1' * 64}"))
    assert [image for image, _ in cluster.workers] == [group().image]


def test_a_connector_that_somebody_stopped_stays_so(source: Stack, cluster: FakeCluster) -> None:
    source.create()
    cluster.state = "STOPPED"
    source.update(eks_request(**{"poll.interval.ms": "5"}))
    assert cluster.said == ["PUT /config", "PUT /config"]


def test_offsets_are_not_given_up_by_a_change_of_the_workers(source: Stack, cluster: FakeCluster) -> None:
    source.create()
    said = failing(source.update, eks_request(offsets="elsewhere"))
    assert f"would lose the offsets of {NAME}, which are in __cdc_lake_offsets_{NAME}-1" in said
    assert "elsewhere" not in json.dumps(cluster.deployment())
    # Another server's offsets are worthless.
    source.update(eks_request(offsets="elsewhere", **{"database.hostname": "restored.example"}))
    assert "elsewhere" in json.dumps(cluster.deployment())


def test_a_deletion_goes_on_when_no_worker_answers(source: Stack, cluster: FakeCluster) -> None:
    source.create()
    cluster.missing = "connect"
    source.delete()
    assert cluster.objects == {}
    assert cluster.said == ["PUT /config"]


def test_workers_being_deleted_are_waited_for_and_vanished_ones_made_again(source: Stack, cluster: FakeCluster) -> None:
    source.create()
    cluster.deployment()["metadata"]["deletionTimestamp"] = "2026-11-22T12:00:00Z"
    waiting = source.begin_update(source.wanted)
    assert waiting.poll() is None
    [gone] = [name for name in cluster.objects if name[0] == "Deployment"]
    del cluster.objects[gone]
    assert source.finish(waiting) == {"Name": NAME}
    assert "Deployment" in cluster.kinds


def test_another_name_is_refused(source: Stack) -> None:
    source.create()
    assert "connectorName can't change" in failing(source.update, source.but(connectorName="x"))


def request(objects: list[dict[str, Any]]) -> dict[str, Any]:
    return {"cluster": {"name": "dev", "endpoint": "https://x", "authority": ""}, "objects": objects}


def test_they_are_made_changed_and_taken_away(eks: FakeCluster, world: World) -> None:
    shared = Stack(world, kubernetes_objects, "Shared")
    shared.create(request(shared_objects()))
    assert len(eks.objects) == len(shared_objects())
    fewer = [each for each in shared_objects() if each["kind"] != "RoleBinding"]
    shared.update(request(fewer))
    assert "RoleBinding" not in eks.kinds
    shared.delete()
    assert eks.objects == {}


def test_an_access_entry_that_spreads_is_waited_for_and_then_no_more_and_a_malformed_object_never(clock: Clock) -> None:
    event, away = {"Started": clock.seconds}, UnreachableError("away")
    forbidden = KubernetesError("PATCH /api", 403, "forbidden")
    assert isinstance(refused(event, forbidden), Waiting)
    assert isinstance(refused(event, away), Waiting)
    with pytest.raises(ResourceError, match="field not declared"):
        refused(event, KubernetesError("PATCH", 500, "field not declared in schema"))
    clock.seconds += SPREADS_SECONDS + 1
    assert isinstance(refused(event, away), Waiting)
    with pytest.raises(ResourceError, match="forbidden"):
        refused(event, forbidden)


@pytest.mark.parametrize("late_s", [0, 130])
def test_a_rollback_waits_for_what_an_update_takes_away(
    eks: FakeCluster, world: World, monkeypatch: pytest.MonkeyPatch, late_s: int
) -> None:
    shared = Stack(world, kubernetes_objects, "Shared")
    shared.create(request(shared_objects()))
    rollbacks = shared.roll_back_in(monkeypatch, kubernetes_objects, "delete_all", late_s)
    shared.begin_update(request([each for each in shared_objects() if each["kind"] != "RoleBinding"])).poll()
    shared.finish(rollbacks[0])
    assert eks.kinds.count("RoleBinding") == 2


def test_a_connectors_rollback_keeps_what_an_update_takes_away(
    eks: FakeCluster, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    connector, wanted = Stack(world, kubernetes_connector, "Connector"), eks_request()
    connector.create(wanted)
    [files] = [each["metadata"]["name"] for each in wanted["objects"] if each["kind"] == "ConfigMap"]
    rollbacks = connector.roll_back_in(monkeypatch, kubernetes_connector, "delete_all")
    connector.begin_update(json.loads(json.dumps(wanted).replace(files, f"{files}-new")))
    world.run(300)
    connector.finish(rollbacks[0])
    assert [name for kind, _, name in eks.objects if kind == "ConfigMap"] == [files]
