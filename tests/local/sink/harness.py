"""Helpers for the integration tests with a real broker and a real S3 endpoint, which may answer 503."""

import contextlib
import itertools
import json
import socket
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from confluent_kafka import KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from local.look.json_lines import keys
from local.services.aws import REGION, S3
from local.services.kafka import ADMIN, Kafka
from local.services.processes import Processes
from local.sink.consumer import DeadLetterQueue, GroupConsumer
from local.sink.settings import TaskSettings
from local.sink.store import LandingStore, s3_client
from local.sink.task import SinkTask
from plugins.connector_settings import SinkSettings
from plugins.sink.sink_connector import sink_connector
from tests.broker import RunningBroker
from tests.waiting import PATIENCE_S, wait_until

ROOT = Path(__file__).resolve().parents[3]
BUCKET = "landing"
REQUEST_S = 60.0

_numbers = itertools.count(1)


@dataclass(frozen=True, kw_only=True)
class Services:
    """The running broker, shared with other tests, and S3 endpoint."""

    processes: Processes
    broker: RunningBroker
    s3: S3
    folder: Path

    @property
    def kafka(self) -> Kafka:
        return self.broker.kafka

    @property
    def admin(self) -> AdminClient:
        return AdminClient({**self.kafka.client()})


class Pipeline:
    """One topic with its sink's configuration and its own prefix in the bucket."""

    def __init__(self, services: Services, *, partitions: int = 1, **settings: Any) -> None:
        self.services = services
        self.topic = f"orders-{next(_numbers)}"
        defaults = {"topics": (self.topic,), "endpoint": services.s3.endpoint, "flush_interval_seconds": 1}
        self.sink = SinkSettings(
            name=f"sink-{self.topic}",
            bucket=BUCKET,
            prefix=f"events-{self.topic}",
            region=REGION,
            **{**defaults, "flush_count": 100, **settings},
        )
        self.settings = TaskSettings.of(self.sink.name, sink_connector(self.sink))
        self.create_topic(partitions)
        self._numbers = itertools.count()

    def create_topic(self, partitions: int = 1) -> None:
        admin = self.services.admin
        admin.create_topics([NewTopic(self.topic, partitions, 1)])[self.topic].result(REQUEST_S)

    def delete_topic(self) -> None:
        admin = self.services.admin
        admin.delete_topics([self.topic])[self.topic].result(REQUEST_S)

    def produce(self, count: int, *, partitions: int = 1) -> list[bytes]:
        """Send events with growing numbers; returns their values."""
        values = [
            json.dumps({"n": number, "customer_id": number % 7, "order_id": number % 40 or None}).encode()
            for number in itertools.islice(self._numbers, count)
        ]
        self.send(values, partitions=partitions)
        return values

    def send(self, values: Sequence[bytes | None], *, partitions: int = 1, topics: Sequence[str] = ()) -> None:
        """Send values, in turns to the topics (by default the pipeline's own) and to the partitions."""
        # Without idempotence, a batch that is sent again, as on a busy machine, arrives after the next one.
        producer = Producer({**self.services.kafka.client(), "enable.idempotence": True})
        for number, (value, topic) in enumerate(zip(values, itertools.cycle(topics or [self.topic]), strict=False)):
            producer.produce(topic, value=value, key=b'{"k": 0}', partition=number % partitions)
        assert producer.flush(REQUEST_S) == 0

    def delete_before(self, offset: int) -> None:
        admin = self.services.admin
        for result in admin.delete_records([TopicPartition(self.topic, 0, offset)]).values():
            result.result(REQUEST_S)

    def listed(self) -> list[str]:
        """All landed objects' keys without the prefix.

        While S3Proxy writes an object it lists another, unfinished one, with a suffix after the name.
        """
        prefix = f"{self.sink.prefix}/"
        found = keys(self.services.s3.client(), BUCKET, prefix)
        return [key.removeprefix(prefix) for key in found if key.endswith(".json")]

    def objects(self) -> dict[str, bytes]:
        client, prefix = self.services.s3.client(), self.sink.prefix
        return {key: client.get_object(Bucket=BUCKET, Key=f"{prefix}/{key}")["Body"].read() for key in self.listed()}

    def landed(self) -> list[bytes]:
        return [line for body in self.objects().values() for line in body.splitlines()]

    def gaps(self) -> list[tuple[Any, Any]]:
        client, (prefix, _) = self.services.s3.client(), LandingStore.note_keys(self.sink.name, self.topic)
        listed = keys(client, BUCKET, prefix)
        notes = [json.loads(client.get_object(Bucket=BUCKET, Key=key)["Body"].read()) for key in listed]
        return [(gap["first"], gap["end"]) for gap in notes]

    def store(self) -> LandingStore:
        return LandingStore(s3_client(self.settings.endpoint), BUCKET, self.settings.name)

    def committed(self) -> int | None:
        try:
            return self.services.kafka.committed_offsets(self.settings.group, [self.topic])[self.topic]
        except KafkaException:  # no coordinator yet
            return None

    def wait_committed(self, offset: int) -> None:
        wait_until(lambda: self.committed() == offset, f"{self.topic} is committed up to {offset}")

    def task(self, consumer: GroupConsumer | None = None) -> SinkTask:
        kafka = self.services.kafka.client()
        letters = self.settings.dead_letters
        queue = None if letters is None else DeadLetterQueue(kafka, letters)
        return SinkTask(self.settings, consumer or GroupConsumer(kafka, self.settings), self.store(), queue)

    @contextlib.contextmanager
    def running(self) -> Iterator["RunningTask"]:
        """Run the sink in a thread; at the end it is stopped and must have ended without an error."""
        running = RunningTask(self.task())
        try:
            yield running
        finally:
            running.stop()

    def start_process(self) -> subprocess.Popen[bytes]:
        """Start the sink as the platform does."""
        config = self.services.folder / f"{self.sink.name}.json"
        kafka = self.services.kafka
        config.write_text(json.dumps({"name": self.sink.name, "config": sink_connector(self.sink)}))
        with (self.services.folder / f"{self.sink.name}.log").open("ab") as log:
            return subprocess.Popen(
                [
                    *(sys.executable, "-m", "local.sink", "--config", str(config)),
                    *("--kafka", str(kafka.users.client_file(ADMIN, kafka.bootstrap_servers))),
                ],
                cwd=ROOT,
                stderr=log,
            )


