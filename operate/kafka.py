"""Finds an environment's Kafka: MSK by the stack's output, or the local platform's broker."""

import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from contract.sizes import LARGEST_EVENT_BYTES
from local.errors import PlatformError
from local.folders import DEFAULT_FOLDER
from local.platform.platform import Platform
from local.services.kafka.broker import Kafka
from local.services.kafka.roles import READER
from operate import outputs
from operate.errors import OperateError
from settings.connectors import source_settings
from settings.environment import Environment
from settings.load import load

LOCAL = "local"
CONNECT_TIMEOUT_S = 9.0


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """A Kafka cluster: `environment` is its name, `topic` that of the change events.

    `region` None: no IAM, no TLS, but `login`, which is how librdkafka's clients log in to the local broker.
    """

    environment: str
    bootstrap_servers: str
    topic: str
    region: str | None = None
    login: Mapping[str, str] = field(default_factory=dict, repr=False)
    largest_event_bytes: int = LARGEST_EVENT_BYTES

    @property
    def hint(self) -> str:
        """What helps when no broker answers."""
        return "run `make up`" if self.region is None else "connect the VPN (docs/vpn.md)"


def find_cluster(name: str | None) -> Cluster:
    """Return the cluster of an environment, or of the local platform for `local`, or for None while it runs.

    Raises OperateError, EnvironmentFileError or PlatformError.
    """
    if name is None or name == LOCAL:
        return _local(chosen=name is not None)
    return of_environment(load(name))


def of_environment(environment: Environment) -> Cluster:
    """Return a deployed environment's MSK cluster. Raises OperateError."""
    return Cluster(
        environment=environment.name,
        bootstrap_servers=outputs.output(environment, "streaming", "BootstrapBrokers"),
        topic=source_settings(environment, environment.pipelines[0]).topic,
        region=environment.region,
        largest_event_bytes=environment.streaming.largest_event_bytes,
    )


def check_reachable(cluster: Cluster) -> None:
    """Connect to any of the brokers by TCP, in 9 s at most. Raises OperateError with what to do."""
    deadline = time.monotonic() + CONNECT_TIMEOUT_S
    servers = cluster.bootstrap_servers.split(",")
    reasons = []
    for number, server in enumerate(servers):
        host, _, port = server.strip().rpartition(":")
        # What is left of the time, shared among those that are left.
        timeout_s = max(0.1, (deadline - time.monotonic()) / (len(servers) - number))
        try:
            socket.create_connection((host, int(port)), timeout=timeout_s).close()
        except OSError as error:
            reasons.append(f"{host}: {error.strerror or error}")
        else:
            return
    raise OperateError(f"no Kafka broker of {cluster.environment} answers ({reasons[0]}): {cluster.hint} and try again")


def _local(*, chosen: bool) -> Cluster:
    platform = Platform(DEFAULT_FOLDER)
    if "kafka" not in platform.running():
        other = "" if chosen else ", or name an environment: ENV=dev"
        raise PlatformError(f"the local platform doesn't run: `make up` starts it{other}")
    return of_platform(platform.services.kafka, platform.endpoints.topic)


def of_platform(kafka: Kafka, topic: str) -> Cluster:
    """Return the local broker as a person sees it who may read, and no more."""
    login = kafka.users.login(READER)
    return Cluster(environment=LOCAL, bootstrap_servers=kafka.bootstrap_servers, topic=topic, login=login)
