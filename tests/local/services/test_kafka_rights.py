"""Rights on the local broker, as Kafka's ACLs; its users' passwords, and its denials."""

import dataclasses
import fnmatch
import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from local.services.kafka import Kafka
from local.services.kafka_rights import READER, ROLES, SINK, SOURCE, TOPICS, WORKER, denials, platform_acls, recently
from local.sink.__main__ import read_connection
from plugins.connector_settings import SinkSettings, SourceSettings
from plugins.kafka.topics import (
    Grant,
    own_worker_access,
    planned_topics,
    reader_access,
    sink_access,
    source_access,
    topics_access,
)
from settings.connectors import sink_settings, source_settings, topics
from settings.load import load
from tests.broker import users_in
from tests.local.platform.built import moving, services

FROM = SourceSettings(database_hostname="db", database_password="${file:/run/secret:password}", topic_prefix="shop")
TO = SinkSettings(topics=(FROM.topic,), bucket="landing", region="eu-west-1", dead_letter_topic="dead")
PLANNED = planned_topics(FROM, TO, brokers=1, retention_hours=None)
FOUND = platform_acls(FROM, TO, PLANNED)

# From the same page of MSK's developer guide: each action's kind of resource, and the actions that it requires.
DOCUMENTED: dict[str, tuple[str, tuple[str, ...]]] = {
    "Connect": ("cluster", ()),
    "DescribeCluster": ("cluster", ("Connect",)),
    "WriteDataIdempotently": ("cluster", ("Connect", "WriteData")),
    "CreateTopic": ("topic", ("Connect",)),
    "DescribeTopic": ("topic", ("Connect",)),
    "AlterTopic": ("topic", ("Connect", "DescribeTopic")),
    "DescribeTopicDynamicConfiguration": ("topic", ("Connect",)),
    "AlterTopicDynamicConfiguration": ("topic", ("Connect", "DescribeTopicDynamicConfiguration")),
    "ReadData": ("topic", ("Connect", "DescribeTopic", "AlterGroup")),
    "WriteData": ("topic", ("Connect", "DescribeTopic")),
    "DescribeGroup": ("group", ("Connect",)),
    "AlterGroup": ("group", ("Connect", "DescribeGroup")),
}


@pytest.mark.parametrize(
    "grants",
    [source_access(FROM), sink_access(TO), topics_access(PLANNED, TO), reader_access(), own_worker_access("a", "b")],
    ids=["source", "sink", "topics", "reader", "own worker"],
)
def test_every_right_has_those_without_which_it_allows_nothing_on_aws(grants: tuple[Grant, ...]) -> None:
    allowed = [(action, each.kind, on) for each in grants for action in each.actions for on in each.names or ("",)]
    for action, kind, name in allowed:
        of, needs = DOCUMENTED[action]
        assert of == kind
        for needed in needs:
            # On the same name where it is of the same kind, otherwise on any.
            same = DOCUMENTED[needed][0] == kind
            assert any(other == needed and (not same or fnmatch.fnmatchcase(name, on)) for other, _, on in allowed)


INTERNAL = {"connect-configs", "connect-offsets", "connect-status"}
CREATED = {FROM.topic, "__debezium-heartbeat.shop", "dead", "connect-offsets"}


@pytest.mark.parametrize(
    ("user", "operation", "kind", "names"),
    [
        (SOURCE, "WRITE", "topic", {FROM.topic, "__debezium-heartbeat.shop"}),
        (SOURCE, "READ", "topic", set()),
        (SOURCE, "IDEMPOTENT_WRITE", "cluster", {"kafka-cluster"}),
        (SINK, "READ", "topic", {FROM.topic}),
        (SINK, "WRITE", "topic", {"dead"}),
        (SINK, "READ", "group", {f"connect-{TO.name}"}),
        # What MSK Connect keeps under its own names is the worker's here.
        (WORKER, "READ", "topic", INTERNAL),
        (WORKER, "WRITE", "topic", INTERNAL),
        # The offsets' topic is created beforehand, but Connect requests it nevertheless.
        (WORKER, "CREATE", "topic", INTERNAL),
        (WORKER, "READ", "group", {"connect-cluster"}),
        (WORKER, "DESCRIBE", "cluster", {"kafka-cluster"}),
        (TOPICS, "CREATE", "topic", CREATED),
        (TOPICS, "ALTER", "topic", CREATED),
        (TOPICS, "ALTER_CONFIGS", "topic", CREATED),
        (TOPICS, "DESCRIBE_CONFIGS", "topic", CREATED),
        (READER, "READ", "topic", {"*"}),
    ],
)
def test_each_user_does_what_its_role_may(user: str, operation: str, kind: str, names: set[str]) -> None:
    assert {acl.name for acl in FOUND if (acl.user, acl.operation, acl.kind) == (user, operation, kind)} == names


def test_every_role_has_rights_and_no_one_else() -> None:
    assert {acl.user for acl in FOUND} == set(ROLES)
    # An ACL can't have a pattern other than the name of all.
    assert not {acl for acl in FOUND if {"*", "?"} & set(acl.name) and acl.user != READER}
    assert not {acl for acl in FOUND if acl.user in (SOURCE, SINK) and acl.name in {*INTERNAL, "connect-cluster"}}
    assert {acl.operation for acl in FOUND if acl.user == READER} == {"DESCRIBE", "READ"}
    assert {acl.operation for acl in FOUND if acl.user == TOPICS} & {"WRITE", "DELETE"} == set()


