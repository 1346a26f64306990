"""`python -m local.sink --config sink.json --kafka client.properties`: runs the stand-in until SIGTERM."""

import fcntl
import logging
import signal
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from local.sink.consumer import DeadLetterQueue, GroupConsumer
from local.sink.settings import HELD, PASSED_OVER, SinkError, TaskSettings, read_held, write_held
from local.sink.store import LandingStore, s3_client
from local.sink.task import SinkTask

LOG = logging.getLogger("sink")


def main(
    config: Annotated[Path, typer.Option(help='The connector as JSON: {"name": …, "config": {…}}.')],
    kafka: Annotated[Path, typer.Option(help="The brokers and the login, as librdkafka's properties.")],
) -> None:
    """Land topics' records in a bucket as the Lenses S3 sink connector of that configuration would."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    try:
        settings = TaskSettings.read(config)
        task = _task(settings, read_connection(kafka), config.parent)
        lock = config.with_suffix(".lock").open("w")  # held while this process lives
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda _number, _frame: task.stop())
        task.run()
    except BlockingIOError:
        sys.exit(f"{config}: another sink runs with this configuration")
    except SinkError as error:
        LOG.critical("%s", error)
        sys.exit(1)


def read_connection(path: Path) -> dict[str, str]:
    """Return librdkafka's properties from a file. Raises SinkError."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise SinkError(f"{path}: no properties of a Kafka client: {error.strerror}") from error
    return {name: value for name, _, value in (line.partition("=") for line in lines)}


def _task(settings: TaskSettings, connection: Mapping[str, str], folder: Path) -> SinkTask:
    store = LandingStore(s3_client(settings.endpoint), settings.bucket, settings.name)
    letters = settings.dead_letters
    queue = None if letters is None else DeadLetterQueue(connection, letters)
    return SinkTask(
        settings,
        GroupConsumer(connection, settings),
        store,
        queue,
        passed_over=read_held(folder / PASSED_OVER),
        tell=partial(write_held, folder / HELD),
    )


if __name__ == "__main__":
    typer.run(main)
