"""Workers as pods run them, on this machine: killing one loses nothing; failed tasks fail the deployment."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from confluent_kafka import Consumer, TopicPartition

from db.source import replication
from local.services.kafka import ADMIN
from local.services.kafka_rights import acls
from local.services.postgres import ConnectionParameters
from local.setup.ports import choose
from operate.resnapshot.connectors import EksConnector
from plugins.connector_names import heartbeat_topic
from plugins.connector_settings import SourceSettings
from plugins.kafka.topics import PlannedTopic, own_worker_access, source_access
from plugins.source.captured import CapturedTable
from plugins.source.source_connector import source_connector
from plugins.workers.connect_workers import PATH
from settings.connectors import ROOT_CERTIFICATE
from stacks.connectors.manifests import objects
from stacks.handlers import framework, journal, kubernetes_connector
from tests.broker import RunningBroker, running_broker
from tests.conftest import execute
from tests.stacks.connectors.workers import PASSWORD, RealRest, Workers
from tests.stacks.environments import group
from tests.stacks.handlers import cloudformation
from tests.stacks.handlers.cloudformation import Clock, Stack, World, failing
from tests.stacks.handlers.journal_store import MemoryStore
from tests.tls import Authority, encrypted
from tests.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.long]

NAME, OFFSETS, USER = "k8s-source", "__cdc_lake_offsets_k8s-source-1", "worker"
TABLE = CapturedTable(schema="public", table="items")
ROWS, LATER = 200, 400
# As in the certificate.
DATABASE_HOST = "localhost"


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[RunningBroker]:
    with running_broker(tmp_path, USER) as running:
        yield running


@pytest.fixture
def authority() -> Authority:
    return Authority("The test's RDS")


@pytest.fixture
def port(database: ConnectionParameters, authority: Authority, tmp_path: Path) -> Iterator[int]:
    """The database behind TLS, as on RDS."""
    with encrypted(int(database["port"]), authority.server(DATABASE_HOST, tmp_path)) as port:
        yield port


@pytest.fixture
def settings(database: ConnectionParameters, port: int) -> SourceSettings:
    execute(database, "CREATE TABLE items (id int PRIMARY KEY); CREATE PUBLICATION k8s FOR TABLE items")
    return SourceSettings(
        name=NAME,
        database_hostname=DATABASE_HOST,
        database_port=port,
        database_name=str(database["dbname"]),
        database_user=str(database["user"]),
        database_password=f"${{env:{PASSWORD}}}",
        database_sslmode="verify-full",
        database_root_certificate=ROOT_CERTIFICATE,
        topic_prefix="k8s",
        publication_name="k8s",
        slot_name="k8s",
        tables=(TABLE,),
        heartbeat_query=None,
    )


@pytest.fixture
def workers(
    tmp_path: Path,
    broker: RunningBroker,
    settings: SourceSettings,
    database: ConnectionParameters,
    authority: Authority,
) -> Iterator[Workers]:
    access = source_access(settings, worker=own_worker_access(NAME, OFFSETS))
    broker.kafka.sync_acls(acls(USER, access))
    plain = [TABLE.topic("k8s"), heartbeat_topic("k8s")]
    compacted = {"cleanup.policy": "compact"}
    broker.kafka.create_topics(
        [
            *(PlannedTopic(name=name, partitions=1, replicas=1) for name in plain),
            PlannedTopic(name=OFFSETS, partitions=1, replicas=1, config=compacted),
        ]
    )
    folder = tmp_path / "connect"
    folder.mkdir()
    two = Workers(
        folder=folder,
        processes=broker.processes,
        connector=NAME,
        offsets=OFFSETS,
        bootstrap_servers=broker.kafka.bootstrap_servers,
        login=broker.kafka.users.java_login(USER),
        password=str(database["password"]),
        files={ROOT_CERTIFICATE: authority.root},
        ports=choose(["one", "two"], earlier={}),
    )
    two.prepare()
    try:
        for name in two.ports:
            two.start(name)
        yield two
    finally:
        two.clean_up()


@pytest.fixture
def rest(workers: Workers) -> RealRest:
    """A cluster in memory, whose proxy leads to the workers."""
    made = RealRest()
    made.real = workers
    return made


@pytest.fixture
def source(rest: RealRest, monkeypatch: pytest.MonkeyPatch) -> Stack:
    """The connector's custom resource, with an in-memory cluster and real workers."""
    clock, records = Clock(), MemoryStore()
    monkeypatch.setattr(framework, "now", clock)
    # The workers are real, and so is the time that they take: a second of the clock is one.
    monkeypatch.setattr(cloudformation, "POLL_SECONDS", 1)
    monkeypatch.setenv("DEADLINE_SECONDS", "200")
    monkeypatch.setattr(journal, "store", lambda: records)
    monkeypatch.setattr(kubernetes_connector, "Kubernetes", lambda _cluster: rest)

    def tick() -> None:
        rest.tick()
        time.sleep(1)

    return Stack(World(clock, tick), kubernetes_connector)


def source_as_deployed(settings: SourceSettings) -> dict[str, str]:
    return source_connector(settings) | {"name": NAME, "retriable.restart.connector.wait.ms": "500"}


