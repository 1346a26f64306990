"""Reads from Kafka without joining a group, committing an offset or creating a topic; logs in to MSK with IAM."""

import contextlib
from collections.abc import Iterator

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from contract.sizes import SizeLimits
from operate.errors import OperateError
from operate.kafka.cluster import Cluster, check_reachable
from operate.outputs import LOG_IN
from plugins.kafka import msk_login
from plugins.kafka.msk_login import MS_PER_S
from plugins.kafka.topics import READER_GROUP

REQUEST_TIMEOUT_S = 10.0
UNREACHABLE = (KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE)
NOT_ALLOWED = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
)


class Problems:
    """The last error that librdkafka reported about the brokers, through its error_cb."""

    def __init__(self) -> None:
        self.last: KafkaError | None = None
        self.refusal: KafkaError | None = None
        self.gone: KafkaError | None = None

    def __call__(self, error: KafkaError) -> None:
        """Keep the error; one cause reports several."""
        match error.code():
            case KafkaError._AUTHENTICATION:
                self.refusal = error
            case KafkaError._ALL_BROKERS_DOWN:
                self.gone = error
            case _:
                self.last = error


class Reader:
    """A connection to a cluster; its methods raise KafkaException."""

    def __init__(self, consumer: Consumer, problems: Problems) -> None:
        self._consumer = consumer
        self._problems = problems

    def partitions(self) -> dict[str, list[int]]:
        topics = self._consumer.list_topics(timeout=REQUEST_TIMEOUT_S).topics
        return {name: sorted(metadata.partitions) for name, metadata in topics.items()}

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """Return a partition's first offset and the next message's."""
        place = TopicPartition(topic, partition)
        first, end = self._consumer.get_watermark_offsets(place, timeout=REQUEST_TIMEOUT_S)
        return int(first), int(end)

    def assign(self, places: list[TopicPartition]) -> None:
        """Continue reading at these offsets."""
        self._consumer.assign(places)

    def poll(self, timeout_s: float) -> Message | None:
        """Return the next message, None if none arrives in time. Raises if the brokers are gone or refuse."""
        message = self._consumer.poll(timeout_s)
        if message is None:
            # librdkafka would silently retry for ever.
            if problem := self._problems.refusal or self._problems.gone:
                raise KafkaException(problem)
            return None
        if error := message.error():
            raise KafkaException(error)
        return message


def configuration(cluster: Cluster) -> dict[str, object]:
    """Return librdkafka's settings for a cluster."""
    common: dict[str, object] = {
        "bootstrap.servers": cluster.bootstrap_servers,
        "client.id": READER_GROUP,
        "group.id": READER_GROUP,
        "enable.auto.commit": False,
        # Don't create a topic by requesting it.
        "allow.auto.create.topics": False,
        **SizeLimits(cluster.largest_event_bytes).consumer,
        "socket.timeout.ms": round(REQUEST_TIMEOUT_S * MS_PER_S),
        # Errors arrive in error_cb; librdkafka would also write them to standard error.
        "log_level": 0,
    }
    if cluster.region is None:
        return {**common, **cluster.login}
    return common | msk_login.settings(cluster.region)


@contextlib.contextmanager
def connect(cluster: Cluster) -> Iterator[Reader]:
    """Return a reader of the cluster. Kafka's refusals become an OperateError that says what to do."""
    if cluster.region is not None:
        _check_credentials(cluster.region)
    check_reachable(cluster)
    problems = Problems()
    consumer = Consumer(configuration(cluster) | {"error_cb": problems})
    try:
        yield Reader(consumer, problems)
    except KafkaException as error:
        with contextlib.suppress(KafkaException):
            consumer.poll(0)  # lets librdkafka report its errors
        raise OperateError(_explain(cluster, error.args[0], problems)) from None
    finally:
        consumer.close()


def _check_credentials(region: str) -> None:
    """Sign a login before librdkafka does, which would hide the reason for a failure."""
    try:
        msk_login.Login(region)("")
    except msk_login.NoCredentialsError as error:
        raise OperateError(f"no AWS credentials to log in to Kafka with: {LOG_IN}") from error


def _explain(cluster: Cluster, error: KafkaError, problems: Problems) -> str:
    if problems.refusal is not None:
        way_in = LOG_IN if cluster.region else cluster.hint
        return f"{cluster.environment}'s Kafka doesn't let you in: {_text(problems.refusal)}: {way_in}"
    if error.code() in NOT_ALLOWED:
        who = "your IAM role" if cluster.region else f"the user {cluster.login.get('sasl.username')}"
        return f"{who} may not do that on {cluster.environment}'s Kafka: {_text(error)}"
    if error.code() in UNREACHABLE:
        reason = _text(problems.last or error)
        return f"{cluster.environment}'s Kafka doesn't answer ({reason}): {cluster.hint} and try again"
    return f"{cluster.environment}'s Kafka: {_text(error)}"


def _text(error: KafkaError) -> str:
    return " ".join(error.str().split())
