from typing import Any

import pytest

from stacks.handlers import connector
from tests.stacks.handlers.cloudformation import DeploymentError, Stack, failing
from tests.stacks.handlers.msk_connect.connector_requests import (
    NAME,
    Make,
    assert_as,
    configuration,
    updates,
    worker,
)
from tests.stacks.handlers.msk_connect.service import KafkaConnect
from tests.stacks.handlers.provider_framework import LOST


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
    connect: KafkaConnect, source: Stack, wanted: dict[str, Any], change: dict[str, Any]
) -> None:
    arn = source.create(wanted)["Arn"]
    data = source.update({**wanted, **change})
    assert data["Arn"] != arn
    assert connect.called("CreateConnector", "DeleteConnector") == [
        "CreateConnector",
        "DeleteConnector",
        "CreateConnector",
    ]
    # For CloudFormation it is the same resource: nothing is cleaned up, and nothing runs in parallel.
    assert (source.physical_id, source.deleted, len(connect.connectors)) == (NAME, [], 1)


def test_one_that_had_failed_is_made_anew(connect: KafkaConnect, source: Stack, wanted: dict[str, Any]) -> None:
    source.create(wanted)
    connect.connector(NAME)["connectorState"] = "FAILED"
    source.update(configuration(wanted, a="b"))
    assert_as(connect, configuration(wanted, a="b"))


def test_another_name_is_refused(connect: KafkaConnect, source: Stack, wanted: dict[str, Any]) -> None:
    source.create(wanted)
    reason = failing(source.update, {**wanted, "connectorName": "other"})
    assert "connectorName can't change" in reason
    assert_as(connect, wanted)


@pytest.mark.parametrize("properties", ["offset.storage.topic=other\n", "a=b\n"])
def test_a_source_keeps_the_topic_of_its_offsets(
    connect: KafkaConnect, source: Stack, wanted: dict[str, Any], properties: str
) -> None:
    source.create(wanted)
    changed = {**wanted, "workerConfiguration": worker("two", properties)}
    reason = failing(source.update, changed)
    assert f"a change of workerConfiguration would lose the offsets of {NAME}, which are in offsets" in reason
    assert updates(connect) == []


def test_a_source_without_such_a_topic_is_not_replaced(
    connect: KafkaConnect, source: Stack, wanted: dict[str, Any]
) -> None:
    wanted["workerConfiguration"] = worker("plain", "a=b\n")
    source.create(wanted)
    reason = failing(source.update, {**wanted, "kafkaConnectVersion": "2.7.1"})
    assert "must set offset.storage.topic" in reason
    assert connect.called("DeleteConnector") == []
    # In place they stay where they are.
    source.update({**wanted, "workerConfiguration": worker("plain too", "a=c\n")})


def test_a_sink_is_replaced_whatever_its_worker(connect: KafkaConnect, source: Stack, wanted: dict[str, Any]) -> None:
    sink = configuration(wanted, topics="msk.datalake.cdc_events")
    del sink["workerConfiguration"]
    source.create(sink)
    source.update({**sink, "kafkaConnectVersion": "2.7.1"})
    assert connect.connector(NAME)["kafkaConnectVersion"] == "2.7.1"


def test_a_name_that_only_begins_like_it_stays(connect: KafkaConnect, make: Make, wanted: dict[str, Any]) -> None:
    source, longer = make(connector), make(connector, logical_id="Longer")
    longer.create({**wanted, "connectorName": f"{NAME}-2"})
    source.create(wanted)
    source.delete()
    assert [each["connectorName"] for each in connect.connectors.values()] == [f"{NAME}-2"]


@pytest.mark.parametrize("fault", ["TooManyRequestsException", LOST])
def test_a_busy_service_is_asked_again_to_delete(
    connect: KafkaConnect, source: Stack, wanted: dict[str, Any], fault: str
) -> None:
    source.create(wanted)
    connect.faults["DeleteConnector"] = [fault]
    source.delete()
    assert connect.connectors == {}


def test_a_refused_deletion_is_its_reason(connect: KafkaConnect, source: Stack, wanted: dict[str, Any]) -> None:
    source.create(wanted)
    connect.faults["DeleteConnector"] = ["ForbiddenException"]
    with pytest.raises(DeploymentError, match="DeleteConnector: ForbiddenException"):
        source.delete()
