"""A pause ends the job by its stop file before the cluster goes; its end starts the same job on another cluster."""

from tests.stacks.handlers.clients import client
from tests.stacks.handlers.deployment import Resource
from tests.stacks.handlers.emr_step.cluster import BUCKET, Cluster


def test_the_job_ends_itself_and_the_next_cluster_runs_the_same(cluster: Cluster, resource: Resource) -> None:
    first = resource.create(cluster.wanted("--op", "UPSERT"))
    resource.delete()
    # Not cancelled, not killed: ended after its commit.
    assert (cluster.states(), cluster.cancelled) == (["COMPLETED"], [])
    cluster.end()
    after = Cluster(resource.clock)
    resource.tick = after.tick
    second = resource.create(after.wanted("--op", "UPSERT"))
    assert after.states() == ["RUNNING"]
    [step] = after.steps
    # The stop file of before is another step's.
    assert second["StepName"] == step.name != first["StepName"]
    assert step.args[:-1] == cluster.steps[0].args[:-1]


def test_pauses_may_follow_one_another(cluster: Cluster, resource: Resource) -> None:
    for _ in range(3):
        resource.create(cluster.wanted())
        resource.delete()
    assert cluster.states() == ["COMPLETED"] * 3
    # Nobody is entered as wanting the job any more.
    owners = client("s3").list_objects_v2(Bucket=BUCKET, Prefix="stop/owners/")
    assert owners.get("Contents", []) == []


def test_a_job_whose_cluster_somebody_has_terminated_pauses_and_comes_back(
    cluster: Cluster, resource: Resource
) -> None:
    resource.create(cluster.wanted())
    cluster.end("TERMINATED_WITH_ERRORS")
    resource.delete()
    after = Cluster(resource.clock)
    resource.tick = after.tick
    resource.create(after.wanted())
    assert after.states() == ["RUNNING"]
