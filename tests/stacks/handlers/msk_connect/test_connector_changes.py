"""A connector is changed in place where it can be, and replaced where it must be."""

from typing import Any

import pytest

from stacks.handlers.msk_connect import changes
from tests.stacks.handlers.clients import client
from tests.stacks.handlers.cloudformation import Clock, DeploymentError, Stack, failing
from tests.stacks.handlers.msk_connect.requests import (
    NAME,
    assert_as,
    configuration,
    plugin,
    provisioned,
    updates,
    worker,
)
from tests.stacks.handlers.msk_connect.service import KafkaConnect
from tests.stacks.handlers.provider_framework import LOST, UNSENT


@pytest.mark.parametrize(("fault", "sent"), [(LOST, 1), (UNSENT, 2)])
@pytest.mark.parametrize("what", ["capacity", "plugins", "workerConfiguration", "connectorConfiguration"])
def test_only_what_changed_is_asked_for_in_place_and_once(
    connect: KafkaConnect, source: Stack, what: str, fault: str, sent: int
) -> None:
    """Also when the answer gets lost, after the service has taken the request or before."""
    arn = source.create()["Arn"]
    changes: dict[str, Any] = {
        "capacity": provisioned(2),
        "plugins": [plugin(connect, "two")],
        "workerConfiguration": worker("two", "a=b\noffset.storage.topic=offsets\n"),
        "connectorConfiguration": source.wanted["connectorConfiguration"] | {"poll.interval.ms": "100"},
    }
    connect.faults["UpdateConnector"] = [fault]
    assert source.update(source.but(**{what: changes[what]}))["Arn"] == arn
    requests = updates(connect)
    assert len(requests) == sent
    assert all(request.keys() == {"connectorArn", "currentVersion", what} for request in requests)
    assert len(connect.operations) == 1
    assert source.deleted == []


def test_an_operation_whose_answer_was_lost_is_waited_for_though_nothing_shows_it_yet(
    connect: KafkaConnect, source: Stack, clock: Clock
) -> None:
    """Unlike another refused update, whose request is wrong."""
    source.create()
    changed, found = configuration(source.wanted, a="b"), connect.connector(NAME)
    connect.faults["UpdateConnector"] = [LOST, "BadRequestException", "BadRequestException"]
    connect.list_lag, connect.ticks_needed = 60.0, 10
    waiting = source.begin_update(changed)
    for _ in range(3):
        assert waiting.poll() is None
        found["connectorState"] = "RUNNING"
        clock.sleep(30)
    connect.list_lag, connect.ticks_needed = 0.0, 0
    connect.tick()
    assert waiting.poll() is not None
    assert_as(connect, changed)
    assert len(connect.operations) == 1


def test_changes_of_both_kinds_are_one_operation_after_the_other(connect: KafkaConnect, source: Stack) -> None:
    source.create()
    both = {"capacity": provisioned(3), "plugins": [plugin(connect, "two")]}
    source.update({**configuration(source.wanted, a="b"), **both})
    first, second = updates(connect)
    assert first.keys() - {"connectorArn", "currentVersion"} == {"capacity", "plugins", "skipHealthValidation"}
    # The intermediate configuration may fail to run, the final one must not.
    assert second.keys() - {"connectorArn", "currentVersion"} == {"connectorConfiguration"}
    assert connect.connector(NAME)["capacity"] == provisioned(3)


def test_the_default_worker_configuration_comes_back(connect: KafkaConnect, source: Stack) -> None:
    sink = configuration(source.wanted, topics="t")
    source.create(sink)
    source.update({key: value for key, value in sink.items() if key != "workerConfiguration"})
    assert updates(connect)[0]["useDefaultWorkerConfiguration"] is True
    assert "workerConfiguration" not in connect.connector(NAME)


def test_nothing_changed_is_nothing_done(connect: KafkaConnect, source: Stack) -> None:
    source.create()
    addresses = source.wanted["kafkaCluster"]["apacheKafkaCluster"]
    addresses["bootstrapServers"] = "b-2:9098,b-1:9098"
    addresses["vpc"]["subnets"].reverse()
    (plugin,) = source.wanted["plugins"]
    plugin["customPlugin"] = dict(reversed(plugin["customPlugin"].items()))
    source.update(source.wanted)
    assert connect.called("UpdateConnector", "DeleteConnector") == []


def test_tags_are_changed_without_touching_the_connector(connect: KafkaConnect, source: Stack) -> None:
    arn = source.create()["Arn"]
    connect.tags[arn]["aws:cloudformation:stack"] = "x"
    source.update({**source.wanted, "tags": {"team": "data"}})
    assert connect.tags[arn]["team"] == "data"
    assert "environment" not in connect.tags[arn]
    assert "aws:cloudformation:stack" in connect.tags[arn]
    assert updates(connect) == []


def test_an_update_while_another_is_under_way_waits_for_it(connect: KafkaConnect, source: Stack) -> None:
    source.create()
    made = connect.connector(NAME)
    client("kafkaconnect").update_connector(
        connectorArn=made["connectorArn"], currentVersion=made["currentVersion"], capacity=provisioned(5)
    )
    # A manual change that fails: that isn't this update's failure.
    connect.updates = ["ROLLBACK_COMPLETE"]
    source.update(configuration(source.wanted, a="b"))
    assert_as(connect, configuration(source.wanted, a="b"))
    assert len(updates(connect)) == 2


