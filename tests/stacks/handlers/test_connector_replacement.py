import json
from typing import Any

import pytest

from stacks.handlers import connector
from tests.stacks.handlers.connector_requests import (
    NAME,
    Make,
    assert_as,
    configuration,
    updates,
    worker,
)
from tests.stacks.handlers.deployment import DeploymentError, Resource, failing
from tests.stacks.handlers.kafkaconnect_backend import LOST, KafkaConnect


@pytest.mark.parametrize(
    "change",
    [
        {"serviceExecutionRoleArn": "arn:aws:iam::123456789012:role/other"},
        {"kafkaConnectVersion": "2.7.1"},
        {"networkType": "DUAL"},
        {"logDelivery": {"workerLogDelivery": {"cloudWatchLogs": {"enabled": True, "logGroup": "/other"}}}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_old_one_is_gone_before_the_new_one_of_its_name_comes(
    connect: KafkaConnect, source: Resource, wanted: dict[str, Any], change: dict[str, Any]
) -> None:
    arn = source.create(wanted)["Arn"]
    data = source.update({**wanted, **change})
    assert data["Arn"] != arn
    assert connect.called("CreateConnector", "DeleteConnector") == [
        "CreateConnector",
        "DeleteConnector",
        "CreateConnector",
    ]
    # For CloudFormation it is the same resource: nothing is cleaned up, and nothing runs beside it.
    assert (source.physical_id, source.attempts, len(connect.connectors)) == (NAME, [], 1)


def test_a_cancelled_replacement_converges(connect: KafkaConnect, source: Resource, wanted: dict[str, Any]) -> None:
    source.create(wanted)
    old = dict(source.properties)
    source.properties = {"Request": json.dumps({**wanted, "kafkaConnectVersion": "2.7.1"})}
    cancelled = source.begin(source.event("Update"))
    source.poll(cancelled)
    source.clock.seconds += 60
    source.properties = old
    rollback = source.begin(source.event("Update"))
    connect.tick()
    # The cancelled one is quicker, and would make the connector that nobody wants any more.
    with pytest.raises(DeploymentError, match="a later request has taken over"):
        source.poll(cancelled)
    source.finish(rollback)
    assert_as(connect, wanted)


def test_one_that_had_failed_is_made_anew(connect: KafkaConnect, source: Resource, wanted: dict[str, Any]) -> None:
    source.create(wanted)
    connect.connector(NAME)["connectorState"] = "FAILED"
    source.update(configuration(wanted, a="b"))
    assert_as(connect, configuration(wanted, a="b"))


def test_another_name_is_refused(connect: KafkaConnect, source: Resource, wanted: dict[str, Any]) -> None:
    source.create(wanted)
    reason = failing(source, {**wanted, "connectorName": "other"}, update=True)
    assert "connectorName can't change" in reason
    assert_as(connect, wanted)


@pytest.mark.parametrize("properties", ["offset.storage.topic=other\n", "a=b\n"])
def test_a_source_keeps_the_topic_of_its_offsets(
    connect: KafkaConnect, source: Resource, wanted: dict[str, Any], properties: str
) -> None:
    source.create(wanted)
    changed = {**wanted, "workerConfiguration": worker("two", properties)}
    reason = failing(source, changed, update=True)
    assert f"a change of workerConfiguration would lose the offsets of {NAME}, which are in offsets" in reason
    assert updates(connect) == []


def test_a_source_without_such_a_topic_is_not_replaced(
    connect: KafkaConnect, source: Resource, wanted: dict[str, Any]
) -> None:
    wanted["workerConfiguration"] = worker("plain", "a=b\n")
    source.create(wanted)
    reason = failing(source, {**wanted, "kafkaConnectVersion": "2.7.1"}, update=True)
    assert "must set offset.storage.topic" in reason
    assert connect.called("DeleteConnector") == []
    # In place they stay where they are.
    source.update({**wanted, "workerConfiguration": worker("plain too", "a=c\n")})


def test_a_sink_is_replaced_whatever_its_worker(
    connect: KafkaConnect, source: Resource, wanted: dict[str, Any]
) -> None:
    sink = configuration(wanted, topics="msk.datalake.cdc_events")
    del sink["workerConfiguration"]
    source.create(sink)
    source.update({**sink, "kafkaConnectVersion": "2.7.1"})
    assert connect.connector(NAME)["kafkaConnectVersion"] == "2.7.1"


def test_it_is_gone_when_it_is_complete(connect: KafkaConnect, source: Resource, wanted: dict[str, Any]) -> None:
    source.create(wanted)
    source.delete()
    assert connect.connectors == {}


def test_twice_is_once(connect: KafkaConnect, source: Resource, wanted: dict[str, Any]) -> None:
    source.create(wanted)
    source.delete()
    source.delete()
    assert connect.called("DeleteConnector") == ["DeleteConnector"]


def test_an_unknown_id_is_nothing_to_do(connect: KafkaConnect, source: Resource, wanted: dict[str, Any]) -> None:
    source.properties = {"Request": json.dumps(wanted)}
    source.physical_id = "dev-cdc-lake-orders"
    source.delete()
    assert connect.called("DeleteConnector") == []


def test_a_strangers_connector_stays(connect: KafkaConnect, resource: Make, wanted: dict[str, Any]) -> None:
    resource(connector, stack_id="arn:aws:cloudformation:x:1:stack/another/1").create(wanted)
    source = resource(connector, physical_id=NAME, properties={"Request": json.dumps(wanted)})
    source.delete()
    assert connect.connector(NAME)["connectorState"] == "RUNNING"


def test_a_name_that_only_begins_like_it_stays(connect: KafkaConnect, resource: Make, wanted: dict[str, Any]) -> None:
    source, longer = resource(connector), resource(connector, logical_id="Longer")
    longer.create({**wanted, "connectorName": f"{NAME}-2"})
    source.create(wanted)
    source.delete()
    assert [each["connectorName"] for each in connect.connectors.values()] == [f"{NAME}-2"]


@pytest.mark.parametrize("fault", ["TooManyRequestsException", LOST])
def test_a_busy_service_is_asked_again_to_delete(
    connect: KafkaConnect, source: Resource, wanted: dict[str, Any], fault: str
) -> None:
    source.create(wanted)
    connect.faults["DeleteConnector"] = [fault]
    source.delete()
    assert connect.connectors == {}


def test_a_refused_deletion_is_its_reason(connect: KafkaConnect, source: Resource, wanted: dict[str, Any]) -> None:
    source.create(wanted)
    connect.faults["DeleteConnector"] = ["ForbiddenException"]
    with pytest.raises(DeploymentError, match="DeleteConnector: ForbiddenException"):
        source.delete()
