"""The step's own command on a YARN of two nodes: losses, ends, and the same rows at the end.

YARN and S3 are on loopback: of the stacks' command only the paths are replaced.
"""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

import psutil
import pytest

from contract.lake import LANDING_PREFIX, STOP_FILE
from local.look.lake import Lake as TableReader
from local.look.lake import local_s3_options
from local.services.aws import S3, Aws
from local.setup.jars import JarsError, jar_folder
from local.setup.java import spark_home
from local.setup.ports import choose
from settings.environment import Environment
from settings.load import PIPELINES, load
from spark_jobs.runtime.archive import ROOT, build_archive
from stacks.job_steps import Jobs
from stacks.processing.jobs import JobAssets, included
from tests.spark_jobs.events import TOPIC, Event, as_lines, aws_environment, event
from tests.spark_jobs.programs import Submitted
from tests.stacks.settings import change, copied
from tests.waiting import PATIENCE_S
from tests.yarn.cluster import NODES, Cluster

pytestmark = pytest.mark.yarn

MASTER = "org.apache.spark.deploy.yarn.ExecutorLauncher"
EXECUTOR = "org.apache.spark.executor.YarnCoarseGrainedExecutorBackend"
TABLE = "cdc_events"
ASSETS = "assets"
# EMR's own, and ours.
_JARS = {
    "/usr/lib/hudi/hudi-spark-bundle.jar": "hudi-spark3.5-bundle_*.jar",
    "/usr/lib/hudi/hudi-aws-bundle.jar": "hudi-aws-*.jar",
}
SKIPPED = {"-Djol.skipDynamicAttach=true", "-Djol.skipHotspotSAAttach=true"}


class Assets:
    """Stands in for JobAssets: `cdk deploy` would upload these files into a bucket."""

    def __init__(self, s3: S3, folder: Path) -> None:
        self._client = s3.client()
        s3.create_buckets([ASSETS])
        packed = folder / "spark_jobs.zip"
        build_archive(packed)
        self.archive = self._put("spark_jobs.zip", packed.read_bytes())

    def application(self, name: str) -> str:
        return self._put(name, (ROOT / "spark_jobs" / name).read_bytes())

    def schema(self, name: str) -> str:
        return self._put(name, (PIPELINES / name).read_bytes())

    def properties(self, name: str) -> str:
        return self.text(name, included(ROOT / "spark_jobs" / "conf" / name))

    def text(self, name: str, text: str) -> str:
        return self._put(name, text.encode())

    def _put(self, name: str, body: bytes) -> str:
        self._client.put_object(Bucket=ASSETS, Key=name, Body=body)
        return f"s3://{ASSETS}/{name}"


def command(environment: Environment, assets: Assets, stop: str) -> list[str]:
    [step, *_] = Jobs(environment, cast(JobAssets, assets)).steps()
    spark_submit, *arguments = step.arguments
    jars = {name: f"local:{next(jar_folder('spark').glob(pattern))}" for name, pattern in _JARS.items()}
    for name, path in {STOP_FILE: stop, **jars}.items():
        arguments = [argument.replace(name, path) for argument in arguments]
    return [str(spark_home() / "bin" / spark_submit), *arguments]


class Step(Submitted):
    """A running step, and the processes that YARN has started for it."""

    def __init__(self, cluster: Cluster, argv: Sequence[str], s3: S3, glue_endpoint: str) -> None:
        self._cluster = cluster
        environment = {
            # spark.pyspark.python names a program on the PATH, as on EMR.
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(cluster.folder),
            "NO_PROXY": "127.0.0.1,localhost",
            "AWS_ENDPOINT_URL_S3": s3.endpoint,
            "AWS_ENDPOINT_URL_CLOUDWATCH": glue_endpoint,
            **cluster.environment(cluster.configuration("client")),
            **aws_environment(glue_endpoint),
        }
        super().__init__(cluster.folder, argv, environment)

    def containers(self, main: str) -> dict[int, tuple[str, psutil.Process]]:
        """Return by pid the JVMs of a main class in YARN's containers, and their nodes."""
        found = {}
        for node, processes in self._cluster.processes.find().items():
            for process in processes:
                line = process.cmdline()
                if line and line[0].endswith("java") and main in line:
                    found[process.pid] = (node, process)
        return found