def request(settings: SourceSettings, **changed: str) -> dict[str, Any]:
    return {
        "cluster": {"name": "x", "endpoint": "https://x", "authority": ""},
        "connectorName": NAME,
        "objects": objects(group(NAME)),
        "connectorConfiguration": source_as_deployed(settings) | changed,
    }


def ids_in(broker: RunningBroker) -> set[int]:
    """All ids that have reached the topic."""
    return set(arrived(broker))


def arrived(broker: RunningBroker) -> list[int]:
    """The same, with repetitions."""
    consumer = Consumer({**broker.kafka.client(ADMIN), "group.id": "look", "enable.auto.commit": "false"})
    try:
        place = TopicPartition(TABLE.topic("k8s"), 0)
        _, end = consumer.get_watermark_offsets(place, timeout=10)
        consumer.assign([TopicPartition(place.topic, 0, 0)])
        messages = consumer.consume(end, timeout=20) if end else []
        return [json.loads(message.value() or b"{}")["id"] for message in messages]
    finally:
        consumer.close()


def insert(database: ConnectionParameters, first: int, last: int, *, pause_s: float = 0.0) -> None:
    with psycopg2.connect(**database) as connection, connection.cursor() as cursor:
        connection.autocommit = True
        for number in range(first, last):
            cursor.execute("INSERT INTO items VALUES (%s)", [number])
            time.sleep(pause_s)


def test_worker_kill_drain_and_failed_task(
    workers: Workers,
    source: Stack,
    rest: RealRest,
    settings: SourceSettings,
    broker: RunningBroker,
    database: ConnectionParameters,
) -> None:
    insert(database, 0, ROWS)
    # With the rights of its role alone, including the workers' own topics.
    assert source.create(request(settings)) == {"Name": NAME}
    wait_until(lambda: ids_in(broker) == set(range(ROWS)))
    first = workers.working()
    assert first is not None
    [other] = set(workers.ports) - {first}
    status, said = workers.ask(first, "GET", PATH)
    assert (status, said[NAME]["connector-running-task-count"]) == (200, 1.0)
    assert said[NAME]["source-record-write-rate"] > 0
    assert workers.ask(other, "GET", PATH)[0] == 200

    insert(database, ROWS, ROWS + 50, pause_s=0.01)
    workers.kill(first)
    insert(database, ROWS + 50, LATER, pause_s=0.01)
    assert wait_until(lambda: workers.working() == other)
    wait_until(lambda: ids_in(broker) == set(range(LATER)))

    workers.start(first)
    reason = failing(source.update, request(settings, **{"publication.name": "gone"}))
    assert f"{NAME}: 1 of its tasks keep failing: " in reason
    assert "the publication is gone, or was made again after the slot" in reason
    # The rollback has restored the configuration, and its task runs.
    assert workers.working() is not None
    insert(database, LATER, LATER + 10)
    wait_until(lambda: ids_in(broker) == set(range(LATER + 10)))

    came = len(arrived(broker))
    left = drained(workers)
    insert(database, LATER + 10, LATER + 15)
    wait_until(lambda: ids_in(broker) == set(range(LATER + 15)))
    assert len(arrived(broker)) == came + 5, "what the worker had sent came again"
    workers.start(left)

    repaired = with_a_new_slot(rest, database)
    insert(database, LATER + 15, LATER + 20)
    wait_until(lambda: ids_in(broker) == set(range(LATER + 20)))
    repaired.settle()
    assert rest.through_service("GET", "x", NAME, f"/connectors/{NAME}/config") == source_as_deployed(settings)
    insert(database, LATER + 20, LATER + 25)
    wait_until(lambda: ids_in(broker) == set(range(LATER + 25)))
    assert repaired.failure() is None

    execute(database, "DROP PUBLICATION k8s")
    insert(database, LATER + 25, LATER + 26)
    wait_until(lambda: workers.health() == {200, 503})
    assert "the publication is gone, or was made again after the slot" in str(repaired.failure())
    source.delete()
    assert workers.ask(other, "GET", "/connectors") == (200, [])


def drained(workers: Workers) -> str:
    """Stop the worker that has the task, as draining its node does; return its name once another has the task."""
    leaves = workers.working()
    assert leaves is not None
    [grace_s] = [
        each["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
        for each in objects(group(NAME))
        if each["kind"] == "Deployment"
    ]
    began = time.monotonic()
    workers.processes.stop(leaves, grace_s=grace_s)
    assert time.monotonic() - began < grace_s, "a pod would have been killed"
    wait_until(lambda: workers.working() not in (None, leaves))
    return leaves


def with_a_new_slot(rest: RealRest, database: ConnectionParameters) -> EksConnector:
    """Give the connector a new slot and let it follow that one, as a re-snapshot does; the caller settles."""
    connector = EksConnector(rest, NAME, slot="k8s", newest=0)  # type: ignore[arg-type]
    connector.release()
    with psycopg2.connect(**database) as connection, connection.cursor() as cursor:
        connection.autocommit = True
        wait_until(lambda: replication.renew_slot(cursor, "k8s"))
        connector.follow_slot()
        wait_until(lambda: replication.read_state(cursor, "k8s").active)
    return connector
