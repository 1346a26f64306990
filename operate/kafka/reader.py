"""Reads from Kafka without joining a group, committing an offset or creating a topic; logs in to MSK with IAM.

Lists topics, and follows one.
"""

import contextlib
import difflib
import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Consumer, KafkaError, KafkaException, Message, TopicPartition

from contract.events import DELETED, IS_DELETED
from contract.sizes import SizeLimits
from local.look.topic import OUTAGE_S, PASSING, POLL_S, UNREACHABLE
from operate.errors import OperateError
from operate.kafka.cluster import Cluster, check_reachable
from operate.outputs import LOG_IN
from plugins.kafka import msk_login
from plugins.kafka.msk_login import MS_PER_S
from plugins.kafka.topics import READER_GROUP

REQUEST_TIMEOUT_S = 10.0
NOT_ALLOWED = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
)
# Internal topics of Kafka, MSK and the connectors.
INTERNAL = "__"
Start = Literal["beginning", "end"]
Value = TypeVar("Value")


class Reader:
    """A connection that waits OUTAGE_S for brokers that went away after answers; its methods raise KafkaException."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._consumer = Consumer({**settings, "error_cb": self.report})
        self._answered = False
        # The last errors of each kind that librdkafka has reported about the brokers.
        self._refusal: KafkaError | None = None
        self._gone: KafkaError | None = None
        self._other: KafkaError | None = None

    def report(self, error: KafkaError) -> None:
        """Keep an error for `poll` and `explain`; one cause reports several."""
        match error.code():
            case KafkaError._AUTHENTICATION:
                self._refusal = error
            case KafkaError._ALL_BROKERS_DOWN:
                self._gone = error
            case _:
                self._other = error

    def close(self) -> None:
        self._consumer.close()

    def partitions(self) -> dict[str, list[int]]:
        topics = self._answer(lambda: self._consumer.list_topics(timeout=REQUEST_TIMEOUT_S)).topics
        return {name: sorted(metadata.partitions) for name, metadata in topics.items()}

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """Return a partition's first offset and the next message's."""
        place = TopicPartition(topic, partition)
        first, end = self._answer(lambda: self._consumer.get_watermark_offsets(place, timeout=REQUEST_TIMEOUT_S))
        return int(first), int(end)

    def committed(self, topic: str) -> int:
        """Return the offset at which the reader's group resumes in the topic's partition 0, 0 before a commit.

        Only for a reader that nothing is assigned to: it polls, so that librdkafka can renew the login.
        """
        self.poll(0)
        [place] = self._consumer.committed([TopicPartition(topic, 0)], timeout=REQUEST_TIMEOUT_S)
        if place.error is not None:
            raise KafkaException(place.error)
        return max(place.offset, 0)

    def assign(self, places: list[TopicPartition]) -> None:
        self._consumer.assign(places)

    def to_the_end(self, topic: str, start: Callable[[int, int], int]) -> Iterator[Message]:
        """Yield what a topic holds now; `start` gets a partition and its end, and returns where to begin there."""
        places, ends = [], {}
        for partition in self.partitions().get(topic, []):
            first, end = self.bounds(topic, partition)
            if (place := max(first, start(partition, end))) < end:
                places.append(TopicPartition(topic, partition, place))
                ends[partition] = end
        if places:
            self.assign(places)
        while ends:
            if (message := self.poll(OUTAGE_S)) is None:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
            yield message
            partition = message.partition() or 0
            if (message.offset() or 0) + 1 >= ends.get(partition, 0):
                ends.pop(partition, None)

    def poll(self, timeout_s: float) -> Message | None:
        """Return the next message, None if none arrives in time. Raises if the brokers stay away or refuse."""
        deadline = time.monotonic() + OUTAGE_S
        while True:
            message = self._consumer.poll(timeout_s)
            # librdkafka would silently retry for ever.
            problem = self._refusal or self._gone if message is None else message.error()
            if problem is None:
                return message
            if problem.code() not in PASSING or time.monotonic() > deadline:
                raise KafkaException(problem)
            with contextlib.suppress(KafkaException):
                self._consumer.list_topics(timeout=POLL_S)
                self._gone = None

    def explain(self, cluster: Cluster, error: KafkaError) -> str:
        """Say in a line why the cluster refuses or doesn't answer, and what to do."""
        with contextlib.suppress(KafkaException):
            self._consumer.poll(0)  # lets librdkafka report its errors
        name, text = f"{cluster.environment}'s Kafka", _text(error)
        if self._refusal is not None:
            way_in = LOG_IN if cluster.region else cluster.hint
            return f"{name} doesn't let you in: {_text(self._refusal)}: {way_in}"
        if error.code() in NOT_ALLOWED:
            who = "your IAM role" if cluster.region else f"the user {cluster.login.get('sasl.username')}"
            return f"{who} may not do that on {name}: {text}"
        if error.code() in UNREACHABLE:
            return f"{name} doesn't answer ({_text(self._other or error)}): {cluster.hint} and try again"
        return f"{name}: {text}"

    def _answer(self, ask: Callable[[], Value]) -> Value:
        deadline = time.monotonic() + (OUTAGE_S if self._answered else 0)
        while True:
            try:
                answer = ask()
            except KafkaException as error:
                if error.args[0].code() not in PASSING or time.monotonic() > deadline:
                    raise
                time.sleep(POLL_S)
            else:
                self._answered = True
                return answer


