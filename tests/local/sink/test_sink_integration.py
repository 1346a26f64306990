"""The sink on a real broker and a real S3 endpoint, with failures between them."""

import signal
import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka.cimpl import NewTopic

from local.sink.consumer import GroupConsumer
from local.sink.settings import Partition, SinkError
from plugins.kafka.topic_admin import set_first_offsets
from tests.local.sink.fakes import lines_by_folder
from tests.local.sink.harness import Pipeline, RunningTask, Services
from tests.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.integration


def test_a_process_killed_in_mid_stream_loses_and_repeats_nothing(services: Services) -> None:
    pipeline = Pipeline(services, flush_count=20)
    produced: list[bytes] = []
    processes = [pipeline.start_process()]
    try:
        produced += pipeline.produce(2_000)
        wait_until(lambda: (pipeline.committed() or 0) > 200, "the first objects are landed")
        processes[0].kill()
        assert processes[0].wait() == -signal.SIGKILL
        processes = [pipeline.start_process() for _ in range(2)]
        wait_until(lambda: any(process.poll() for process in processes), "only one runs with this configuration")
        [refused] = [process for process in processes if process.poll() == 1]
        [process] = [process for process in processes if process is not refused]
        produced += pipeline.produce(100)
        pipeline.wait_committed(2_100)
        produced += pipeline.produce(3)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
    finally:
        for process in processes:
            process.kill()
            process.wait()
    if pipeline.committed() != len(produced):  # SIGTERM came before the last ones were read
        with pipeline.running():
            pipeline.wait_committed(len(produced))
    assert pipeline.landed() == produced


def test_a_group_with_another_consumer_is_waited_for(services: Services, caplog: pytest.LogCaptureFixture) -> None:
    pipeline = Pipeline(services)
    produced = pipeline.produce(50)
    other = Consumer({**services.kafka.client(), "group.id": pipeline.settings.group})
    other.subscribe([pipeline.topic])
    wait_until(lambda: bool(other.poll(0.1) or other.assignment()), "the other one has joined")
    running = RunningTask(pipeline.task())
    try:
        wait_until(lambda: f"another consumer is in the group {pipeline.settings.group}" in caplog.text, "it is told")
        assert pipeline.landed() == []
        other.close()
        pipeline.wait_committed(50)
    finally:
        running.stop()
    assert pipeline.landed() == produced


def test_a_broker_that_hangs_is_waited_for(services: Services) -> None:
    pipeline = Pipeline(services)
    produced = pipeline.produce(50)
    broker = services.broker.processes.main("kafka")
    assert broker is not None
    with pipeline.running():
        pipeline.wait_committed(50)
        broker.suspend()
        try:
            time.sleep(7)
        finally:
            broker.resume()
        produced += pipeline.produce(50)
        pipeline.wait_committed(100)
    assert pipeline.landed() == produced


def test_a_position_that_kafka_no_longer_has_isnt_skipped_in_silence(services: Services) -> None:
    pipeline = Pipeline(services)
    produced = pipeline.produce(10)
    pipeline.delete_before(4)
    consumer = GroupConsumer(services.kafka.client(), pipeline.settings)
    task = pipeline.task(consumer)
    read_from: Callable[[Any], None] = consumer.read_from
    positions: list[int] = []

    def read_from_deleted(given: dict[Partition, int]) -> None:
        place = Partition(pipeline.topic, 0)
        positions.append(given[place])
        read_from({place: 0} if len(positions) == 1 else given)

    consumer.read_from = read_from_deleted  # type: ignore[method-assign, assignment]
    running = RunningTask(task)
    try:
        pipeline.wait_committed(10)
    finally:
        running.stop()
    assert positions == [4, 4]
    assert pipeline.gaps() == [(0, 4)]
    assert pipeline.landed() == produced[4:]


def delete(pipeline: Pipeline) -> None:
    pipeline.delete_topic()
    topics = pipeline.services.admin.list_topics
    wait_until(lambda: pipeline.topic not in topics(timeout=5).topics, "the topic is gone")


