"""Rights on the local broker: the roles' rights on AWS, under this machine's names."""

import dataclasses
from pathlib import Path

import pytest

from local.services.kafka_rights import READER, ROLES, SINK, SOURCE, TOPICS, WORKER, Acl, platform_acls
from plugins.connector_settings import SinkSettings, SourceSettings
from plugins.kafka.topics import planned_topics
from settings.connectors import sink_settings, source_settings, topics
from settings.load import load
from tests.local.platform.built import moving, services

FROM = SourceSettings(database_hostname="db", database_password="${file:/run/secret:password}", topic_prefix="shop")
TO = SinkSettings(topics=(FROM.topic,), bucket="landing", region="eu-west-1", dead_letter_topic="dead")
PLANNED = planned_topics(FROM, TO, brokers=1, retention_hours=None)
FOUND = platform_acls(FROM, TO, PLANNED)


def may(user: str, operation: str, kind: str = "topic") -> set[str]:
    return {acl.name for acl in FOUND if (acl.user, acl.operation, acl.kind) == (user, operation, kind)}


def test_each_connector_reads_and_writes_what_its_role_may() -> None:
    assert may(SOURCE, "WRITE") == {FROM.topic, "__debezium-heartbeat.shop"}
    assert may(SOURCE, "READ") == set()
    assert may(SINK, "READ") == {FROM.topic}
    assert may(SINK, "WRITE") == {"dead"}
    assert may(SINK, "READ", "group") == {f"connect-{TO.name}"}


def test_what_msk_connect_keeps_under_its_own_names_is_the_workers_here() -> None:
    own = {"connect-configs", "connect-offsets", "connect-status"}
    assert may(WORKER, "READ") == may(WORKER, "WRITE") == own
    # The offsets' topic is created beforehand, but Connect requests it nevertheless.
    assert may(WORKER, "CREATE") == own
    assert may(WORKER, "READ", "group") == {"connect-cluster"}
    assert not {acl for acl in FOUND if acl.user in (SOURCE, SINK) and acl.name in {*own, "connect-cluster"}}


def test_topics_are_made_by_one_who_writes_and_deletes_nothing() -> None:
    made = {FROM.topic, "__debezium-heartbeat.shop", "dead", "connect-offsets"}
    assert may(TOPICS, "CREATE") == may(TOPICS, "ALTER") == may(TOPICS, "ALTER_CONFIGS") == made
    assert {acl.operation for acl in FOUND if acl.user == TOPICS} & {"WRITE", "DELETE"} == set()


def test_a_person_reads_all_topics_and_changes_none() -> None:
    assert may(READER, "READ") == {"*"}
    assert {acl.operation for acl in FOUND if acl.user == READER} == {"DESCRIBE", "READ"}


def test_every_role_has_rights_and_no_one_else() -> None:
    assert {acl.user for acl in FOUND} == set(ROLES)
    assert not {acl for acl in FOUND if acl.prefixed}
    assert Acl(user=SOURCE, kind="cluster", name="kafka-cluster", operation="IDEMPOTENT_WRITE") in FOUND


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
