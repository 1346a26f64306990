"""Topics on a real broker: created, adjusted to the plan, widened; no data is lost."""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer, TopicCollection
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from local.errors import PlatformError
from local.look.topic import Topic
from local.services.kafka import Kafka
from plugins.kafka import topic_admin
from plugins.kafka.topic_admin import TopicError, Unready, apply_plan
from plugins.kafka.topics import PlannedTopic
from tests.broker import RunningBroker
from tests.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]

REQUEST_S = 10
OF_THE_TOPIC = 1
COMPACTED = {"cleanup_policy": "compact"}
AN_HOUR = {"retention.ms": "3600000", "min.insync.replicas": "1"}
_numbers = itertools.count(1)


@pytest.fixture
def kafka(shared_broker: RunningBroker) -> Kafka:
    return shared_broker.kafka


@pytest.fixture
def admin(kafka: Kafka) -> AdminClient:
    return AdminClient({**kafka.client(), "log_level": 0})


def planned(*, partitions: int = 1, replicas: int = 1, **config: Any) -> PlannedTopic:
    """A topic under a unique name; `retention_ms="5"` for `retention.ms=5`."""
    given = {key.replace("_", "."): str(value) for key, value in config.items()}
    return PlannedTopic(name=f"t{next(_numbers)}", partitions=partitions, replicas=replicas, config=given)


def bring_all(kafka: Kafka, admin: AdminClient, *topics: PlannedTopic) -> list[str]:
    """Adjust topics to their plan, repeatedly if necessary; return the messages."""
    said: list[str] = []
    for _ in range(100):
        try:
            apply_plan(admin, topics, say=said.append)
            return list(dict.fromkeys(said))
        except Unready:
            kafka.ready()
    raise AssertionError(said)


def configuration(admin: AdminClient, name: str) -> Mapping[str, str]:
    """A topic's own configuration, without the broker's; a moment after a change it may be the former one."""
    [answer] = admin.describe_configs([ConfigResource(ResourceType.TOPIC, name)]).values()
    return {key: entry.value for key, entry in answer.result(REQUEST_S).items() if entry.source == OF_THE_TOPIC}


def described(admin: AdminClient, name: str) -> Any:
    [answer] = admin.describe_topics(TopicCollection([name])).values()
    return answer.result(REQUEST_S)


def send(kafka: Kafka, topic: str, *values: bytes) -> None:
    producer = Producer(kafka.client())
    for value in values:
        producer.produce(topic, key=b"k", value=value, partition=0)
    assert producer.flush(REQUEST_S) == 0


def test_what_is_absent_is_made_as_planned(kafka: Kafka, admin: AdminClient) -> None:
    events, offsets = planned(partitions=2, retention_ms="3600000"), planned(cleanup_policy="compact")
    said = bring_all(kafka, admin, events, offsets)
    assert said == [f"made topic {events.name}", f"made topic {offsets.name}"]
    assert configuration(admin, events.name) == AN_HOUR
    assert configuration(admin, offsets.name) == {"cleanup.policy": "compact", "min.insync.replicas": "1"}
    before = described(admin, events.name)
    assert len(before.partitions) == 2
    # A second time nothing is done.
    assert bring_all(kafka, admin, events, offsets) == []
    assert str(described(admin, events.name).topic_id) == str(before.topic_id)


def test_an_existing_topic_keeps_its_records_and_gets_the_configuration(kafka: Kafka, admin: AdminClient) -> None:
    topic = planned(retention_ms="3600000")
    wanted = NewTopic(topic.name, 1, 1, config={"segment.ms": "100000", "retention.ms": "-1"})
    admin.create_topics([wanted])[topic.name].result(REQUEST_S)
    send(kafka, topic.name, b"kept")
    said = bring_all(kafka, admin, topic)
    assert said == [f"topic {topic.name} gets retention.ms=3600000, min.insync.replicas=1"]
    # The plan leaves settings alone that it doesn't name.
    wait_until(lambda: configuration(admin, topic.name) == AN_HOUR | {"segment.ms": "100000"})
    [event] = Topic(connection=kafka.client(), name=topic.name).raw_events(0)
    assert event.value == b"kept"


