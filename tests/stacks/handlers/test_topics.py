"""The topics' custom resource on a real broker: first deployment, update, rollback, retry, deletion.

It runs as a user with the rights of its role on AWS, from the same statements. The login itself is IAM's there;
tests/operate/kafka/test_reader.py signs it.
"""

from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupState, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from local.look.topic import Topic
from local.services.kafka import Kafka
from local.services.kafka_rights import TOPICS as ROLE
from local.services.kafka_rights import acls
from local.setup.ports import choose
from plugins.connector_names import sink_group
from plugins.connector_settings import SinkSettings
from plugins.kafka import topic_admin
from plugins.kafka.topics import HOUR_MS, PlannedTopic, topics_access
from stacks.handlers import journal, topics
from tests.broker import RunningBroker
from tests.stacks.handlers.cloudformation import Stack, World, failing

pytestmark = pytest.mark.integration
REQUEST_S = 10


@pytest.fixture
def kafka(shared_broker: RunningBroker) -> Kafka:
    return shared_broker.kafka


def administrator(kafka: Kafka) -> dict[str, Any]:
    return {**kafka.client(), "log_level": 0, "socket.timeout.ms": 1_000}


@pytest.fixture
def deployed(kafka: Kafka, world: World, monkeypatch: pytest.MonkeyPatch) -> Stack:
    """The resource, with the broker's login in place of MSK's."""

    def connection(servers: str) -> dict[str, Any]:
        return {**administrator(kafka), **kafka.client(ROLE), "bootstrap.servers": servers}

    monkeypatch.setattr(topics, "connection", connection)
    return Stack(world, topics, "Topics")


def plan(prefix: str, *, hours: int = 168, partitions: int = 1) -> list[PlannedTopic]:
    events = {"cleanup.policy": "delete", "retention.ms": str(hours * HOUR_MS)}
    return [
        PlannedTopic(name=f"{prefix}.events", partitions=partitions, replicas=1, config=events),
        PlannedTopic(name=f"{prefix}.offsets", partitions=1, replicas=1, config={"cleanup.policy": "compact"}),
    ]


def request(kafka: Kafka, planned: list[PlannedTopic], **changes: Any) -> dict[str, Any]:
    """A request for these topics, and its rights."""
    sink = SinkSettings(name=planned[0].name, topics=(planned[0].name,), bucket="landing", region="us-east-1")
    kafka.sync_acls(acls(ROLE, topics_access(planned, sink)))
    return {
        "bootstrapServers": kafka.bootstrap_servers,
        "topics": [topic.as_request() for topic in planned],
        "group": sink_group(sink.name),
        "groupTopic": planned[0].name,
        **changes,
    }


def retention_ms(kafka: Kafka, name: str) -> str:
    admin = AdminClient(administrator(kafka))
    [answer] = admin.describe_configs([ConfigResource(ResourceType.TOPIC, name)]).values()
    return str(answer.result(REQUEST_S)["retention.ms"].value)


def send(kafka: Kafka, topic: str, *values: bytes) -> None:
    producer = Producer(administrator(kafka))
    for value in values:
        producer.produce(topic, value=value)
    assert producer.flush(REQUEST_S) == 0


def test_the_first_deployment_makes_the_topics_and_the_sinks_lag_is_known(kafka: Kafka, deployed: Stack) -> None:
    """MSK publishes it for a group that is stable or empty and has an offset."""
    wanted = request(kafka, plan("first", hours=48))
    deployed.create(wanted)
    assert retention_ms(kafka, "first.events") == str(48 * HOUR_MS)
    assert kafka.topic_ids(["first.offsets"])["first.offsets"] is not None
    assert deployed.physical_id == "first.events/topics"
    assert kafka.committed_offsets(wanted["group"], ["first.events"])["first.events"] == 0
    admin = AdminClient(administrator(kafka))
    [answer] = admin.describe_consumer_groups([wanted["group"]]).values()
    assert answer.result(REQUEST_S).state == ConsumerGroupState.EMPTY


