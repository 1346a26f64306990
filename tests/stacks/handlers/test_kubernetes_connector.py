"""A connector on EKS through its life: deployed, changed, rolled back, renamed, deleted; what it says of failures."""

import functools
import json
from collections.abc import Callable
from typing import Any

import pytest

from contract.tags import OWNER
from stacks.connectors.manifests import objects
from stacks.handlers import kubernetes_connector
from stacks.handlers.kubernetes_connector import SERVER
from tests.stacks.connectors.groups import group
from tests.stacks.handlers.deployment import Clock, DeploymentError, Resource, failing
from tests.stacks.handlers.journal_store import MemoryStore
from tests.stacks.handlers.kubernetes_cluster import FakeCluster, FakeKubernetes

NAME = "dev-cdc-lake-orders-source"
CONFIGURATION = {"connector.class": "io.debezium", "database.hostname": "db.example"}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    world = FakeCluster()
    monkeypatch.setattr(kubernetes_connector, "Kubernetes", functools.partial(FakeKubernetes, world))
    return world


@pytest.fixture
def made(cluster: FakeCluster, clock: Clock, records: MemoryStore) -> Callable[..., Resource]:  # noqa: ARG001
    def make(logical_id: str = "Source") -> Resource:
        return Resource(handler=kubernetes_connector, clock=clock, tick=cluster.tick, logical_id=logical_id)

    return make


@pytest.fixture
def source(made: Callable[..., Resource]) -> Resource:
    return made()


def request(*, image: str | None = None, offsets: str | None = None, **configuration: str) -> dict[str, Any]:
    text = json.dumps(objects(group(NAME)))
    if image:
        text = text.replace(group(NAME).image, image)
    if offsets:
        text = text.replace(f"__cdc_lake_offsets_{NAME}-1", offsets)
    return {
        "cluster": {"name": "dev", "endpoint": "https://example", "authority": ""},
        "connectorName": NAME,
        "objects": json.loads(text),
        "connectorConfiguration": CONFIGURATION | configuration,
    }


def test_the_workers_come_first_then_the_connector_and_its_name_is_its_id(
    source: Resource, cluster: FakeCluster
) -> None:
    assert source.create(request()) == {"Name": NAME}
    assert source.physical_id == NAME
    assert cluster.connectors == {NAME: CONFIGURATION | {"name": NAME}}
    assert cluster.said == ["PUT /config"]
    owner = cluster.deployment()["metadata"]["annotations"][OWNER]
    assert owner == "dev-cdc-lake-connectors/Source"


def test_a_task_that_keeps_failing_fails_the_deployment_with_its_cause_and_leaves_nothing(
    source: Resource, cluster: FakeCluster
) -> None:
    reason = failing(source, request(fail="publication is gone, password=abc"))
    assert "1 of its tasks keep failing: wrong: publication is gone, password=[hidden]" in reason
    assert cluster.said == ["PUT /config", *["POST /restart?includeTasks=true&onlyFailed=true"] * 3, "DELETE"]
    assert (cluster.objects, cluster.connectors) == ({}, {})


def test_an_image_that_cannot_be_pulled_says_so(source: Resource, cluster: FakeCluster) -> None:
    cluster.missing = "connect"
    assert "worker-1 can't start: ImagePullBackOff: no such image" in failing(source, request())
    assert cluster.objects == {}


def test_workers_that_never_become_ready_are_told_of_by_the_deadline(source: Resource, cluster: FakeCluster) -> None:
    cluster.ready = False
    assert "2 of 2 workers are of the newest kind, 0 ready" in failing(source, request())


def test_a_change_reaches_workers_and_configuration_and_an_old_file_goes(
    source: Resource, cluster: FakeCluster
) -> None:
    source.create(request())
    changed = request(**{"poll.interval.ms": "5"})
    for each in changed["objects"]:
        if each["kind"] == "ConfigMap":
            each["metadata"]["name"] = "other"
    source.update(changed)
    assert cluster.connectors[NAME]["poll.interval.ms"] == "5"
    assert [name for kind, _, name in cluster.objects if kind == "ConfigMap"] == ["other"]


def test_a_failed_change_is_rolled_back(source: Resource, cluster: FakeCluster) -> None:
    source.create(request())
    image = f"other@sha256:{'1' * 64}"
    assert "keep failing" in failing(source, request(image=image, fail="yes"), update=True)
    assert cluster.connectors[NAME] == CONFIGURATION | {"name": NAME}
    assert cluster.deployment()["spec"]["template"]["spec"]["containers"][0]["image"] == group().image