class RunningTask:
    """A sink in a thread of this process."""

    def __init__(self, task: SinkTask) -> None:
        self.task = task
        self._ended = ThreadPoolExecutor(1).submit(task.run)

    @property
    def error(self) -> BaseException | None:
        return self._ended.exception() if self._ended.done() else None

    def wait(self) -> BaseException | None:
        """Wait until it has ended without being stopped; returns the error that ended it."""
        return self._ended.exception(PATIENCE_S)

    def stop(self) -> None:
        self.task.stop()
        self._ended.result(PATIENCE_S)


BODY = b"<Error><Code>ServiceUnavailable</Code><Message>Reduce your request rate.</Message></Error>"
ANSWER = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/xml\r\nConnection: close\r\n"
    b"Content-Length: " + str(len(BODY)).encode() + b"\r\n\r\n" + BODY
)
TIMEOUT_S = 5.0


class FaultyS3(socketserver.ThreadingTCPServer):
    """Forwards bytes to `endpoint` while `away` isn't set. Everything is on loopback."""

    daemon_threads = True

    def __init__(self, endpoint: str) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        parts = urlsplit(endpoint)
        self.upstream = (parts.hostname or "", parts.port or 0)
        self.connections: set[socket.socket] = set()
        self.away = threading.Event()
        self.refused = 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @contextlib.contextmanager
    def outage(self) -> Iterator[None]:
        """Cut open connections and answer 503 to new ones."""
        self.away.set()
        self.cut()
        try:
            yield
        finally:
            self.away.clear()

    def cut(self) -> None:
        for connection in list(self.connections):
            _close(connection)

    def close(self) -> None:
        self.shutdown()
        self.server_close()
        self.cut()


class _Connection(socketserver.BaseRequestHandler):
    server: FaultyS3
    request: socket.socket

    def handle(self) -> None:
        if self.server.away.is_set():
            self._refuse()
            return
        with contextlib.suppress(OSError):
            upstream = socket.create_connection(self.server.upstream, timeout=TIMEOUT_S)
            upstream.settimeout(None)
            self.server.connections |= {self.request, upstream}
            back = threading.Thread(target=_pass_on, args=(upstream, self.request), daemon=True)
            back.start()
            _pass_on(self.request, upstream)
            back.join()
            self.server.connections -= {self.request, upstream}

    def _refuse(self) -> None:
        self.server.refused += 1
        self.request.settimeout(TIMEOUT_S)
        with contextlib.suppress(OSError):
            received = b""
            while b"\r\n\r\n" not in received:
                received += self.request.recv(65_536)
            self.request.sendall(ANSWER)
            self.request.shutdown(socket.SHUT_WR)
            # With unread data, the kernel would reset the connection before the answer is read.
            while self.request.recv(65_536):
                pass


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while chunk := source.recv(65_536):
            target.sendall(chunk)
    for end in (source, target):
        _close(end)


def _close(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
