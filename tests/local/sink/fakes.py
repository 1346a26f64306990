"""A topic, a group member and a bucket in memory, which can be made to die before or after any step."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from botocore.exceptions import ClientError, EndpointConnectionError
from botocore.response import StreamingBody
from confluent_kafka import KafkaError, Message

from local.sink.consumer import Committed, GroupConsumer, TopicState
from local.sink.settings import Held, Partition, TaskSettings, UnavailableError
from local.sink.store import LandingStore
from local.sink.task import SinkTask
from plugins.connector_settings import SinkSettings
from plugins.sink.sink_connector import sink_connector
from tests.waiting import Clock

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

BUCKET = "landing"
TOPIC = "orders"
Value = bytes | None


class CrashError(BaseException):
    """The process is killed: no code may catch this."""


class Steps:
    """Counts effects on the outside world and crashes at a chosen point: 2n before, 2n + 1 after the n-th step."""

    def __init__(self, crash_at: int | None = None) -> None:
        self.point = 0
        self._crash_at = crash_at

    def step(self, action: Callable[[], Any]) -> Any:
        self._reach()
        result = action()
        self._reach()
        return result

    def _reach(self) -> None:
        if self.point == self._crash_at:
            raise CrashError
        self.point += 1


class FakeTopic:
    """A partition of a topic with its group's commits; `low` is the log's first offset."""

    def __init__(self, values: Sequence[Value]) -> None:
        self.records: dict[int, Value] = dict(enumerate(values))
        self.low = 0
        self.high = len(values)
        self.topic_id = "id-1"
        self.committed: Committed | None = None
        self.failures = 0

    def append(self, *values: Value) -> None:
        for value in values:
            self.records[self.high] = value
            self.high += 1

    def delete_before(self, offset: int) -> None:
        self.low = offset


class FakeConsumer(GroupConsumer):
    """`poll` lets time pass for idle topics, so that intervals end. Partitions return their records in turns."""

    def __init__(
        self, topics: Mapping[Partition, FakeTopic], clock: Clock, steps: Steps, *, when_idle: Callable[[], None]
    ) -> None:
        self._fakes, self._clock, self._steps, self._when_idle = topics, clock, steps, when_idle
        self._positions: dict[Partition, int] = {}
        self.closed = False

    def topics(self, names: Iterable[str]) -> dict[str, TopicState]:
        found: dict[str, TopicState] = {}
        for partition, fake in self._fakes.items():
            if partition.topic in names:
                others = found[partition.topic].partitions if partition.topic in found else frozenset()
                found[partition.topic] = TopicState(id=fake.topic_id, partitions=others | {partition})
        return found

    def poll(self, seconds: float) -> Message | None:
        for partition, position in list(self._positions.items()):
            if (message := self._next(partition, position)) is not None:
                return message
        self._clock.now += seconds
        self._when_idle()
        return None

    def _next(self, partition: Partition, position: int) -> Message | None:
        fake = self._fakes[partition]
        del self._positions[partition]
        if position < fake.low:
            return Message(*partition, error=KafkaError(KafkaError._AUTO_OFFSET_RESET))
        offset = min((number for number in fake.records if number >= position), default=None)
        # Moves to the end: the others' turn comes first.
        self._positions[partition] = position if offset is None else offset + 1
        if offset is None:
            return None
        return Message(*partition, offset, b'{"k": 0}', fake.records[offset], None, None, (1, 1_000 + offset))

    def read_from(self, positions: Mapping[Partition, int]) -> None:
        self._positions = dict(positions)

    def committed(self, partition: Partition) -> Committed:
        return self._fakes[partition].committed or Committed(offset=0)

    def commit(self, partition: Partition, committed: Committed) -> None:
        fake = self._fakes[partition]
        if fake.failures:
            fake.failures -= 1
            raise UnavailableError("no coordinator")
        self._steps.step(lambda: setattr(fake, "committed", committed))

    def log_bounds(self, partition: Partition) -> tuple[int, int]:
        return self._fakes[partition].low, self._fakes[partition].high

    def close(self) -> None:
        self.closed = True


class FakeS3:
    """The S3 client calls that the sink and readers of objects use, with S3's own error codes: a bucket of objects.

    No object is ever replaced. A page lists one object.
    """

    def __init__(self, bucket: str = BUCKET, objects: Mapping[str, bytes] = MappingProxyType({})) -> None:
        self._bucket = bucket
        self.objects = dict(objects)
        self.steps = Steps()
        self.failures = 0
        self.listed: list[str] = []

    def put_object(self, *, Bucket: str, Key: str, Body: bytes, IfNoneMatch: str | None = None) -> None:  # noqa: N803
        self._answer(Bucket)
        if IfNoneMatch == "*" and Key in self.objects:
            found: Any = {"Error": {"Code": "PreconditionFailed"}, "ResponseMetadata": {"HTTPStatusCode": 412}}
            raise ClientError(found, "Call")
        self.steps.step(lambda: self._put(Key, Body))

    def _put(self, key: str, body: bytes) -> None:
        assert key not in self.objects or key.startswith("."), f"{key} is replaced"
        self.objects[key] = body

    def get_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803
        self._answer(Bucket)
        if Key not in self.objects:
            raise self.exceptions.NoSuchKey({"Error": {"Code": "NoSuchKey"}}, "GetObject")
        return {"Body": StreamingBody(BytesIO(self.objects[Key]), len(self.objects[Key]))}

    def get_paginator(self, operation: str) -> "FakeS3":
        assert operation == "list_objects_v2"
        return self

    def paginate(self, *, Bucket: str, Prefix: str, StartAfter: str = "") -> Iterator[dict[str, Any]]:  # noqa: N803
        self._answer(Bucket)
        for key in sorted(key for key in self.objects if key.startswith(Prefix) and key > StartAfter):
            self.listed.append(key)
            yield {"Contents": [{"Key": key}]}

    def _answer(self, bucket: str) -> None:
        assert bucket == self._bucket
        if self.failures:
            self.failures -= 1
            raise EndpointConnectionError(endpoint_url="http://127.0.0.1:1")

    class exceptions:  # noqa: N801
        class NoSuchKey(ClientError):  # noqa: N818
            pass


class World:
    """Topics and a bucket, which outlive the sinks that use them.

    `topic` is the one with `values`; `others` are further partitions with theirs.
    """

    def __init__(
        self, values: Sequence[Value], *, others: Mapping[Partition, Sequence[Value]] | None = None, **settings: Any
    ) -> None:
        self.topic = FakeTopic(values)
        self.topics = {Partition(TOPIC, 0): self.topic}
        self.topics |= {partition: FakeTopic(its) for partition, its in (others or {}).items()}
        settings.setdefault("topics", tuple(dict.fromkeys(partition.topic for partition in self.topics)))
        self.s3 = FakeS3()
        self.held: list[Held] = []
        self.clock = Clock()
        self.settings = task_settings(**settings)

    def run(self, crash_at: int | None = None, **hooks: Any) -> "Run":
        """Run a sink until everything is read; its result tells whether it crashed."""
        run = Run(self, crash_at, **hooks)
        try:
            run.task.run()
        except CrashError:
            run.crashed = True
        return run

    def landed(self) -> list[bytes]:
        return [line for key, body in self.landed_objects().items() for line in body.splitlines()]

    def landed_objects(self) -> dict[str, bytes]:
        return {key: body for key, body in self.s3.objects.items() if not key.startswith(".")}

    def offsets(self) -> list[int]:
        return [fake.committed.offset for fake in self.topics.values() if fake.committed]

    def gaps(self) -> list[tuple[Any, Any]]:
        prefix, _ = LandingStore.note_keys(self.settings.name, TOPIC)
        notes = [json.loads(body) for key, body in sorted(self.s3.objects.items()) if key.startswith(prefix)]
        return [(gap["first"], gap["end"]) for gap in notes]


class Run:
    """One life of a sink."""

    def __init__(
        self,
        world: World,
        crash_at: int | None,
        *,
        passed_over: Sequence[Held] = (),
        when_idle: Callable[[SinkTask], None] = SinkTask.stop,
        while_waiting: Callable[[SinkTask], None] = lambda _: None,
    ) -> None:
        self.crashed = False
        self.steps = world.s3.steps = Steps(crash_at)
        self.consumer = FakeConsumer(world.topics, world.clock, self.steps, when_idle=lambda: when_idle(self.task))
        self._while_waiting = while_waiting
        self._clock = world.clock
        store = LandingStore(cast("S3Client", world.s3), BUCKET, world.settings.name)
        self.task = SinkTask(
            world.settings,
            self.consumer,
            store,
            None,
            clock=world.clock,
            sleep=self._sleep,
            passed_over=passed_over,
            tell=lambda held: setattr(world, "held", list(held)),
        )

    def _sleep(self, seconds: float) -> None:
        self._clock.now += seconds
        self._while_waiting(self.task)


def task_settings(**settings: Any) -> TaskSettings:
    defaults: dict[str, Any] = {
        "topics": (TOPIC,),
        "bucket": BUCKET,
        "prefix": "events",
        "region": "us-east-1",
        "endpoint": "http://127.0.0.1:1",
        "flush_count": 3,
        "flush_interval_seconds": 60,
    }
    sink = SinkSettings(**{**defaults, **settings})
    return TaskSettings.of(sink.name, sink_connector(sink))


def events(count: int, start: int = 0) -> list[bytes | None]:
    """Events of three customers, with an occasional tombstone."""
    return [
        None if number % 7 == 6 else json.dumps({"customer_id": number % 3, "n": number}).encode()
        for number in range(start, start + count)
    ]


def lines_by_folder(objects: Mapping[str, bytes]) -> dict[str, list[bytes]]:
    folders: dict[str, list[bytes]] = {}
    for key, body in objects.items():
        folders.setdefault(key.rpartition("/")[0], []).extend(body.splitlines())
    return folders


def lines(count: int) -> list[bytes]:
    """Those of them that become lines."""
    return [event for event in events(count) if event is not None]
