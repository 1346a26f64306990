"""Finds an environment's Kafka (MSK from the stack's output, or the local broker), and starts the Kafka UI for MSK."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import typer

from contract.sizes import LARGEST_EVENT_BYTES
from local.errors import PlatformError
from local.platform.command import find_platform
from local.services.kafka import Kafka
from local.services.kafka_rights import READER
from operate import outputs
from operate.errors import OperateError
from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline
from settings.load import load

LOCAL = "local"
CONNECT_TIMEOUT_S = 9.0
COMPOSE_FILE = Path(__file__).resolve().parents[2] / "kafka-ui" / "compose.yaml"
URL = "http://127.0.0.1:8080"
WITHOUT_DOCKER = "`./lake kafka topics` and `./lake kafka tail` show the same without Docker"
CHECK_TIMEOUT_S = 20


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """A Kafka cluster: `environment` is its name, `topics` the requested topics of captured tables, by table name.

    `only`: whether no other topics were requested. `region` None: no IAM, no TLS, but `login`, librdkafka's settings to
    log in to the local broker.
    """

    environment: str
    bootstrap_servers: str
    topics: Mapping[str, str]
    only: bool = False
    region: str | None = None
    login: Mapping[str, str] = field(default_factory=dict, repr=False)
    largest_event_bytes: int = LARGEST_EVENT_BYTES

    @property
    def topic(self) -> str:
        """The only requested topic of change events. Raises OperateError if there are several."""
        if len(self.topics) > 1:
            raise OperateError(f"a topic for each of several tables: --table names one of {', '.join(self.topics)}")
        return next(iter(self.topics.values()))

    @property
    def hint(self) -> str:
        return "run `./lake up`" if self.region is None else "connect the VPN (docs/aws/vpn.md)"


def find_cluster(name: str | None, pipeline: str | None = None, tables: Sequence[str] = ()) -> Cluster:
    """Return an environment's cluster; for `local`, or for None while it runs, the local platform's.

    Without a name, `pipeline` is the first one; each has its own platform. `tables` are some of its tables. Raises
    OperateError, SettingsFileError or PlatformError.
    """
    if name not in (None, LOCAL):
        return of_environment(load(name), pipeline, tables)
    platform = find_platform(None, pipeline)
    if "kafka" not in platform.running():
        other = "" if name else ", or name an environment: -e dev"
        raise PlatformError(f"the local platform doesn't run: `./lake up` starts it{other}")
    kafka, found = platform.services.kafka, platform.services.chosen(tables)
    return of_platform(kafka, {table.name: table.topic.name for table in found}, only=bool(tables))


def of_environment(environment: Environment, pipeline: str | None = None, tables: Sequence[str] = ()) -> Cluster:
    """Return a deployed environment's MSK cluster. Raises OperateError."""
    # Report an unknown name before asking AWS.
    topics = _topics(find_pipeline(environment, pipeline), tables)
    return Cluster(
        environment=environment.name,
        bootstrap_servers=outputs.output(environment, "streaming", "BootstrapBrokers"),
        topics=topics,
        only=pipeline is not None or bool(tables),
        region=environment.region,
        largest_event_bytes=environment.streaming.largest_event_bytes,
    )


def check_reachable(cluster: Cluster) -> None:
    """Connect to any of the brokers over TCP, within 9 s. Raises OperateError with what to do."""
    deadline = time.monotonic() + CONNECT_TIMEOUT_S
    servers = cluster.bootstrap_servers.split(",")
    reasons = []
    for number, server in enumerate(servers):
        host, _, port = server.strip().rpartition(":")
        # The remaining time, shared among the remaining brokers.
        timeout_s = max(0.1, (deadline - time.monotonic()) / (len(servers) - number))
        try:
            socket.create_connection((host, int(port)), timeout=timeout_s).close()
        except OSError as error:
            reasons.append(f"{host}: {error.strerror or error}")
        else:
            return
    raise OperateError(f"no Kafka broker of {cluster.environment} answers ({reasons[0]}): {cluster.hint} and try again")


def find_pipeline(environment: Environment, name: str | None) -> EnvironmentPipeline:
    """Return an environment's pipeline; without a name, the first one that has topics. Raises OperateError."""
    for pipeline in environment.pipelines if name else environment.streamed or environment.pipelines:
        if name in (None, pipeline.name):
            return pipeline
    known = ", ".join(pipeline.name for pipeline in environment.pipelines)
    raise OperateError(f"{environment.name} has no pipeline {name}: {known}")


def _topics(pipeline: EnvironmentPipeline, names: Sequence[str]) -> dict[str, str]:
    if pipeline.is_queried:
        raise OperateError(
            f"{pipeline.name} is queried: nothing of it is in Kafka, and no connector reads it"
            " (docs/your-database/query-only.md)"
        )
    return {entry.name: entry.captured.topic(pipeline.prefix) for entry in pipeline.captured.named(names)}


def of_platform(kafka: Kafka, topics: Mapping[str, str], *, only: bool = False) -> Cluster:
    """Return the local broker with the login of its read-only user."""
    login = kafka.users.login(READER)
    return Cluster(environment=LOCAL, bootstrap_servers=kafka.bootstrap_servers, topics=topics, only=only, login=login)


def start_ui(cluster: Cluster) -> NoReturn:
    """Become `docker compose up`, which runs until Ctrl-C. Raises OperateError if Docker or ~/.aws is missing."""
    credentials = Path.home() / ".aws"
    if not credentials.is_dir():
        raise OperateError(f"the Kafka UI reads your AWS credentials from ~/.aws, which isn't there; {WITHOUT_DOCKER}")
    docker = _docker()
    typer.echo(f"{cluster.environment}'s Kafka at {URL} in about half a minute; Ctrl-C ends it")
    argv = ["docker", "compose", "--file", str(COMPOSE_FILE), "up"]
    # Replace this process: Ctrl-C reaches only Docker, which then stops the container.
    os.execve(docker, argv, os.environ | variables(cluster, credentials))  # noqa: S606  no shell wanted


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
