"""A real job survives an S3 outage, through spark-submit."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.services.aws import S3
from local.services.processes import Processes
from local.setup.ports import choose
from tests.spark_jobs.events import SCHEMA, TOPIC, as_lines, event
from tests.spark_jobs.programs import JobRun

START_S = 180


class Storage:
    """An S3 endpoint that can be stopped and started."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.s3 = S3(folder, port=choose(["s3"], earlier={})["s3"])
        self.processes = Processes(folder, folder / "logs")

    def start(self) -> None:
        self.processes.start("s3", self.s3.prepare())
        self.processes.wait_until("s3", self.s3.ready, timeout_s=START_S)

    def stop(self) -> None:
        self.processes.stop("s3", grace_s=10)


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[Storage]:
    storage = Storage(tmp_path / "s3")
    yield storage
    storage.stop()


@pytest.mark.integration
def test_a_job_waits_for_s3_at_its_start_and_at_work(job_run: JobRun, storage: Storage) -> None:
    storage.start()
    storage.s3.create_buckets(["landing", "lake"])
    client = storage.s3.client()
    client.put_object(Bucket="lake", Key="conf/schema.avsc", Body=SCHEMA.read_bytes())

    def land(offset: int) -> None:
        body = as_lines([event(offset, 100 + offset, "c")]).encode()
        client.put_object(Bucket="landing", Key=f"cdc/{TOPIC}/0/{offset:012d}_1_2.json", Body=body)

    land(0)
    storage.stop()
    table = job_run.table(
        landing="s3a://landing/cdc", table_path="s3a://lake/t", schema_file="s3a://lake/conf/schema.avsc"
    )
    # No attempt may be counted, and none may be late.
    soon = ("--max-retry-count", "0", "--retry-interval-seconds", "1")
    job = job_run.start(table, *soon, without=["--enable-sync"], s3_endpoint=storage.s3.endpoint)
    job.wait_for(lambda: "attempt 1 failed" in job.text(), "failed attempt at the start")
    time.sleep(3)
    storage.start()
    job.wait_for(job.commits, "commit")
    known = len(job.text())
    storage.stop()
    job.wait_for(lambda: "attempt 1 failed" in job.text()[known:], "failed attempt at work")
    time.sleep(3)
    storage.start()
    land(1)
    job.wait_for(lambda: len(job.commits()) == 2, "commit after the outage")
    assert job.terminate(signal.SIGTERM) == 0
    assert [commit["events"] for commit in job.commits()] == ["1", "1"]
    assert job.text().count("works again, after ") == 2
    assert "Traceback" not in job.text()
