"""`python -m local.sink --config sink.json --kafka client.properties`: runs the stand-in until SIGTERM."""

import logging
import signal
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from local.sink import held
from local.sink.consumer import GroupConsumer
from local.sink.dead_letters import DeadLetterQueue
from local.sink.errors import SinkError
from local.sink.settings import TaskSettings
from local.sink.store import LandingStore, s3_client
from local.sink.task import SinkTask

LOG = logging.getLogger("sink")


def main(
    config: Annotated[Path, typer.Option(help='The connector as JSON: {"name": …, "config": {…}}.')],
    kafka: Annotated[Path, typer.Option(help="The brokers and the login, as librdkafka's properties.")],
    *,
    fail_like_the_connector: Annotated[
        bool, typer.Option("--fail-like-the-connector", help="End with an outage of S3 as the connector's task does.")
    ] = False,
) -> None:
    """Land topics' records in a bucket as the Lenses S3 sink connector of that configuration would."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    try:
        settings = TaskSettings.read(config)
        for warning in settings.statements[0].warnings:
            LOG.warning("%s", warning)
        task = _task(settings, read_connection(kafka), config.parent, fragile=fail_like_the_connector)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda _number, _frame: task.stop())
        task.run()
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


def _task(settings: TaskSettings, connection: Mapping[str, str], folder: Path, *, fragile: bool) -> SinkTask:
    client = s3_client(region=settings.region, endpoint=settings.endpoint)
    store = LandingStore(client, settings.bucket, settings.name)
    letters = settings.dead_letters
    queue = None if letters is None else DeadLetterQueue(connection, letters)
    return SinkTask(
        settings,
        GroupConsumer(connection, settings),
        store,
        queue,
        fragile=fragile,
        passed_over=held.read(folder / held.PASSED_OVER),
        tell=partial(held.write, folder / held.HELD),
    )


if __name__ == "__main__":
    typer.run(main)