class Lake:
    """The landed events, the table's expected rows, and the steps that write it."""

    def __init__(self, cluster: Cluster, s3: S3, aws: Aws) -> None:
        self.cluster = cluster
        self.s3 = s3
        self.aws = aws
        self.expected: dict[int, int] = {}
        self.steps: list[Step] = []
        self._landed = 0
        self._environment = load("dev")
        s3.create_buckets([self._bucket(role) for role in ("landing", "lake", "artefacts")])
        self._assets = Assets(s3, cluster.folder)

    def land(self, *events: Event) -> None:
        """Land events whose position in the log is their place among all."""
        placed = [one | {"__lsn": self._landed + number} for number, one in enumerate(events, 1)]
        self._landed += len(placed)
        key = f"{LANDING_PREFIX}/{TOPIC}/0/{self._landed - 1:012d}_1_2.json"
        self.s3.client().put_object(Bucket=self._bucket("landing"), Key=key, Body=as_lines(placed).encode())
        for one in placed:
            if one["__op"] == "d":
                self.expected.pop(one["order_id"], None)
            else:
                self.expected[one["order_id"]] = one["__lsn"]

    def start(self, environment: Environment | None = None, *more: tuple[str, str]) -> Step:
        """Start the environment's step, with `more` values for its options, and a stop file of its own."""
        stop = f"s3://{self._bucket('artefacts')}/stop/{len(self.steps)}"
        argv = command(environment or self._environment, self._assets, stop)
        for option, value in more:
            argv[argv.index(option) + 1] = value
        step = Step(self.cluster, argv, self.s3, self.aws.endpoint)
        self.steps.append(step)
        return step

    def stop(self) -> None:
        """Write the stop file of the step that was started last."""
        key = f"stop/{len(self.steps) - 1}"
        self.s3.client().put_object(Bucket=self._bucket("artefacts"), Key=key, Body=b"")

    def arrive(self, step: Step, what: str) -> None:
        """Wait until the steps have reported a commit of everything landed; then the table holds the expected rows."""
        step.wait_for(lambda: self._committed() == self._landed, what)
        assert self.rows() == self.expected

    def _committed(self) -> int:
        return sum(int(commit["events"]) for step in self.steps for commit in step.commits())

    def rows(self) -> dict[int, int]:
        uri = f"s3://{self._bucket('lake')}/{TABLE}"
        table = TableReader(base_uri=uri, storage_options=local_s3_options(self.s3.endpoint))
        found = table.rows(["order_id", "__lsn"])
        pairs = list(zip(found["order_id"].to_pylist(), found["__lsn"].to_pylist(), strict=True))
        assert len(dict(pairs)) == len(pairs), "a key is in the table twice"
        return dict(pairs)

    def _bucket(self, role: str) -> str:
        return self._environment.bucket_name(role)


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, S3, Aws]]:
    try:
        jar_folder("yarn")
    except JarsError as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("yarn")
    ports = choose(["s3", "moto"], earlier={})
    s3, aws = S3(folder / "s3", port=ports["s3"]), Aws(folder / "moto", port=ports["moto"])
    cluster = Cluster(folder, s3=s3.endpoint)
    try:
        for service in (s3, aws):
            cluster.processes.run(service)
        cluster.start()
        yield cluster, s3, aws
    finally:
        cluster.stop()


@pytest.fixture(scope="module")
def lake(services: tuple[Cluster, S3, Aws]) -> Lake:
    return Lake(*services)


@pytest.fixture(autouse=True)
def ended(lake: Lake) -> Iterator[None]:
    yield
    for step in lake.steps:
        step.end()


def test_executors_and_nodes_are_lost_and_nothing_else(lake: Lake) -> None:
    lake.land(*(event(number, 0, "c") for number in range(2000)))
    step = lake.start()
    lake.arrive(step, "first load")
    started = len(step.output.read_text())
    executors = step.containers(EXECUTOR)
    assert len(executors) == 2
    for _, executor in executors.values():
        assert set(executor.cmdline()) >= SKIPPED

    lake.land(event(1, 0), event(2, 0, "d"))
    lake.arrive(step, "changes")
    logs = [step.output.read_text()[started:], *(path.read_text() for path in lake.cluster.logs_of_containers())]
    assert [log for log in logs if " INFO " in log] == []
    assert list(lake.cluster.events.iterdir()) == []

    lost, (_, executor) = executors.popitem()
    executor.kill()
    lake.land(event(3, 0), event(4, 0, "d"))
    lake.arrive(step, "changes after an executor was lost")
    step.wait_for(lambda: len(step.containers(EXECUTOR).keys() - {lost}) == 2, "another executor")

    [(home, _)] = step.containers(MASTER).values()
    [other] = set(NODES) - {home}
    lake.cluster.processes.stop(other, grace_s=0)
    lake.land(event(5, 0), event(6, 0, "d"))
    lake.arrive(step, "changes after a node was lost")
    lake.cluster.start_nodes(other)

    lake.land(event(7, 0))
    lake.stop()
    assert step.process.wait(PATIENCE_S) == 0
    assert "stopped by s3://" in step.output.read_text()


@pytest.mark.parametrize("one_step", [True, False])
def test_an_application_that_yarn_ends_ends_the_step(lake: Lake, tmp_path: Path, *, one_step: bool) -> None:
    step = lake.start(environment(tmp_path, one_step=one_step))
    lake.land(event(8, 0, "c"))
    lake.arrive(step, "changes")
    lake.cluster.end_applications()
    assert step.process.wait(PATIENCE_S) == 1
    errors = [line for line in step.output.read_text().splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert "has ended" in errors[0]
    assert "attempt 1 failed" not in step.output.read_text()


def test_a_step_without_executors_hears_that_it_is_told_to_stop(lake: Lake, tmp_path: Path) -> None:
    """With one node the application's master leaves no room for an executor as large as nearly all of it."""
    lake.cluster.processes.stop(NODES[1], grace_s=0)
    lake.land(event(9, 0, "c"))
    step = lake.start(environment(tmp_path, one_step=False), ("--executor-memory", "10800m"))
    step.wait_for(lambda: "has not accepted any resources" in step.output.read_text(), "word of Spark")
    assert step.containers(EXECUTOR) == {}
    lake.stop()
    assert step.process.wait(PATIENCE_S) == 0
    lake.cluster.start_nodes(NODES[1])


def test_sigterm_ends_the_step_after_its_commit(lake: Lake) -> None:
    lake.land(event(10, 0, "c"), event(8, 0, "d"))
    step = lake.start()
    lake.arrive(step, "changes")
    assert step.terminate(signal.SIGTERM) == 0


def environment(folder: Path, *, one_step: bool) -> Environment:
    """dev, whose table has an application of its own without `one_step`."""
    environments = copied(folder)
    change(environments, "dev", "pipelines.job", f"one_step = {str(one_step).lower()}")
    return load("dev", environments)