@pytest.mark.parametrize(
    ("before", "after", "partitions", "said"),
    [
        ({}, {"partitions": 3}, 3, "has 3 partitions now, instead of 1"),
        ({"partitions": 3}, {}, 3, "keeps its 3 partitions, though 1 are planned: Kafka can't take any away"),
        # A newer offset in another partition wouldn't replace the older one: Connect reads both, in any order.
        (COMPACTED, {"partitions": 2}, 1, "keeps its 1 partitions, though 2 are planned: it is compacted"),
        ({}, {"replicas": 3}, 1, "keeps its 1 replicas, though 3 are planned (decision 0042)"),
    ],
)
def test_partitions_grow_where_they_can_and_it_is_said(
    kafka: Kafka, admin: AdminClient, before: dict[str, Any], after: dict[str, Any], partitions: int, said: str
) -> None:
    topic = planned(**before)
    bring_all(kafka, admin, topic)
    send(kafka, topic.name, b"kept")
    [line] = bring_all(kafka, admin, replace(topic, **{"partitions": 1, **after}))
    assert line.startswith(f"topic {topic.name} {said}")
    assert len(described(admin, topic.name).partitions) == partitions
    assert Topic(connection=kafka.client(), name=topic.name).count() == 1
    assert configuration(admin, topic.name)["min.insync.replicas"] == "1"


def test_a_call_is_repeated_without_harm(kafka: Kafka, admin: AdminClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that timed out creates the topic between the check and the creation."""
    topic = planned(retention_ms="3600000")

    def made_meanwhile(wanted: list[NewTopic], **options: Any) -> Any:
        AdminClient.create_topics(admin, wanted)[topic.name].result(REQUEST_S)
        return AdminClient.create_topics(admin, wanted, **options)

    monkeypatch.setattr(admin, "create_topics", made_meanwhile)
    bring_all(kafka, admin, topic)
    assert configuration(admin, topic.name)["retention.ms"] == "3600000"


@pytest.mark.parametrize(
    ("config", "error", "reason"),
    [
        # During a broker's restart, Kafka refuses to create a topic with a replica on it.
        ({"replicas": 2}, Unready, ".*replication.factor"),
        ({"retention_ms": "many"}, TopicError, "[^\n]+$"),
        ({"no_such_key": "1"}, TopicError, "[^\n]+$"),
    ],
)
def test_too_few_brokers_are_waited_for_and_what_kafka_will_never_take_is_refused(
    admin: AdminClient, config: dict[str, Any], error: type[Exception], reason: str
) -> None:
    topic = planned(**config)
    with pytest.raises(error, match=f"^topic {topic.name}: {reason}"):
        apply_plan(admin, [topic], say=lambda _text: None)


def test_the_platform_says_in_one_line_what_cant_be_made(kafka: Kafka) -> None:
    topic = planned(retention_ms="many")
    with pytest.raises(PlatformError, match=f"^topic {topic.name}: "):
        kafka.create_topics([topic])


def test_looking_for_a_topic_makes_none(kafka: Kafka, admin: AdminClient) -> None:
    name = planned().name
    with pytest.raises(KafkaException) as refusal:
        described(admin, name)
    assert refusal.value.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART
    with pytest.raises(KafkaException):
        Topic(connection=kafka.client(), name=name).bounds()
    assert kafka.committed_offsets("nobody", [name]) == {name: None}
    with pytest.raises(Unready, match="group nobody: "):
        topic_admin.set_first_offsets(kafka.client(), group="nobody", topic=name, say=lambda _text: None)
    assert name not in admin.list_topics(timeout=REQUEST_S).topics
