"""A topic, a group member and a bucket in memory, which can be made to die before or after any of their steps."""

from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any, cast

from botocore.exceptions import ClientError, EndpointConnectionError
from confluent_kafka import KafkaError, Message

from local.sink.errors import RevokedError, UnavailableError
from local.sink.member import Member
from local.sink.progress import Progress
from local.sink.settings import TaskSettings
from local.sink.store import LandingStore
from local.sink.task import SinkTask
from plugins.connectors import SinkSettings, sink_connector

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

BUCKET = "landing"
TOPIC = "orders"
Value = bytes | None


class CrashError(BaseException):
    """The process is killed: nothing may catch this."""


class Steps:
    """Counts what is done to the outside world and crashes at a chosen point: 2n before, 2n + 1 after the n-th step."""

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


class Clock:
    """Seconds that pass only when told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class FakeMessage:
    """A record, as confluent_kafka gives it."""

    def __init__(self, partition: int, offset: int, value: Value, error: KafkaError | None = None) -> None:
        self._partition, self._offset, self._value, self._error = partition, offset, value, error

    def error(self) -> KafkaError | None:
        return self._error

    def partition(self) -> int:
        return self._partition

    def offset(self) -> int:
        return self._offset

    def key(self) -> bytes:
        return b'{"k": 0}'

    def value(self) -> Value:
        return self._value

    def timestamp(self) -> tuple[int, int]:
        return (1, 1_000 + self._offset)


class FakeTopic:
    """Partition 0 of a topic with its group's commits; `low` is the log's first offset."""

    def __init__(self, values: Sequence[Value]) -> None:
        self.records: dict[int, Value] = dict(enumerate(values))
        self.low = 0
        self.high = len(values)
        self.topic_id = "id-1"
        self.committed: tuple[int, str] | None = None
        self.history: list[int] = []
        self.failures = 0

    def append(self, *values: Value) -> None:
        for value in values:
            self.records[self.high] = value
            self.high += 1

    def delete_before(self, offset: int) -> None:
        self.low = offset


class FakeMember(Member):
    """The only member of its group. `poll` passes the time of an idle topic, so that intervals end."""

    def __init__(self, topic: FakeTopic, clock: Clock, steps: Steps, *, when_idle: Callable[[], None]) -> None:
        self._fake, self._clock, self._steps, self._when_idle = topic, clock, steps, when_idle
        self._position: int | None = None
        self.revoked_from: int | None = None
        self.before_objects: Callable[[], None] = lambda: None
        self.while_paused: Callable[[FakeMember], None] = lambda _: None
        self.paused = False
        self.closed = False

    def subscribe(self, *, assigned: Callable[[set[int]], None], revoked: Callable[[], None]) -> None:
        self._on_assigned, self._on_revoked = assigned, revoked
        self._is_assigned = False

    def poll(self, seconds: float) -> Message | None:
        if not self._is_assigned:
            self._is_assigned = True
            self._on_assigned({0})
            return None
        if self._position is None or self.paused:
            self._clock.now += seconds
            self.while_paused(self)
            return None
        if self._position < self._fake.low:
            self._position = None
            return cast("Message", FakeMessage(0, -1, None, KafkaError(KafkaError._AUTO_OFFSET_RESET)))
        offset = min((number for number in self._fake.records if number >= self._position), default=None)
        if offset is None:
            self._clock.now += seconds
            self._when_idle()
            return None
        self._position = offset + 1
        return cast("Message", FakeMessage(0, offset, self._fake.records[offset]))

    def read_from(self, positions: Any) -> None:
        self._position = positions[0]

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False

    def progress(self, partition: int) -> Progress | None:
        assert partition == 0
        return None if self._fake.committed is None else Progress.of(*self._fake.committed)

    def commit(self, partition: int, progress: Progress) -> None:
        assert partition == 0
        if self._fake.failures:
            self._fake.failures -= 1
            raise UnavailableError("no coordinator")
        if self.revoked_from is not None and progress.offset >= self.revoked_from:
            self.revoked_from = None
            raise RevokedError("illegal generation")
        self._steps.step(lambda: self._commit(progress))

    def _commit(self, progress: Progress) -> None:
        self._fake.committed = (progress.offset, progress.note())
        self._fake.history.append(progress.offset)
        if progress.until is not None:
            self.before_objects()

    def lose_partition(self) -> None:
        self._position = None
        self._on_revoked()

    def get_partition(self) -> None:
        self._on_assigned({0})

    def log_bounds(self, partition: int) -> tuple[int, int]:
        assert partition == 0
        return self._fake.low, self._fake.high

    def topic_id(self) -> str:
        return self._fake.topic_id

    def close(self) -> None:
        self.closed = True


class FakeS3:
    """The calls of an S3 client that the sink makes, with S3's own error codes.

    No object is ever replaced by one with fewer lines, whoever writes.
    """

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.steps = Steps()
        self.failures = 0
        self.replaced: list[str] = []

    def put_object(self, *, Bucket: str, Key: str, Body: bytes, IfNoneMatch: str | None = None) -> None:  # noqa: N803
        self._answer(Bucket)
        if IfNoneMatch == "*" and Key in self.objects:
            raise _error("PreconditionFailed", 412)
        self.steps.step(lambda: self._put(Key, Body))

    def _put(self, key: str, body: bytes) -> None:
        if key in self.objects and not key.startswith("."):
            assert set(self.objects[key].splitlines()) <= set(body.splitlines()), f"{key} lost events"
            self.replaced.append(key)
        self.objects[key] = body

    def get_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803
        self._answer(Bucket)
        if Key not in self.objects:
            raise self.exceptions.NoSuchKey({"Error": {"Code": "NoSuchKey"}}, "GetObject")
        return {"Body": BytesIO(self.objects[Key])}

    def head_object(self, *, Bucket: str, Key: str) -> None:  # noqa: N803
        self._answer(Bucket)
        if Key not in self.objects:
            raise _error("404", 404)

    def get_paginator(self, operation: str) -> "FakeS3":
        assert operation == "list_objects_v2"
        return self

    def paginate(self, *, Bucket: str, Prefix: str) -> Iterator[dict[str, Any]]:  # noqa: N803
        self._answer(Bucket)
        for key in sorted(key for key in self.objects if key.startswith(Prefix)):
            yield {"Contents": [{"Key": key}]}

    def _answer(self, bucket: str) -> None:
        assert bucket == BUCKET
        if self.failures:
            self.failures -= 1
            raise EndpointConnectionError(endpoint_url="http://127.0.0.1:1")

    class exceptions:  # noqa: N801
        class NoSuchKey(ClientError):  # noqa: N818
            pass


def _error(code: str, status: int) -> ClientError:
    response: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(response, "Call")


class World:
    """One topic and one bucket, which outlive the sinks that are run on them."""

    def __init__(self, values: Sequence[Value], **settings: Any) -> None:
        self.topic = FakeTopic(values)
        self.s3 = FakeS3()
        self.clock = Clock()
        self.settings = task_settings(**settings)

    def run(self, crash_at: int | None = None, **hooks: Any) -> "Run":
        """Run a sink until everything is read; one that crashes says so in its result."""
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

    def gaps(self) -> list[tuple[Any, Any]]:
        store = LandingStore(cast("S3Client", self.s3), BUCKET, self.settings.name)
        return [(gap["first"], gap["end"]) for gap in store.gaps()]


class Run:
    """One life of a sink."""

    def __init__(self, world: World, crash_at: int | None, **hooks: Any) -> None:
        self.crashed = False
        fragile: bool = hooks.pop("fragile", False)
        self.steps = Steps(crash_at)
        world.s3.steps = self.steps
        when_idle: Callable[[SinkTask], None] = hooks.pop("when_idle", SinkTask.stop)
        self.member = FakeMember(world.topic, world.clock, self.steps, when_idle=lambda: when_idle(self.task))
        for name, value in hooks.items():
            setattr(self.member, name, value)
        store = LandingStore(cast("S3Client", world.s3), BUCKET, world.settings.name)
        self.task = SinkTask(world.settings, self.member, store, None, fragile=fragile, clock=world.clock)


def task_settings(**settings: Any) -> TaskSettings:
    defaults: dict[str, Any] = {
        "topic": TOPIC,
        "bucket": BUCKET,
        "prefix": "events",
        "region": "us-east-1",
        "flush_count": 3,
        "flush_interval_seconds": 60,
    }
    sink = SinkSettings(**{**defaults, **settings})
    return TaskSettings.of(sink.name, sink_connector(sink))
