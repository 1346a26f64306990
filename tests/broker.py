"""A Kafka broker of the local platform for a test, by itself."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from local.platform.processes import Processes
from local.services.kafka.broker import Kafka
from local.services.kafka.users import KafkaUsers
from local.setup.ports import choose

START_S = 60
STOP_S = 10


@contextlib.contextmanager
def running_broker(folder: Path, *roles: str) -> Iterator[Kafka]:
    """Run a broker whose files are in `folder`; `roles` may log in besides the administrator."""
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
        yield broker
    finally:
        processes.stop("kafka", grace_s=STOP_S)