@pytest.mark.parametrize("same", [True, False])
def test_the_operation_counts_and_not_the_state(connect: KafkaConnect, source: Stack, same: bool) -> None:
    source.create()
    waiting = source.begin_update(configuration(source.wanted, a="b"))
    waiting.poll()
    # The connector is running, with the old or the wanted configuration; its operation isn't finished.
    found = connect.connector(NAME)
    found["connectorState"] = "RUNNING"
    found["connectorConfiguration"] = configuration(source.wanted, a="b" if same else "c")["connectorConfiguration"]
    assert waiting.poll() is None
    assert len(updates(connect)) == 1
    connect.tick()
    assert waiting.poll() is not None


def test_a_quicker_one_is_waited_for(connect: KafkaConnect, source: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    source.create()
    changed = configuration(source.wanted, a="b")

    def slow(*arguments: Any) -> Any:
        if not updates(connect):
            found = connect.connector(NAME)
            client("kafkaconnect").update_connector(
                connectorArn=found["connectorArn"],
                currentVersion=found["currentVersion"],
                connectorConfiguration=changed["connectorConfiguration"],
            )
        return update(*arguments)

    update = changes.update
    monkeypatch.setattr(changes, "update", slow)
    source.update(changed)
    assert len(updates(connect)) == 2
    assert_as(connect, changed)


def test_a_refused_update_is_its_reason(connect: KafkaConnect, source: Stack) -> None:
    source.create()
    connect.faults["UpdateConnector"] = ["BadRequestException"]
    assert "UpdateConnector: BadRequestException" in failing(source.update, configuration(source.wanted, a="b"))
    assert_as(connect, source.wanted)


def test_what_is_read_back_is_compared(connect: KafkaConnect, source: Stack) -> None:
    source.create()
    waiting = source.begin_update(configuration(source.wanted, a="b"))
    waiting.poll()
    connect.tick()
    connect.connector(NAME)["connectorConfiguration"]["a"] = "c"
    with pytest.raises(DeploymentError, match=r"read back with another connectorConfiguration \(a\)"):
        waiting.poll()


def test_a_paused_connector_is_changed_without_looking_at_its_health(connect: KafkaConnect, source: Stack) -> None:
    source.create()
    connect.connector(NAME)["connectorState"] = "PAUSED"
    source.update(configuration(source.wanted, a="b"))
    assert updates(connect)[0]["skipHealthValidation"] is True


@pytest.mark.parametrize("gone", [True, False])
def test_one_deleted_by_hand_or_failed_is_made_again(connect: KafkaConnect, source: Stack, *, gone: bool) -> None:
    source.create()
    if gone:
        connect.connectors.clear()
    else:
        connect.connector(NAME)["connectorState"] = "FAILED"
    source.update(configuration(source.wanted, a="b"))
    assert_as(connect, configuration(source.wanted, a="b"))


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
def test_one_is_gone_before_its_namesake_comes(connect: KafkaConnect, source: Stack, change: dict[str, Any]) -> None:
    arn = source.create()["Arn"]
    data = source.update(source.but(**change))
    assert data["Arn"] != arn
    create, delete = "CreateConnector", "DeleteConnector"
    assert connect.called(create, delete) == [create, delete, create]
    # For CloudFormation it is the same resource: nothing is cleaned up, and nothing runs in parallel.
    assert (source.physical_id, source.deleted, len(connect.connectors)) == (NAME, [], 1)


def test_another_name_is_refused(connect: KafkaConnect, source: Stack) -> None:
    source.create()
    reason = failing(source.update, source.but(connectorName="other"))
    assert "connectorName can't change" in reason
    assert_as(connect, source.wanted)


@pytest.mark.parametrize("properties", ["offset.storage.topic=other\n", "a=b\n"])
def test_a_source_keeps_the_topic_of_its_offsets(connect: KafkaConnect, source: Stack, properties: str) -> None:
    source.create()
    changed = source.but(workerConfiguration=worker("two", properties))
    reason = failing(source.update, changed)
    assert f"a change of workerConfiguration would lose the offsets of {NAME}, which are in offsets" in reason
    assert updates(connect) == []


def test_a_source_without_such_a_topic_is_not_replaced(connect: KafkaConnect, source: Stack) -> None:
    source.wanted["workerConfiguration"] = worker("plain", "a=b\n")
    source.create()
    reason = failing(source.update, source.but(kafkaConnectVersion="2.7.1"))
    assert "must set offset.storage.topic" in reason
    assert connect.called("DeleteConnector") == []
    # In place they stay where they are.
    source.update(source.but(workerConfiguration=worker("plain too", "a=c\n")))


def test_a_sink_is_replaced_whatever_its_worker(connect: KafkaConnect, source: Stack) -> None:
    sink = configuration(source.wanted, topics="msk.datalake.cdc_events")
    del sink["workerConfiguration"]
    source.create(sink)
    source.update({**sink, "kafkaConnectVersion": "2.7.1"})
    assert connect.connector(NAME)["kafkaConnectVersion"] == "2.7.1"


def test_a_name_that_only_begins_like_it_stays(connect: KafkaConnect, source: Stack) -> None:
    source.again(logical_id="Longer").create(source.but(connectorName=f"{NAME}-2"))
    source.create()
    source.delete()
    assert [each["connectorName"] for each in connect.connectors.values()] == [f"{NAME}-2"]
