"""A single Kafka broker of the local platform, for tests that need no other service."""

import contextlib
from collections.abc import Iterator, Mapping
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


def broker_in(folder: Path, *roles: str, settings: Mapping[str, str] | None = None) -> Kafka:
    """Return a broker that doesn't run yet."""
    (folder / "kafka").mkdir(exist_ok=True)
    ports = choose(["kafka", "controller"], earlier={})
    users = KafkaUsers.of(folder / "secrets", roles)
    return Kafka(
        folder / "kafka", port=ports["kafka"], controller_port=ports["controller"], users=users, settings=settings
    )


@contextlib.contextmanager
def running_broker(folder: Path, *roles: str, settings: Mapping[str, str] | None = None) -> Iterator[RunningBroker]:
    """Run a broker whose files are in `folder`; `roles` may log in in addition to the administrator."""
    broker = broker_in(folder, *roles, settings=settings)
    processes = Processes(folder, folder / "logs")
    try:
        processes.run(broker, timeout_s=START_S)
        yield RunningBroker(broker, processes)
    finally:
        processes.stop("kafka", grace_s=STOP_S)