def test_without_its_rights_it_waits_and_says_which_topic_is_refused(
    kafka: Kafka, deployed: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """IAM needs some seconds to propagate a role's new policy."""
    monkeypatch.setenv("DEADLINE_SECONDS", "60")
    wanted = request(kafka, plan("refused"))
    kafka.sync_acls([])
    reason = failing(deployed.create, wanted)
    assert reason.startswith("gave up waiting: topic refused.")
    assert "uthoriz" in reason


def test_an_update_changes_the_configuration_and_keeps_the_records(kafka: Kafka, deployed: Stack) -> None:
    deployed.create(request(kafka, plan("update")))
    send(kafka, "update.events", b"kept")
    before = deployed.physical_id, kafka.topic_ids(["update.events"])["update.events"]
    deployed.update(request(kafka, plan("update", hours=24, partitions=2)))
    assert retention_ms(kafka, "update.events") == str(24 * HOUR_MS)
    assert (deployed.physical_id, kafka.topic_ids(["update.events"])["update.events"]) == before
    # Another resource fails after this one: CloudFormation sends the former request, with fewer partitions.
    deployed.update(request(kafka, plan("update")))
    assert retention_ms(kafka, "update.events") == str(168 * HOUR_MS)


def test_deleting_it_leaves_topics_and_records_and_the_next_one_adopts_them(kafka: Kafka, deployed: Stack) -> None:
    deployed.create(request(kafka, plan("kept")))
    send(kafka, "kept.events", b"1")
    before = kafka.topic_ids(["kept.events"])["kept.events"]
    deployed.delete()
    deployed.create(request(kafka, plan("kept")))
    assert kafka.topic_ids(["kept.events"])["kept.events"] == before
    assert Topic(connection=kafka.client(), name="kept.events").count() == 1


def test_silent_brokers_end_with_the_reason(kafka: Kafka, deployed: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_admin, "REQUEST_S", 0.2)
    monkeypatch.setattr(topics, "TRIES", 1)
    monkeypatch.setenv("DEADLINE_SECONDS", "60")
    [closed] = choose(["nobody"], earlier={}).values()
    reason = failing(deployed.create, request(kafka, plan("never"), bootstrapServers=f"127.0.0.1:{closed}"))
    assert reason.startswith("gave up waiting: topic never.events: ")
    assert "refused" in reason


def test_what_kafka_never_takes_fails_at_once_in_one_line(kafka: Kafka, deployed: Stack) -> None:
    [events, offsets] = plan("wrong")
    reason = failing(deployed.create, request(kafka, [replace(events, config={"retention.ms": "many"}), offsets]))
    assert reason.startswith("topic wrong.events: ")
    assert "\n" not in reason


def test_an_offset_that_a_group_has_stays(kafka: Kafka, deployed: Stack) -> None:
    wanted = request(kafka, plan("offset"))
    deployed.create(wanted)
    send(kafka, "offset.events", b"1", b"2", b"3")
    consumer = Consumer({**administrator(kafka), "group.id": wanted["group"]})
    consumer.commit(offsets=[TopicPartition("offset.events", 0, 2)], asynchronous=False)
    consumer.close()
    deployed.update(request(kafka, plan("offset", hours=24)))
    assert kafka.committed_offsets(wanted["group"], ["offset.events"])["offset.events"] == 2


def test_the_end_of_a_pause_gives_a_forgotten_group_its_first_offset_again(kafka: Kafka, deployed: Stack) -> None:
    """Kafka forgets the offsets of a group without members for a week, and the lag would be unknown again."""
    wanted = request(kafka, plan("forgotten"))
    deployed.create(wanted)
    admin = AdminClient(administrator(kafka))
    admin.delete_consumer_groups([wanted["group"]])[wanted["group"]].result(REQUEST_S)
    assert kafka.committed_offsets(wanted["group"], ["forgotten.events"])["forgotten.events"] is None
    # The property next to the request makes it an update; the handler reads only the request.
    deployed.properties = deployed.properties | {"Paused": "all"}
    deployed.update(wanted)
    assert kafka.committed_offsets(wanted["group"], ["forgotten.events"])["forgotten.events"] == 0


def test_a_group_with_members_is_left_alone(kafka: Kafka, deployed: Stack) -> None:
    """A sink that has waited for its first record since before this resource existed."""
    wanted = request(kafka, plan("members"))
    kafka.create_topics(plan("members"))
    member = Consumer({**administrator(kafka), "group.id": wanted["group"], "auto.offset.reset": "earliest"})
    member.subscribe(["members.events"])
    while not member.assignment():
        member.poll(0.1)
    try:
        deployed.create(wanted)
        assert kafka.committed_offsets(wanted["group"], ["members.events"])["members.events"] is None
    finally:
        member.close()


def test_a_rollback_waits_for_a_call_under_way(kafka: Kafka, deployed: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    deployed.create(request(kafka, plan("underway")))
    # A try that a slow broker left without an answer counts as under way for so long.
    deployed.world.run(journal.RUN_SECONDS)
    rollbacks = deployed.roll_back_in(monkeypatch, topics, "apply_plan")
    deployed.begin_update(request(kafka, plan("underway", hours=1))).poll()
    deployed.finish(rollbacks[0])
    assert retention_ms(kafka, "underway.events") == str(168 * HOUR_MS)