@pytest.mark.parametrize("name", ["dev", "prod"])
def test_the_platforms_acls_are_those_of_an_environment_under_its_own_names(name: str, tmp_path: Path) -> None:
    environment = load(name)
    [orders] = environment.pipelines
    made = source_settings(environment, orders), sink_settings(environment, orders), topics(environment, orders)
    there = platform_acls(*made)

    def here(written: str) -> str:
        plain = written.replace(f"{environment.prefix}-orders-", "orders-")
        return plain.replace(f"{orders.prefix}.datalake", "demo.datalake").replace(
            f"heartbeat.{orders.prefix}", "heartbeat.demo"
        )

    assert {dataclasses.replace(acl, name=here(acl.name)) for acl in there} == moving(
        services(tmp_path)
    ).connectors.rights


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_password_stays_in_its_owners_files(tmp_path: Path) -> None:
    users = users_in(tmp_path, "a")
    assert not [word for word in users.passwords.values() if word in repr(users)]
    path = users.client_file("a", "127.0.0.1:1")
    assert read_connection(path) == {"bootstrap.servers": "127.0.0.1:1", **users.login("a")}
    assert mode(path) == 0o600


def test_the_broker_lets_in_its_users_alone_and_asks_an_acl_for_everything(tmp_path: Path) -> None:
    users = users_in(tmp_path, "a")
    properties = users.broker_properties
    for listener in ("clients", "controller"):
        module = properties[f"listener.name.{listener}.plain.sasl.jaas.config"]
        assert {f'user_{name}="{word}"' for name, word in users.passwords.items()} <= set(module.rstrip(";").split())
    assert properties["listener.security.protocol.map"] == "CLIENTS:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT"
    assert properties["allow.everyone.if.no.acl.found"] == "false"
    assert properties["super.users"] == "User:broker;User:admin"


@pytest.mark.usefixtures("own_jars")
def test_a_broker_of_other_users_is_not_current(tmp_path: Path) -> None:
    def broker(*roles: str) -> Kafka:
        return Kafka(tmp_path / "kafka", port=1, controller_port=2, users=users_in(tmp_path / "secrets", *roles))

    assert not broker().is_current()
    (tmp_path / "kafka" / "data").mkdir(parents=True)
    broker("a").prepare()
    assert broker("a").is_current()
    assert not broker("a", "b").is_current()
    assert mode(tmp_path / "kafka" / "server.properties") == 0o600


def line(at: datetime, role: str, operation: str, resource: str, request: str) -> str:
    return (
        f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03} INFO logger: Principal = User:{role} is"
        f" Denied operation = {operation} from host = 127.0.0.1 on resource = {resource} for request = {request} with"
        " resourceRefCount = 1 based on rule DefaultDeny\n"
    )


def test_each_denial_is_one_line_with_role_operation_and_resource(tmp_path: Path) -> None:
    now, log = datetime.now(UTC), tmp_path / "kafka.log"
    fetch = line(now, SINK, "READ", "Topic:LITERAL:a:b", "Fetch")
    init = line(now, SOURCE, "IDEMPOTENT_WRITE", "Cluster:LITERAL:kafka-cluster", "InitProducerId")
    log.write_text(fetch * 3 + "2026-01-01 00:00:00,000 WARN x: something else\n" + init)
    assert [str(denial).partition(": plugins/")[0] for denial in denials(log, since=now)] == [
        "Kafka denies sink-connector READ on topic a:b (Fetch)",
        "Kafka denies source-connector IDEMPOTENT_WRITE on the cluster (InitProducerId)",
    ]


@pytest.mark.usefixtures("in_tokyo")
def test_what_was_denied_before_is_not_shown(tmp_path: Path) -> None:
    log, now = tmp_path / "kafka.log", datetime.now(UTC)
    assert denials(log, since=now) == [], "there is no log yet"
    parts = "r", "READ", "Topic:LITERAL:t", "Fetch"
    log.write_text(line(now - timedelta(minutes=5), *parts))
    assert denials(log, since=now - timedelta(minutes=4)) == []
    assert len(denials(log, since=now - timedelta(minutes=6))) == 1
    log.write_text(line(now, *parts))
    assert len(denials(log, since=now)) == 1
    assert denials(log, since=now + timedelta(milliseconds=1)) == []


def test_what_was_denied_in_the_last_minute_counts_unless_the_rights_are_newer(tmp_path: Path) -> None:
    rights, brought = tmp_path / "rights", datetime.now(UTC) - timedelta(seconds=20)
    assert timedelta(seconds=59) < datetime.now(UTC) - recently(rights) < timedelta(seconds=70)
    rights.touch()
    os.utime(rights, (brought.timestamp(), brought.timestamp()))
    assert abs(recently(rights) - brought) < timedelta(milliseconds=1)
    # Services with obsolete rights are restarted after the update: their denials are no cause of a failed start.
    assert recently(rights, brought - timedelta(seconds=5)) == recently(rights)
    assert recently(rights, brought + timedelta(seconds=5)) == brought + timedelta(seconds=5)
