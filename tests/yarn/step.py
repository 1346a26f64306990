"""The step with the stacks' command, on a YARN and an S3 of loopback: only the command's paths are replaced."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import psutil

from contract import lake
from local.services.aws import S3
from local.setup.jars import jar_folder
from local.setup.java import spark_home
from settings.environment import Environment
from settings.load import PIPELINES
from spark_jobs.runtime.archive import ROOT, build_archive
from stacks.job_steps import Jobs
from stacks.processing.jobs import JobAssets, included
from tests.spark_jobs.events import aws_environment
from tests.spark_jobs.programs import Submitted
from tests.yarn.cluster import Cluster

BUCKET = "assets"
# EMR's own, and ours.
_JARS = {
    "/usr/lib/hudi/hudi-spark-bundle.jar": "hudi-spark3.5-bundle_*.jar",
    "/usr/lib/hudi/hudi-aws-bundle.jar": "hudi-aws-*.jar",
}


class Assets:
    """Stands in for JobAssets: `cdk deploy` would upload these files into a bucket."""

    def __init__(self, s3: S3, folder: Path) -> None:
        self._client = s3.client()
        s3.create_buckets([BUCKET])
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
        self._client.put_object(Bucket=BUCKET, Key=name, Body=body)
        return f"s3://{BUCKET}/{name}"


def command(environment: Environment, assets: Assets, stop: str) -> list[str]:
    [step, *_] = Jobs(environment, cast(JobAssets, assets)).steps()
    spark_submit, *arguments = step.arguments
    jars = {name: f"local:{next(jar_folder('spark').glob(pattern))}" for name, pattern in _JARS.items()}
    for name, path in {lake.STOP_FILE: stop, **jars}.items():
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