def test_a_change_to_an_image_that_is_not_there_is_rolled_back_past_its_dying_workers(
    source: Resource, cluster: FakeCluster
) -> None:
    source.create(request())
    cluster.missing = "wrong"
    assert "no such image: wrong" in failing(source, request(image=f"wrong@sha256:{'1' * 64}"), update=True)
    assert [image for image, _ in cluster.workers] == [group().image]


def test_a_connector_that_somebody_stopped_stays_so(source: Resource, cluster: FakeCluster) -> None:
    source.create(request())
    cluster.state = "STOPPED"
    source.update(request(**{"poll.interval.ms": "5"}))
    assert cluster.said == ["PUT /config", "PUT /config"]


def test_offsets_are_not_given_up_by_a_change_of_the_workers(source: Resource, cluster: FakeCluster) -> None:
    source.create(request())
    said = failing(source, request(offsets="elsewhere"), update=True)
    assert f"would lose the offsets of {NAME}, which are in __cdc_lake_offsets_{NAME}-1" in said
    assert "elsewhere" not in json.dumps(cluster.deployment())
    # Another server's offsets are worth nothing.
    source.update(request(offsets="elsewhere", **{"database.hostname": "restored.example"}))
    assert "elsewhere" in json.dumps(cluster.deployment())


def test_a_deletion_takes_the_connector_before_its_workers_and_waits_for_them(
    source: Resource, cluster: FakeCluster
) -> None:
    source.create(request())
    source.delete()
    assert cluster.said[-1] == "DELETE"
    assert (cluster.objects, cluster.connectors) == ({}, {})
    source.delete()


def test_a_deletion_goes_on_when_no_worker_answers(source: Resource, cluster: FakeCluster) -> None:
    source.create(request())
    cluster.missing = "connect"
    source.delete()
    assert cluster.objects == {}
    assert cluster.said == ["PUT /config"]


def test_what_is_anothers_is_refused_and_left_alone(source: Resource, cluster: FakeCluster) -> None:
    source.create(request())
    for each in cluster.objects.values():
        each["metadata"]["annotations"][OWNER] = "another-stack/Source"
    before = json.dumps(sorted(cluster.kinds))
    assert "isn't this resource's" in failing(source, request(more="1"), update=True)
    source.delete()
    assert json.dumps(sorted(cluster.kinds)) == before


def test_a_renamed_construct_takes_over_and_a_rollback_gives_back(
    source: Resource, made: Callable[..., Resource], cluster: FakeCluster
) -> None:
    source.create(request())
    renamed = made("Renamed")
    renamed.create(request())
    # The rollback of a deployment in which something else failed.
    renamed.delete()
    assert cluster.deployment()["metadata"]["annotations"] == annotations("Source")
    renamed.create(request())
    source.delete()
    assert cluster.deployment()["metadata"]["annotations"] == annotations("Renamed")
    renamed.delete()
    assert cluster.objects == {}


def annotations(construct: str) -> dict[str, str]:
    return {OWNER: f"dev-cdc-lake-connectors/{construct}", SERVER: CONFIGURATION["database.hostname"]}


def test_workers_that_are_being_deleted_are_waited_for_and_those_that_vanish_made_again(
    source: Resource, cluster: FakeCluster
) -> None:
    source.create(request())
    cluster.deployment()["metadata"]["deletionTimestamp"] = "2026-11-22T12:00:00Z"
    source.properties = {"Request": json.dumps(request())}
    waiting = source.begin(source.event("Update"))
    assert source.poll(waiting) is None
    [gone] = [name for name in cluster.objects if name[0] == "Deployment"]
    del cluster.objects[gone]
    assert source.finish(waiting) == {"Name": NAME}
    assert "Deployment" in cluster.kinds


def test_another_name_is_refused(source: Resource) -> None:
    source.create(request())
    with pytest.raises(DeploymentError, match="connectorName can't change"):
        source.begin(source.event("Update") | {"ResourceProperties": {"Request": json.dumps(_named("x"))}})


def _named(name: str) -> dict[str, Any]:
    return request() | {"connectorName": name}


def test_a_cancelled_request_does_nothing_more(source: Resource, cluster: FakeCluster) -> None:
    source.create(request())
    cancelled = source.begin(source.event("Update") | {"ResourceProperties": {"Request": json.dumps(request(a="1"))}})
    source.clock.seconds += 1
    source.update(request())
    with pytest.raises(DeploymentError, match="later request has taken over"):
        source.poll(cancelled)
    assert "a" not in cluster.connectors[NAME]


def test_an_api_that_is_away_is_waited_for(source: Resource, cluster: FakeCluster) -> None:
    source.properties = {"Request": json.dumps(request())}
    waiting = source.begin(source.event("Create"))
    cluster.reachable = False
    assert source.poll(waiting) is None
    cluster.reachable = True
    assert source.finish(waiting) == {"Name": NAME}
