"""Starts the Kafka UI against an environment's MSK cluster, with Docker Compose."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import NoReturn

import typer

from operate.errors import OperateError
from operate.kafka.cluster import Cluster

COMPOSE_FILE = Path(__file__).resolve().parents[2] / "kafka-ui" / "compose.yaml"
URL = "http://127.0.0.1:8080"
WITHOUT_DOCKER = "`./lake kafka topics` and `./lake kafka tail` show the same without Docker"
CHECK_TIMEOUT_S = 20


def start(cluster: Cluster) -> NoReturn:
    """Become `docker compose up`, which runs until Ctrl-C. Raises OperateError if Docker or ~/.aws is missing."""
    credentials = Path.home() / ".aws"
    if not credentials.is_dir():
        raise OperateError(f"the Kafka UI reads your AWS credentials from ~/.aws, which isn't there; {WITHOUT_DOCKER}")
    docker = _docker()
    typer.echo(f"{cluster.environment}'s Kafka at {URL} in about half a minute; Ctrl-C ends it")
    # Replace this process: Ctrl-C reaches only Docker, which then stops the container.
    os.execve(docker, compose("up"), os.environ | variables(cluster, credentials))  # noqa: S606  no shell wanted


def compose(*arguments: str) -> list[str]:
    return ["docker", "compose", "--file", str(COMPOSE_FILE), *arguments]


def variables(cluster: Cluster, credentials: Path) -> dict[str, str]:
    """Return the variables of kafka-ui/compose.yaml. None is secret: the UI reads credentials from the folder."""
    return {
        "KAFKA_UI_NAME": cluster.environment,
        "KAFKA_UI_BROKERS": cluster.bootstrap_servers,
        "KAFKA_UI_REGION": cluster.region or "",
        "KAFKA_UI_CREDENTIALS": str(credentials),
        # The image's own user couldn't read files that only their owner may read.
        "KAFKA_UI_USER": f"{os.getuid()}:{os.getgid()}",
    }


def _docker() -> str:
    docker = shutil.which("docker")
    if docker is None:
        raise OperateError(f"the Kafka UI needs Docker, which isn't there; {WITHOUT_DOCKER}")
    try:
        asked = subprocess.run(
            [docker, "compose", "version"], capture_output=True, timeout=CHECK_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise OperateError(f"Docker doesn't answer within {CHECK_TIMEOUT_S} s; {WITHOUT_DOCKER}") from None
    if asked.returncode != 0:
        raise OperateError(f"Docker has no `docker compose` here: install Docker Compose 2; {WITHOUT_DOCKER}")
    return docker
