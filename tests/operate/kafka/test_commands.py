"""Topics and tail on a real broker, as the commands run on the local platform; the last test stops it."""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Producer

from contract.errors import CANNOT
from local.services.kafka import Kafka
from local.services.kafka_rights import READER, acls
from local.services.processes import Processes
from operate.errors import OperateError
from operate.kafka.cluster import Cluster, of_platform
from operate.kafka.reader import connect, follow, list_topics
from operate.resnapshot.connectors import StoredOffsets
from plugins.kafka.topics import READER_GROUP, PlannedTopic, reader_access
from tests.broker import START_S, STOP_S, running_broker
from tests.waiting import PATIENCE_S

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

ROOT = Path(__file__).resolve().parents[3]
EVENTS = "demo.datalake.cdc_events"
WIDE = "wide"
MESSAGES = 40
# At least: longer than a broker's restart takes.
OUTAGE_S = 20.0
# The command, except for the platform's location.
TAIL = """
import os
from cli.__main__ import app
from operate.kafka import cluster, reader
from operate.kafka.cluster import Cluster
reader.OUTAGE_S = float(os.environ["OUTAGE_S"])
login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanisms": "PLAIN", "sasl.username": "reader"}
login["sasl.password"] = os.environ["READER_PASSWORD"]
servers, topic = os.environ["SERVERS"], "demo.datalake.cdc_events"
found = Cluster(environment="local", bootstrap_servers=servers, topics={topic: topic}, login=login)
cluster.find_cluster = lambda *asked: found
app(prog_name="lake")
"""


@dataclass(frozen=True)
class Broker:
    """A broker, how to end it, a producer, and the outage that tail waits out: several times what a start takes."""

    processes: Processes
    kafka: Kafka
    producer: Producer
    outage_s: float

    @property
    def cluster(self) -> Cluster:
        return of_platform(self.kafka, {"datalake.cdc_events": EVENTS})

    def send(self, topic: str, *messages: tuple[object, object]) -> None:
        """Send keys and values: bytes unchanged, None as no value, anything else as JSON."""
        for key, value in messages:
            self.producer.produce(topic, key=encoded(key), value=encoded(value))
        assert self.producer.flush(10) == 0


def encoded(value: object) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    return json.dumps(value).encode()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    began = time.monotonic()
    with running_broker(tmp_path_factory.mktemp("operate"), READER) as running:
        outage_s = max(OUTAGE_S, 4 * (time.monotonic() - began))
        kafka = running.kafka
        topics = {EVENTS: 1, "__bookkeeping": 1, "empty": 1, WIDE: 3}
        kafka.create_topics([PlannedTopic(name=name, partitions=count, replicas=1) for name, count in topics.items()])
        kafka.sync_acls(acls(READER, reader_access()))
        started = Broker(running.processes, kafka, Producer(kafka.client()), outage_s)
        started.send(
            EVENTS,
            ({"order_id": 1}, {"order_id": 1, "ship_city": "Zürich", "__deleted": "false"}),
            ({"order_id": 2}, {"order_id": 2, "__deleted": "true"}),
            ({"order_id": 2}, None),
            (None, b"\xff\x1b[31mred\nno JSON"),
        )
        for partition in (0, 0, 2):
            started.producer.produce(WIDE, value=b"1", partition=partition)
        started.producer.flush(STOP_S)
        yield started


