"""The real broker with its authorizer: who may log in, and what each may do, as the roles' statements say."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from py4j.protocol import Py4JJavaError

from local.look.topic import Topic
from local.services.connect import OFFSET_TOPIC
from local.services.kafka import ADMIN, Kafka
from local.services.kafka_rights import ROLES, SINK, SOURCE, TOPICS, Acl, Denial, denials, platform_acls
from local.services.processes import Processes
from local.setup.jars import jar_folder
from local.tools.worker_classes import java_gateway
from plugins.connector_names import sink_group
from plugins.connector_settings import SinkSettings, SourceSettings
from plugins.kafka.topic_admin import set_first_offsets
from plugins.kafka.topics import PlannedTopic, planned_topics
from tests.broker import START_S, STOP_S, RunningBroker, broker_in
from tests.waiting import PATIENCE_S

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]

ANSWER_S, POLLS = 10.0, 3
TOPIC = "the topic"
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Pipeline:
    """The rights of one pipeline, under names of its own."""

    source: SourceSettings
    sink: SinkSettings

    @property
    def acls(self) -> frozenset[Acl]:
        return platform_acls(self.source, self.sink, self.planned)

    @property
    def planned(self) -> tuple[PlannedTopic, ...]:
        return planned_topics(self.source, self.sink, brokers=1, retention_hours=None, offsets=OFFSET_TOPIC)


def new_pipeline() -> Pipeline:
    prefix = f"shop{next(_numbers)}"
    reference = "${file:/run/secret:password}"
    source = SourceSettings(database_hostname="db", database_password=reference, topic_prefix=prefix)
    return Pipeline(source, SinkSettings(topics=(source.topic,), bucket="landing", region="eu-west-1"))


@pytest.fixture
def broker(shared_broker: RunningBroker) -> Kafka:
    return shared_broker.kafka


@pytest.fixture
def denied(shared_broker: RunningBroker) -> Callable[[], list[Denial]]:
    """What the broker has denied since the test began."""
    log, since = shared_broker.processes.log_file("kafka"), datetime.now(UTC)
    return lambda: denials(log, since=since)


def create(broker: Kafka, topic: str) -> None:
    broker.create_topics([PlannedTopic(name=topic, partitions=1, replicas=1)])


@pytest.fixture(scope="module")
def java() -> Iterator[Any]:
    """A JVM with Kafka's own clients, which Connect's sinks use."""
    with java_gateway(f"{jar_folder('kafka')}/*") as gateway:
        yield gateway.jvm


def first_record(
    java: Any, broker: Kafka, pipeline: Pipeline, *, auto_create: bool, polls: int = int(PATIENCE_S)
) -> str | None:
    """The first record that the sink's consumer gets from its topic, or the error that ends its task; None without."""
    text = "org.apache.kafka.common.serialization.StringDeserializer"
    settings = {
        "bootstrap.servers": broker.bootstrap_servers,
        **broker.users.java_login(SINK),
        "group.id": sink_group(pipeline.sink.name),
        "auto.offset.reset": "earliest",
        "allow.auto.create.topics": str(auto_create).lower(),
        "key.deserializer": text,
        "value.deserializer": text,
    }
    consumer = java.org.apache.kafka.clients.consumer.KafkaConsumer(settings)
    try:
        consumer.subscribe([pipeline.sink.topic])
        for _ in range(polls):
            records = consumer.poll(java.java.time.Duration.ofSeconds(1)).iterator()
            if records.hasNext():
                return str(records.next().value())
        return None
    except Py4JJavaError as error:
        return str(error.java_exception.toString())
    finally:
        consumer.close()


def sent(broker: Kafka, user: str, topic: str, value: bytes = b"{}", *, idempotent: bool = False) -> int | None:
    """Send one record; return the error's code, None on success."""
    codes: list[int | None] = []
    settings = {**broker.client(user), "log_level": 0}
    producer = Producer({**settings, "message.timeout.ms": int(ANSWER_S * 1000), "enable.idempotence": idempotent})
    producer.produce(topic, value, on_delivery=lambda error, _: codes.append(error.code() if error else None))
    assert producer.flush(ANSWER_S) == 0
    return codes[0]


