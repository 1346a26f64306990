from typing import Any

import pytest

from tests.stacks.handlers.cloudformation import Stack, failing
from tests.stacks.handlers.msk_connect.connector_requests import (
    LOG_GROUP,
    NAME,
    assert_as,
    configuration,
    log,
    provisioned,
    updates,
)
from tests.stacks.handlers.msk_connect.service import KafkaConnect

pytestmark = pytest.mark.usefixtures("aws")


def test_one_that_fails_says_why_and_leaves_nothing(
    connect: KafkaConnect, source: Stack, wanted: dict[str, Any]
) -> None:
    log(f"{NAME}-8f1", "INFO starting", "ERROR boom", "INFO stopping", "Caused by: no pg_hba.conf entry")
    log(f"{NAME}-old", "ERROR long ago", at=1_795_000_000_000)
    log("another-connector", "ERROR not mine", at=1_795_240_900_000)
    connect.creations = ["FAILED"]
    reason = failing(source.create, wanted)
    assert f"the connector {NAME} FAILED: UnknownError.Unknown: The last operation failed." in reason
    assert reason.endswith(f"last lines of {LOG_GROUP}:\nERROR boom\nCaused by: no pg_hba.conf entry")
    assert connect.connectors == {}
    assert source.deleted == [NAME]


@pytest.mark.parametrize("line", ["ERROR password=hunter2", "ERROR database.password = hunter2 x", "Secret: hunter2"])
def test_a_secret_in_the_log_stays_there(
    connect: KafkaConnect, source: Stack, wanted: dict[str, Any], line: str
) -> None:
    log(f"{NAME}-8f1", line)
    connect.creations = ["FAILED"]
    reason = failing(source.create, wanted)
    assert "[hidden]" in reason
    assert "hunter2" not in reason


def test_a_long_log_fits_into_the_answer(connect: KafkaConnect, source: Stack, wanted: dict[str, Any]) -> None:
    log(f"{NAME}-8f1", *[f'ERROR {number} "{"ü" * 1_000}"' for number in range(300)])
    connect.creations = ["FAILED"]
    reason = failing(source.create, wanted)
    assert reason.startswith(f"the connector {NAME} FAILED")
    assert "ERROR 299" in reason


@pytest.mark.parametrize(
    ("delivery", "reason"),
    [
        ({"cloudWatchLogs": {"enabled": True, "logGroup": "/gone"}}, "/gone couldn't be read: ResourceNotFound"),
        ({"cloudWatchLogs": {"enabled": False}}, "it logs to no log group"),
    ],
)
def test_a_log_that_cannot_be_read_does_not_hide_the_failure(
    connect: KafkaConnect, source: Stack, wanted: dict[str, Any], delivery: dict[str, Any], reason: str
) -> None:
    connect.creations = ["FAILED"]
    text = failing(source.create, {**wanted, "logDelivery": {"workerLogDelivery": delivery}})
    assert "The last operation failed." in text
    assert reason in text


@pytest.mark.parametrize("ending", ["ROLLBACK_COMPLETE", "UPDATE_FAILED", "ROLLBACK_FAILED"])
def test_an_update_that_msk_connect_rolls_back_ends_where_it_began(
    connect: KafkaConnect, source: Stack, wanted: dict[str, Any], ending: str
) -> None:
    source.create(wanted)
    log(f"{NAME}-8f1", "ERROR no such setting")
    connect.updates = [ending]
    reason = failing(source.update, configuration(wanted, a="b"))
    assert f"UPDATE_CONNECTOR_CONFIGURATION of {NAME} ended in {ending}: HealthCheckFailed: Tasks" in reason
    assert reason.endswith("ERROR no such setting")
    assert_as(connect, wanted)
    assert source.deleted == []


def test_a_second_operation_that_fails_takes_the_first_back(
    connect: KafkaConnect, source: Stack, wanted: dict[str, Any]
) -> None:
    source.create(wanted)
    connect.updates = ["UPDATE_COMPLETE", "ROLLBACK_COMPLETE"]
    failing(source.update, {**configuration(wanted, a="b"), "capacity": provisioned(4)})
    assert_as(connect, wanted)
    assert [set(each) & {"capacity", "connectorConfiguration"} for each in updates(connect)] == [
        {"capacity"},
        {"connectorConfiguration"},
        {"capacity"},
    ]


def test_a_new_one_that_fails_is_replaced_by_the_old(
    connect: KafkaConnect, source: Stack, wanted: dict[str, Any]
) -> None:
    source.create(wanted)
    connect.creations = ["FAILED"]
    reason = failing(source.update, {**wanted, "kafkaConnectVersion": "2.7.1"})
    assert f"the connector {NAME} FAILED" in reason
    assert_as(connect, wanted)
