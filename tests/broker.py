"""A single Kafka broker of the local platform, for tests that need no other service."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from local.services.kafka import Kafka, KafkaUsers
from local.services.processes import Processes
from local.setup.ports import choose

START_S = 180
STOP_S = 10


@dataclass(frozen=True)
class RunningBroker:
    """A broker, and its group of processes."""

    kafka: Kafka
    processes: Processes


@contextlib.contextmanager
def running_broker(folder: Path, *roles: str) -> Iterator[RunningBroker]:
    """Run a broker whose files are in `folder`; `roles` may log in in addition to the administrator."""
    (folder / "kafka").mkdir()
    ports = choose(["kafka", "controller"], earlier={})
    broker = Kafka(
        folder / "kafka",
        port=ports["kafka"],
        controller_port=ports["controller"],
        users=KafkaUsers.of(folder / "secrets", roles),
    )
    processes = Processes(folder, folder / "logs")
    try:
        processes.start("kafka", broker.prepare())
        processes.wait_until("kafka", broker.ready, timeout_s=START_S)
        yield RunningBroker(broker, processes)
    finally:
        processes.stop("kafka", grace_s=STOP_S)