def test_a_sink_whose_topic_is_absent_dies_where_consumers_make_topics_but_it_may_not(java: Any, broker: Kafka) -> None:
    """Production's first start: no sample data, so no topic. It must be created in advance, not by the sink."""
    pipeline = new_pipeline()
    broker.sync_acls(pipeline.acls)
    refused = f"org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized to access topics: [{TOPIC}]"
    assert first_record(java, broker, pipeline, auto_create=True) == refused.replace(TOPIC, pipeline.sink.topic)
    assert first_record(java, broker, pipeline, auto_create=False, polls=POLLS) is None
    # As AWS's custom resource does before the connectors, with its rights.
    broker.create_topics(pipeline.planned, user=TOPICS)
    group, topic = sink_group(pipeline.sink.name), pipeline.sink.topic
    set_first_offsets(broker.client(TOPICS), group=group, topic=topic, say=lambda _text: None)
    assert broker.committed_offsets(group, [topic]) == {topic: 0}
    assert sent(broker, SOURCE, pipeline.source.topic, b"first") is None
    assert first_record(java, broker, pipeline, auto_create=True) == "first"


def test_a_new_broker_has_all_features_of_its_release(java: Any, broker: Kafka) -> None:
    """Like one whose folder `kafka-storage format` created."""
    settings = {"bootstrap.servers": broker.bootstrap_servers, **broker.users.java_login(ADMIN)}
    admin = java.org.apache.kafka.clients.admin.Admin.create(settings)
    try:
        features = admin.describeFeatures().featureMetadata().get()
        level = features.finalizedFeatures().get("metadata.version").maxVersionLevel()
        assert level == features.supportedFeatures().get("metadata.version").maxVersion()
    finally:
        admin.close()


def test_each_role_does_its_part_and_no_more(broker: Kafka, denied: Callable[[], list[Denial]]) -> None:
    pipeline = new_pipeline()
    broker.sync_acls(pipeline.acls)
    create(broker, pipeline.source.topic)
    # Idempotently, which requires its own right on a cluster.
    assert sent(broker, SOURCE, pipeline.source.topic, idempotent=True) is None
    assert sent(broker, SINK, pipeline.source.topic) == KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert (SINK, "WRITE", pipeline.source.topic) in {(one.role, one.operation, one.name) for one in denied()}


def test_a_right_taken_away_is_gone_and_said(java: Any, broker: Kafka, denied: Callable[[], list[Denial]]) -> None:
    pipeline = new_pipeline()
    made, _ = broker.sync_acls(pipeline.acls)
    assert made
    assert broker.sync_acls(pipeline.acls) == (0, 0)
    create(broker, pipeline.sink.topic)
    broker.sync_acls(acl for acl in pipeline.acls if (acl.user, acl.kind) != (SINK, "group"))
    refused = first_record(java, broker, pipeline, auto_create=False)
    assert refused is not None
    assert "GroupAuthorizationException" in refused
    assert (SINK, "Group", sink_group(pipeline.sink.name)) in {(one.role, one.kind, one.name) for one in denied()}


@pytest.mark.parametrize(
    "login", [{"security.protocol": "PLAINTEXT"}, {"sasl.password": "wrong"}, {"sasl.username": "nobody"}]
)
def test_nobody_gets_in_without_a_users_password(broker: Kafka, login: dict[str, str]) -> None:
    client: dict[str, str | int | float | bool] = {**broker.client(ADMIN), **login, "log_level": 0}
    if login.get("security.protocol") == "PLAINTEXT":
        client = {name: value for name, value in client.items() if not name.startswith("sasl.")}
    with pytest.raises(KafkaException):
        AdminClient(client).list_topics(timeout=2)


@pytest.mark.long
def test_the_data_of_an_earlier_release_which_had_no_users_is_read(tmp_path: Path) -> None:
    kafka, former = broker_in(tmp_path, *ROLES), broker_in(tmp_path, *ROLES, settings=FORMER)
    processes = Processes(tmp_path, tmp_path / "logs")
    try:
        processes.start("kafka", former.prepare())
        anybody: dict[str, str | int] = {"bootstrap.servers": former.bootstrap_servers, "log_level": 0}
        processes.wait_until("kafka", lambda: answers(anybody), timeout_s=START_S)
        producer = Producer(anybody)
        producer.produce("kept", b"kept")
        assert producer.flush(ANSWER_S) == 0
        assert not kafka.is_current()
        processes.stop("kafka", grace_s=STOP_S)
        processes.run(kafka, timeout_s=START_S)
        assert kafka.sync_acls(new_pipeline().acls)[0]
        [event] = Topic(connection=kafka.client(), name="kept").raw_events(0)
        assert event.value == b"kept"
    finally:
        processes.stop("kafka", grace_s=STOP_S)


def answers(client: Mapping[str, str | int]) -> bool:
    try:
        return bool(AdminClient(dict(client)).list_topics(timeout=1).brokers)
    except KafkaException:
        return False


# A broker from before users existed: both listeners open, no authorizer.
FORMER = {
    "listener.security.protocol.map": "CLIENTS:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "authorizer.class.name": "",
    "auto.create.topics.enable": "true",
}
