"""The session's broker and a real S3 endpoint for the sink's integration tests, started once."""

from collections.abc import Iterator

import pytest

from local.services.aws import S3
from local.services.processes import Processes
from local.setup.ports import choose
from tests.broker import RunningBroker
from tests.local.sink.harness import BUCKET, Services

START_S = 180
STOP_S = 10


@pytest.fixture(scope="session")
def services(tmp_path_factory: pytest.TempPathFactory, shared_broker: RunningBroker) -> Iterator[Services]:
    folder = tmp_path_factory.mktemp("sink")
    (folder / "s3").mkdir()
    [port] = choose(["s3"], earlier={}).values()
    s3 = S3(folder / "s3", port=port)
    processes = Processes(folder, folder / "logs")
    try:
        processes.run(s3, timeout_s=START_S)
        s3.create_buckets([BUCKET])
        yield Services(processes=processes, broker=shared_broker, s3=s3, folder=folder)
    finally:
        processes.stop(s3.name, grace_s=STOP_S)
