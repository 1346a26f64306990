"""A single Kafka broker of the local platform, for tests that need no other service."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from local.files import create_password
from local.services.kafka import ADMIN, BROKER, Kafka, KafkaUsers
from local.services.processes import Processes
from local.setup.ports import choose

START_S = 180
STOP_S = 10


@dataclass(frozen=True)
class RunningBroker:
    """A broker, and its group of processes."""

    kafka: Kafka
    processes: Processes


def users_in(folder: Path, *roles: str) -> KafkaUsers:
    """Create the passwords of the broker's own users and of these roles, and return them."""
    for name in (BROKER, ADMIN, *roles):
        create_password(folder / name)
    return KafkaUsers.kept(folder, roles)


def broker_in(folder: Path, *roles: str, settings: Mapping[str, str] | None = None) -> Kafka:
    """Return a broker that doesn't run yet."""
    (folder / "kafka").mkdir(exist_ok=True)
    ports = choose(["kafka", "controller"], earlier={})
    return Kafka(
        folder / "kafka",
        port=ports["kafka"],
        controller_port=ports["controller"],
        users=users_in(folder / "secrets", *roles),
        settings=settings,
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