def test_a_topic_made_again_is_refused(services: Services) -> None:
    pipeline = Pipeline(services)
    pipeline.produce(10)
    with pipeline.running():
        pipeline.wait_committed(10)
    delete(pipeline)
    pipeline.create_topic()
    pipeline.produce(20)
    error = RunningTask(pipeline.task()).wait()
    assert isinstance(error, SinkError)
    assert "was deleted and made again" in str(error)
    assert len(pipeline.landed()) == 10


def test_a_malformed_value_goes_to_the_dead_letter_topic(services: Services) -> None:
    admin = services.admin
    admin.create_topics([NewTopic("dead-letters", 1, 1)])["dead-letters"].result(10)
    pipeline = Pipeline(services, dead_letter_topic="dead-letters")
    produced = pipeline.produce(5)
    pipeline.send([b"not JSON"])
    produced += pipeline.produce(5)
    with pipeline.running():
        pipeline.wait_committed(11)
    assert pipeline.landed() == produced
    consumer = Consumer({**services.kafka.client(), "group.id": "reader", "auto.offset.reset": "earliest"})
    consumer.subscribe(["dead-letters"])
    [message] = consumer.consume(timeout=PATIENCE_S)
    consumer.close()
    assert message.value() == b"not JSON"
    headers = dict(message.headers() or [])
    assert headers["__connect.errors.topic"] == pipeline.topic.encode()
    assert headers["__connect.errors.offset"] == b"5"


def test_a_topic_without_a_record_and_one_that_isnt_there_yet_are_waited_for(services: Services) -> None:
    """Production before its first order: the topic exists, and the sink's group has committed its first offset."""
    first, absent = Pipeline(services), Pipeline(services)
    said: list[str] = []
    set_first_offsets(services.kafka.client(), group=first.settings.group, topic=first.topic, say=said.append)
    assert len(said) == 1
    delete(absent)
    with first.running(), absent.running():
        time.sleep(2)
        assert first.landed() == []
        absent.create_topic()
        produced = [pipeline.produce(5) for pipeline in (first, absent)]
        for pipeline in (first, absent):
            pipeline.wait_committed(5)
    assert [first.landed(), absent.landed()] == produced


def test_one_sink_lands_many_topics_a_busy_one_in_nobodys_way(services: Services) -> None:
    """24 tables, one of them with two partitions; one gets 20,000 records while the others get one each."""
    names = [f"many-{number:02d}" for number in range(24)]
    pipeline = Pipeline(services, topics=tuple(names), flush_count=1_000)
    new = [NewTopic(name, 2 if name == names[1] else 1, 1) for name in names]
    admin = services.admin  # results are lost if the client is collected first
    for made in admin.create_topics(new).values():
        made.result(10)
    busy = [b'{"busy": %d}' % number for number in range(20_000)]
    pipeline.send(busy, topics=names[:1])
    with pipeline.running():
        wait_until(lambda: len(pipeline.listed()) > 2, "the busy topic is being landed")
        pipeline.send([b'{"of": "%s"}' % name.encode() for name in names[1:]], topics=names[1:])
        pipeline.send([b'{"of": "partition 1"}'] * 2, topics=names[1:2], partitions=2)
        folders = {f"{name}/0" for name in names} | {f"{names[1]}/1"}
        last = {f"{names[0]}/0/{len(busy) - 1:012d}", f"{names[1]}/0/{1:012d}"}

        def all_is_landed() -> bool:
            ends = {key.partition("_")[0] for key in pipeline.listed()}
            return last <= ends and {end.rpartition("/")[0] for end in ends} == folders

        wait_until(all_is_landed, "everything is landed")
    landed = lines_by_folder(pipeline.objects())
    assert landed.pop(f"{names[0]}/0") == busy
    assert [len(values) for values in landed.values()] == [2, *[1] * 23]