def client(cluster: Cluster) -> dict[str, Any]:
    """Return what each of librdkafka's clients of a cluster needs: where it is, and the login."""
    login = cluster.login if cluster.region is None else msk_login.settings(cluster.region)
    return {"bootstrap.servers": cluster.bootstrap_servers, **login}


def configuration(cluster: Cluster) -> dict[str, object]:
    """Return librdkafka's settings for a consumer."""
    return {
        "client.id": READER_GROUP,
        "group.id": READER_GROUP,
        "enable.auto.commit": False,
        # Don't create a topic by requesting it.
        "allow.auto.create.topics": False,
        **SizeLimits(cluster.largest_event_bytes).consumer,
        "socket.timeout.ms": round(REQUEST_TIMEOUT_S * MS_PER_S),
        # Errors arrive in error_cb; librdkafka would also write them to standard error.
        "log_level": 0,
        **client(cluster),
    }


@contextlib.contextmanager
def connect(cluster: Cluster, *, group: str = READER_GROUP) -> Iterator[Reader]:
    """Return a reader, which can tell where a group resumes without joining it. Refusals become OperateErrors."""
    if cluster.region is not None:
        # Sign a login before librdkafka does, which would hide the reason for a failure.
        try:
            msk_login.login(cluster.region)
        except msk_login.NoCredentialsError as error:
            raise OperateError(f"no AWS credentials to log in to Kafka with: {LOG_IN}") from error
    check_reachable(cluster)
    reader = Reader(configuration(cluster) | {"group.id": group})
    try:
        yield reader
    except KafkaException as error:
        raise OperateError(reader.explain(cluster, error.args[0])) from None
    finally:
        reader.close()


def _text(error: KafkaError) -> str:
    return " ".join(error.str().split())


@dataclass(frozen=True, kw_only=True)
class Topic:
    """A topic's partitions and offsets: `earliest` the lowest available, `latest` the next to be assigned.

    `messages` is their distance, over all partitions; a compacted topic holds fewer.
    """

    name: str
    partitions: int
    messages: int
    earliest: int
    latest: int


def list_topics(reader: Reader, *, internal: bool = False, only: Collection[str] | None = None) -> list[Topic]:
    """Return the topics by name; with `only`, the existing ones of those. Raises KafkaException."""
    topics = []
    for name, partitions in sorted(reader.partitions().items()):
        if name in only if only is not None else internal or not name.startswith(INTERNAL):
            bounds = [reader.bounds(name, partition) for partition in partitions]
            topic = Topic(
                name=name,
                partitions=len(partitions),
                messages=sum(end - first for first, end in bounds),
                earliest=min((first for first, _ in bounds), default=0),
                latest=max((end for _, end in bounds), default=0),
            )
            topics.append(topic)
    return topics


def find_partitions(reader: Reader, name: str) -> list[int]:
    """Return a topic's partitions. Raises OperateError if it doesn't exist, KafkaException."""
    found = reader.partitions()
    if name not in found:
        likely = difflib.get_close_matches(name, found, n=1, cutoff=0.5)
        others = sorted(other for other in found if not other.startswith(INTERNAL))
        known = f"did you mean {likely[0]}?" if likely else f"there are {', '.join(others) or 'none'}"
        raise OperateError(f"there is no topic {name}: {known}")
    return found[name]


@dataclass(frozen=True, kw_only=True)
class Line:
    """A message to show: `place` is partition and offset, `key` and `value` are JSON.

    `gone` says how the row was deleted: `deleted` (a delete event), `tombstone` (no value), or "" if it wasn't.
    """

    place: str
    time: str
    key: str
    gone: str
    value: str

    def __str__(self) -> str:
        return "  ".join(part for part in (self.place, self.time, self.key, self.gone, self.value) if part)


def follow(reader: Reader, topic: str, *, start: Start, count: int | None = None) -> Iterator[Line]:
    """Yield messages from the start or the present end, for ever or `count`. Raises OperateError, KafkaException."""
    places = []
    for partition in find_partitions(reader, topic):
        first, end = reader.bounds(topic, partition)
        # The current end as a number, so that messages that arrive before the first poll count.
        places.append(TopicPartition(topic, partition, first if start == "beginning" else end))
    reader.assign(places)
    shown = 0
    while count is None or shown < count:
        message = reader.poll(POLL_S)
        # Compare with None: a tombstone is false.
        if message is not None:
            yield line(message)
            shown += 1


def line(message: Message) -> Line:
    value = message.value()
    decoded = _decode(value)
    deleted = isinstance(decoded, dict) and decoded.get(DELETED) in (IS_DELETED, True)
    return Line(
        place=f"{message.partition()}/{message.offset()}",
        time=_time(message),
        key=_json(_decode(message.key())),
        gone="tombstone" if value is None else "deleted" if deleted else "",
        value="" if value is None else _json(decoded),
    )


def _decode(raw: bytes | str | None) -> object:
    if raw is None:
        return None
    text = raw if isinstance(raw, str) else raw.decode("utf-8", errors="backslashreplace")
    try:
        return json.loads(text)
    except ValueError:
        return text


def _json(value: object) -> str:
    # One line, without control characters that a terminal would act on, and lone surrogates, which none can show.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_CONTROLS)


_CONTROLS = {number: f"\\u{number:04x}" for number in (*range(0x20), *range(0x7F, 0xA0), *range(0xD800, 0xE000))}


def _time(message: Message) -> str:
    kind, milliseconds = message.timestamp()
    if kind == TIMESTAMP_NOT_AVAILABLE:
        return "-"
    return datetime.fromtimestamp(milliseconds / MS_PER_S, tz=UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
