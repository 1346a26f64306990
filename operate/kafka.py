"""Connects to an environment's Kafka: MSK by IAM over TLS, or the local platform's broker."""

import contextlib
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from aws_msk_iam_sasl_signer import MSKAuthTokenProvider
from botocore.exceptions import BotoCoreError
from confluent_kafka import Consumer, KafkaError, KafkaException

from local.cli import DEFAULT_FOLDER
from local.errors import PlatformError
from local.platform import Platform
from operate import outputs
from operate.errors import OperateError
from plugins.connectors import events_topic
from stacks import environment as settings

LOCAL = "local"
CONNECT_TIMEOUT_S = 9.0
REQUEST_TIMEOUT_S = 10.0
# librdkafka wants a name even of those who join no group; nothing is ever committed under it.
GROUP = "cdc-lake-operate"
MS_PER_S = 1000


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """A Kafka cluster: `environment` is its name, `topic` that of the change events; `region` None: no IAM, no TLS."""

    environment: str
    bootstrap_servers: str
    topic: str
    region: str | None = None

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
    return of_environment(settings.load(name))


def of_environment(environment: settings.Environment) -> Cluster:
    """Return a deployed environment's MSK cluster. Raises OperateError."""
    return Cluster(
        environment=environment.name,
        bootstrap_servers=outputs.output(environment, "streaming", "BootstrapBrokers"),
        topic=events_topic(environment.connectors.topic_prefix),
        region=environment.region,
    )


def _local(*, chosen: bool) -> Cluster:
    platform = Platform(DEFAULT_FOLDER)
    if "kafka" not in platform.running():
        other = "" if chosen else ", or name an environment: ENV=dev"
        raise PlatformError(f"the local platform doesn't run: `make up` starts it{other}")
    here = platform.endpoints
    return Cluster(environment=LOCAL, bootstrap_servers=here.bootstrap_servers, topic=here.topic)


def configuration(cluster: Cluster) -> dict[str, object]:
    """Return librdkafka's settings for a reader that joins no group, commits nothing and makes no topic."""
    common: dict[str, object] = {
        "bootstrap.servers": cluster.bootstrap_servers,
        "client.id": GROUP,
        "group.id": GROUP,
        "enable.auto.commit": False,
        # MSK makes topics for whoever asks for them, misspelt ones too.
        "allow.auto.create.topics": False,
        "socket.timeout.ms": round(REQUEST_TIMEOUT_S * MS_PER_S),
        # Errors come by error_cb; librdkafka would write them to standard error as well.
        "log_level": 0,
    }
    if cluster.region is None:
        return common
    return common | {
        "security.protocol": "SASL_SSL",
        "sasl.mechanisms": "OAUTHBEARER",
        "oauth_cb": partial(_token, cluster.region),
    }


def _token(region: str, _configuration: str) -> tuple[str, float]:
    """Sign a login with the default AWS credentials; librdkafka asks again before it expires (in s since 1970)."""
    try:
        token, expires_ms = MSKAuthTokenProvider.generate_auth_token(region)
    except (AttributeError, BotoCoreError) as error:
        # The signer doesn't expect to find no credentials at all.
        raise OperateError(f"no AWS credentials to sign the login with: {outputs.LOG_IN}") from error
    return token, expires_ms / MS_PER_S


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


@contextlib.contextmanager
def connect(cluster: Cluster) -> Iterator[Consumer]:
    """Give a reader of the cluster; what Kafka refuses leaves as an OperateError."""
    check_reachable(cluster)
    problems: list[KafkaError] = []
    consumer = Consumer(configuration(cluster) | {"error_cb": problems.append})
    try:
        yield consumer
    except KafkaException as error:
        with contextlib.suppress(KafkaException):
            consumer.poll(0)  # lets librdkafka hand over what it has against the brokers
        raise OperateError(_explain(cluster, error.args[0], problems)) from None
    finally:
        consumer.close()


def _explain(cluster: Cluster, error: KafkaError, problems: list[KafkaError]) -> str:
    refusals = [problem for problem in problems if problem.code() == KafkaError._AUTHENTICATION]
    if refusals:
        reason = " ".join(refusals[-1].str().split())
        return f"{cluster.environment}'s brokers don't let you in: {reason}: {outputs.LOG_IN}"
    if error.code() in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED):
        return f"your IAM role may not do that on {cluster.environment}'s Kafka: {error.str()}"
    if error.code() in (KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN):
        return f"{cluster.environment}'s Kafka doesn't answer ({error.str()}): {cluster.hint} and try again"
    return f"{cluster.environment}'s Kafka: {error.str()}"
