"""A real broker and a real S3 endpoint for the sink's integration tests, started once."""

from collections.abc import Iterator

import pytest

from local.platform.processes import Processes
from local.services.kafka.broker import Kafka
from local.services.s3 import S3
from local.setup.ports import choose
from tests.local.sink.harness import BUCKET, Services

START_S = 60
STOP_S = 10


@pytest.fixture(scope="session")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    folder = tmp_path_factory.mktemp("sink")
    for name in ("kafka", "s3"):
        (folder / name).mkdir()
    ports = choose(["kafka", "controller", "s3"], earlier={})
    kafka = Kafka(folder / "kafka", port=ports["kafka"], controller_port=ports["controller"])
    s3 = S3(folder / "s3", port=ports["s3"])
    processes = Processes(folder, folder / "logs")
    try:
        for service in (kafka, s3):
            processes.start(service.name, service.prepare())
        for service in (kafka, s3):
            processes.wait_until(service.name, service.ready, timeout_s=START_S)
        s3.create_buckets([BUCKET])
        yield Services(processes=processes, kafka=kafka, s3=s3, folder=folder)
    finally:
        for name in ("kafka", "s3"):
            processes.stop(name, grace_s=STOP_S)