@contextlib.contextmanager
def running(broker: Broker, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The command in a separate process, once standard error shows that it follows."""
    process = subprocess.Popen(
        [sys.executable, "-c", TAIL, *arguments],
        cwd=ROOT,
        env=os.environ
        | {
            "PYTHONUNBUFFERED": "1",
            "OUTAGE_S": str(broker.outage_s),
            "SERVERS": broker.kafka.bootstrap_servers,
            "READER_PASSWORD": broker.kafka.users.passwords[READER],
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr
        assert "Ctrl-C ends" in process.stderr.readline()
        yield process
    finally:
        process.kill()
        process.communicate()


def test_topics_are_listed_with_partitions_messages_and_offsets(broker: Broker) -> None:
    with connect(broker.cluster) as reader:
        found = {topic.name: topic for topic in list_topics(reader)}
        assert "__bookkeeping" in {topic.name for topic in list_topics(reader, internal=True)}
        assert [topic.name for topic in list_topics(reader, only=[WIDE, "not.there"])] == [WIDE]
    assert list(found) == [EVENTS, "empty", WIDE]
    assert (found[EVENTS].partitions, found[EVENTS].messages) == (1, 4)
    assert (found["empty"].messages, found["empty"].latest) == (0, 0)
    wide = found[WIDE]
    assert (wide.partitions, wide.messages, wide.earliest, wide.latest) == (3, 3, 0, 2)


def test_tail_shows_keys_values_deleted_rows_and_what_is_no_json(broker: Broker) -> None:
    with connect(broker.cluster) as reader:
        lines = list(follow(reader, EVENTS, start="beginning", count=4))
    assert [line.place for line in lines] == ["0/0", "0/1", "0/2", "0/3"]
    assert [line.key for line in lines] == ['{"order_id":1}', '{"order_id":2}', '{"order_id":2}', "null"]
    assert [line.gone for line in lines] == ["", "deleted", "tombstone", ""]
    assert lines[0].value == '{"order_id":1,"ship_city":"Zürich","__deleted":"false"}'
    assert lines[2].value == ""
    # One line, without terminal control sequences.
    assert lines[3].value == r'"\\xff\u001b[31mred\nno JSON"'
    assert lines[0].time.endswith("Z")


def test_tail_reads_all_partitions(broker: Broker) -> None:
    with connect(broker.cluster) as reader:
        lines = list(follow(reader, WIDE, start="beginning", count=3))
    assert sorted(line.place for line in lines) == ["0/0", "0/1", "2/0"]


def test_a_topic_that_is_not_there_is_one_line_and_is_not_made(broker: Broker) -> None:
    expected = pytest.raises(OperateError, match=f"^there is no topic {EVENTS}x: did you mean {EVENTS}")
    with expected, connect(broker.cluster) as reader:
        list(follow(reader, f"{EVENTS}x", start="end"))
    with connect(broker.cluster) as reader:
        assert f"{EVENTS}x" not in reader.partitions()


def test_tail_from_the_end_shows_what_comes_until_ctrl_c_and_leaves_no_trace(broker: Broker) -> None:
    with running(broker, "kafka", "tail", EVENTS) as process:
        assert process.stdout
        assert process.stderr
        lines = iter(process.stdout.readline, "")
        # It starts at the end as of the command's request; every later message is shown.
        sent = 0
        while not select.select([process.stdout], [], [], 0.05)[0] or sent < MESSAGES:
            broker.send(EVENTS, ({"order_id": sent}, {"order_id": sent}))
            sent += 1
        first = next(lines).split("  ")
        assert int(first[0].removeprefix("0/")) >= 4
        seen = int(json.loads(first[3])["order_id"])
        while seen < sent - 1:
            following = int(json.loads(next(lines).split("  ")[3])["order_id"])
            assert following == seen + 1
            seen = following
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
        assert process.stderr.read() == ""
    assert broker.kafka.committed_offsets(READER_GROUP, [EVENTS]) == {EVENTS: None}


def test_a_connectors_stored_offsets_are_read_on_from_where_they_were(broker: Broker) -> None:
    topic, key = "__cdc_lake_offsets_shop", ["shop", {"server": "shop"}]
    broker.kafka.create_topics(
        [PlannedTopic(name=topic, partitions=3, replicas=1, config={"cleanup.policy": "compact"})]
    )
    with connect(broker.cluster) as reader:
        stored = StoredOffsets(reader, topic, "shop")
        assert stored.read() == []
        broker.send(topic, (key, {"lsn": 1}), (key, {"lsn": 2, "incremental_snapshot_collections": "[]"}))
        assert stored.read() == [{"lsn": 2, "incremental_snapshot_collections": "[]"}]
        broker.send(topic, (key, {"lsn": 3}))
        assert stored.read() == [{"lsn": 3}]


def test_tail_ends_quietly_with_its_reader(broker: Broker) -> None:
    with running(broker, "kafka", "tail", EVENTS, "--from", "beginning") as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.stdout.close()
        broker.send(EVENTS, ({"order_id": 1}, {"order_id": 1}))
        assert process.wait(PATIENCE_S) == 0
        assert process.stderr.read() == ""


def test_tail_goes_on_when_the_broker_comes_back_and_ends_with_one_line_when_it_stays_away(broker: Broker) -> None:
    with running(broker, "kafka", "tail", EVENTS, "--from", "beginning") as process:
        assert process.stdout
        assert process.stderr
        lines = iter(process.stdout.readline, "")
        next(lines)
        broker.processes.stop("kafka", grace_s=STOP_S)
        time.sleep(broker.outage_s / 3)
        broker.processes.start("kafka", broker.kafka.prepare())
        broker.processes.wait_until("kafka", broker.kafka.ready, timeout_s=START_S)
        broker.send(EVENTS, ({"order_id": 1_001}, {"order_id": 1_001}))
        assert next(line for line in lines if '{"order_id":1001}' in line)
        broker.processes.stop("kafka", grace_s=STOP_S)
        assert process.wait(PATIENCE_S + broker.outage_s) == CANNOT
        [line] = process.stderr.read().splitlines()
        assert line.startswith("tail: local's Kafka ")
        assert line.endswith("run `./lake up` and try again")
