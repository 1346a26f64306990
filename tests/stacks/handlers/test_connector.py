import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from stacks.handlers import connector, framework, worker_configuration
from stacks.handlers.connector_changes import update
from tests.stacks.handlers.conftest import client
from tests.stacks.handlers.deployment import DeploymentError, Resource, failing
from tests.stacks.handlers.kafkaconnect_backend import LOST, KafkaConnect

NAME = "dev-cdc-lake-orders-source"
LOG_GROUP = "/dev/connectors"
Make = Callable[..., Resource]
pytestmark = pytest.mark.usefixtures("aws")


def provisioned(workers: int = 1) -> dict[str, Any]:
    return {"provisionedCapacity": {"mcuCount": 1, "workerCount": workers}}


@pytest.fixture
def wanted(connect: KafkaConnect) -> dict[str, Any]:
    """A whole request, with the plugin and the worker configuration that it names."""
    return {
        "connectorName": NAME,
        "kafkaConnectVersion": "3.7.x",
        "capacity": provisioned(),
        "connectorConfiguration": {"connector.class": "Postgres", "database.password": "${secretsmanager:x:password}"},
        "plugins": [plugin(connect, "one")],
        "workerConfiguration": worker("one", "offset.storage.topic=offsets\n"),
        "serviceExecutionRoleArn": "arn:aws:iam::123456789012:role/source",
        "logDelivery": {"workerLogDelivery": {"cloudWatchLogs": {"enabled": True, "logGroup": LOG_GROUP}}},
        "kafkaCluster": {
            "apacheKafkaCluster": {
                "bootstrapServers": "b-1:9098,b-2:9098",
                "vpc": {"subnets": ["subnet-1", "subnet-2"], "securityGroups": ["sg-1"]},
            }
        },
        "kafkaClusterClientAuthentication": {"authenticationType": "IAM"},
        "kafkaClusterEncryptionInTransit": {"encryptionType": "TLS"},
        "tags": {"environment": "dev"},
    }


@pytest.fixture
def source(resource: Make) -> Resource:
    return resource(connector)


def plugin(connect: KafkaConnect, name: str) -> dict[str, Any]:
    """A plugin in the service; its revision arrives as a string, like every attribute of a resource."""
    location = {"s3Location": {"bucketArn": "arn:aws:s3:::b", "fileKey": name}}
    service = client("kafkaconnect")
    arn = service.create_custom_plugin(name=name, contentType="ZIP", location=location)["customPluginArn"]
    connect.tick()
    connect.calls.clear()
    return {"customPlugin": {"customPluginArn": arn, "revision": "1"}}


def worker(name: str, properties: str) -> dict[str, Any]:
    made = client("kafkaconnect").create_worker_configuration(
        name=name, propertiesFileContent=base64.b64encode(properties.encode()).decode()
    )
    return {"workerConfigurationArn": made["workerConfigurationArn"], "revision": "1"}


def log(stream: str, *lines: str, at: int = 1_795_240_000_000) -> None:
    logs = client("logs")
    if not logs.describe_log_groups(logGroupNamePrefix=LOG_GROUP)["logGroups"]:
        logs.create_log_group(logGroupName=LOG_GROUP)
    logs.create_log_stream(logGroupName=LOG_GROUP, logStreamName=stream)
    events = [{"timestamp": at + number, "message": line} for number, line in enumerate(lines)]
    logs.put_log_events(logGroupName=LOG_GROUP, logStreamName=stream, logEvents=events)


def configuration(wanted: dict[str, Any], **changes: str) -> dict[str, Any]:
    return {**wanted, "connectorConfiguration": {**wanted["connectorConfiguration"], **changes}}


class TestCreation:
    def test_it_is_made_as_asked_for(self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any]) -> None:
        data = source.create(wanted)
        (arn,) = connect.connectors
        made = connect.connector(NAME)
        assert source.physical_id == NAME
        assert data == {"Name": NAME, "Arn": arn, "Version": made["currentVersion"]}
        assert made["connectorConfiguration"] == wanted["connectorConfiguration"]
        assert made["plugins"][0]["customPlugin"]["revision"] == 1
        assert connect.tags[arn]["environment"] == "dev"
        assert connect.called("CreateConnector") == ["CreateConnector"]

    def test_one_that_fails_says_why_and_leaves_nothing(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any]
    ) -> None:
        log(f"{NAME}-8f1", "INFO starting", "ERROR boom", "INFO stopping", "Caused by: no pg_hba.conf entry")
        log(f"{NAME}-old", "ERROR long ago", at=1_795_000_000_000)
        log("another-connector", "ERROR not mine", at=1_795_240_900_000)
        connect.creations = ["FAILED"]
        reason = failing(source, wanted)
        assert f"the connector {NAME} FAILED: UnknownError.Unknown: The last operation failed." in reason
        assert reason.endswith(f"last lines of {LOG_GROUP}:\nERROR boom\nCaused by: no pg_hba.conf entry")
        assert connect.connectors == {}
        assert source.attempts == [NAME]

    @pytest.mark.parametrize(
        "line", ["ERROR password=hunter2", "ERROR database.password = hunter2 x", "Secret: hunter2"]
    )
    def test_a_secret_in_the_log_stays_there(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any], line: str
    ) -> None:
        log(f"{NAME}-8f1", line)
        connect.creations = ["FAILED"]
        reason = failing(source, wanted)
        assert "[hidden]" in reason
        assert "hunter2" not in reason

    def test_a_long_log_fits_into_the_answer(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any]
    ) -> None:
        log(f"{NAME}-8f1", *[f'ERROR {number} "{"ü" * 1_000}"' for number in range(300)])
        connect.creations = ["FAILED"]
        reason = failing(source, wanted)
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
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any], delivery: dict[str, Any], reason: str
    ) -> None:
        connect.creations = ["FAILED"]
        text = failing(source, {**wanted, "logDelivery": {"workerLogDelivery": delivery}})
        assert "The last operation failed." in text
        assert reason in text

    def test_a_request_that_aws_refuses_is_its_reason(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any]
    ) -> None:
        wanted["plugins"][0]["customPlugin"]["customPluginArn"] += "x"
        assert "CreateConnector: BadRequestException: The custom plugin is not ACTIVE." in failing(source, wanted)
        assert source.attempts == []
        assert connect.connectors == {}

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"capacity": None}, "capacity must be of type dict"),
            ({"connectorDescription": "x"}, "there is no connectorDescription"),
            ({"capacity": {"provisionedCapacity": {"mcuCount": "one", "workerCount": 1}}}, "mcuCount"),
            ({"tags": {"cdc-lake-owner": "me"}}, "the tag cdc-lake-owner is the handlers' own"),
        ],
    )
    def test_a_wrong_request_is_refused_by_its_name(
        self, source: Resource, wanted: dict[str, Any], changes: dict[str, Any], reason: str
    ) -> None:
        assert reason in failing(source, {**wanted, **changes})

    def test_a_strangers_connector_of_that_name_is_left_alone(
        self, connect: KafkaConnect, resource: Make, wanted: dict[str, Any]
    ) -> None:
        resource(connector, stack_id="arn:aws:cloudformation:x:1:stack/another/1").create(wanted)
        before = json.dumps(connect.connectors)
        source = resource(connector)
        reason = failing(source, configuration(wanted, a="b"))
        assert f"{NAME} is there already and isn't this resource's (cdc-lake-owner=another/1/Source)" in reason
        assert source.physical_id is None
        assert json.dumps(connect.connectors) == before

    def test_a_stranger_who_is_quicker_keeps_the_name(
        self, connect: KafkaConnect, resource: Make, wanted: dict[str, Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        resource(connector, logical_id="Another").create(wanted)
        before = json.dumps(connect.connectors)
        source = resource(connector)
        # The look before the creation doesn't see it yet.
        find, looks = connector._find, [None]
        monkeypatch.setattr(connector, "_find", lambda name: looks.pop() if looks else find(name))
        assert "isn't this resource's" in failing(source, wanted)
        assert json.dumps(connect.connectors) == before

    @pytest.mark.parametrize("fault", ["TooManyRequestsException", "InternalServerErrorException", LOST])
    @pytest.mark.parametrize("operation", ["CreateConnector", "DescribeConnector", "ListTagsForResource"])
    def test_a_busy_service_is_asked_again(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any], operation: str, fault: str
    ) -> None:
        connect.faults[operation] = [fault]
        source.create(wanted)
        assert len(connect.connectors) == 1

    def test_a_service_that_stays_busy_is_given_up_with_the_reason(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("DEADLINE_SECONDS", "300")
        connect.faults["DescribeConnector"] = ["TooManyRequestsException"] * 12
        assert "gave up waiting: DescribeConnector again after TooManyRequests" in failing(source, wanted)
        assert connect.connectors == {}

    def test_one_that_never_runs_is_given_up_before_the_framework_does(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any]
    ) -> None:
        waiting = source.begin(source_event(source, wanted))
        source.clock.seconds += framework.DEADLINE_SECONDS - 1
        assert source.poll(waiting) is None
        source.clock.seconds += 1
        with pytest.raises(DeploymentError, match=f"gave up waiting: the connector {NAME} is CREATING"):
            source.poll(waiting)
        source.physical_id = NAME
        # It can't be deleted while it is created: the deletion waits for that.
        source.delete()
        assert connect.connectors == {}

    def test_a_delivery_that_comes_twice_makes_one(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any]
    ) -> None:
        event = source_event(source, wanted)
        first = source.begin(event)
        source.clock.seconds += 7
        second = source.begin(event)
        assert first["PhysicalResourceId"] == second["PhysicalResourceId"] == NAME
        assert source.finish(first) == source.finish(second)
        assert len(connect.connectors) == 1

    def test_a_creation_that_was_deleted_meanwhile_is_not_made_again(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any]
    ) -> None:
        event = source_event(source, wanted)
        deliveries = [source.begin(event), source.begin(event)]
        source.physical_id = NAME
        connect.tick()
        source.delete()
        for waiting in deliveries:
            with pytest.raises(DeploymentError, match="was deleted while it was created"):
                source.poll(waiting)
        assert connect.connectors == {}

    def test_the_name_of_one_that_is_being_deleted_is_waited_for(
        self, connect: KafkaConnect, resource: Make, wanted: dict[str, Any]
    ) -> None:
        old = resource(connector, stack_id="arn:aws:cloudformation:x:1:stack/before/1")
        old.create(wanted)
        old.poll(old.begin(old.event("Delete")))
        resource(connector).create(wanted)
        assert connect.connector(NAME)["connectorState"] == "RUNNING"


class TestUpdate:
    def test_changed_configuration_is_one_operation_in_place(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any]
    ) -> None:
        arn = source.create(wanted)["Arn"]
        data = source.update(configuration(wanted, **{"poll.interval.ms": "100"}))
        assert (data["Arn"], source.physical_id) == (arn, NAME)
        assert connect.connector(NAME)["connectorConfiguration"]["poll.interval.ms"] == "100"
        (request,) = updates(connect)
        assert request.keys() == {"connectorArn", "currentVersion", "connectorConfiguration"}
        assert source.attempts == []

    @pytest.mark.parametrize("what", ["capacity", "plugins", "workerConfiguration"])
    def test_only_what_changed_is_asked_for(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any], what: str
    ) -> None:
        source.create(wanted)
        changes: dict[str, Any] = {
            "capacity": provisioned(2),
            "plugins": [plugin(connect, "two")],
            "workerConfiguration": worker("two", "a=b\noffset.storage.topic=offsets\n"),
        }
        source.update({**wanted, what: changes[what]})
        (request,) = updates(connect)
        assert request.keys() == {"connectorArn", "currentVersion", what}

    def test_changes_of_both_kinds_are_one_operation_after_the_other(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any]
    ) -> None:
        source.create(wanted)
        both = {"capacity": provisioned(3), "plugins": [plugin(connect, "two")]}
        source.update({**configuration(wanted, a="b"), **both})
        first, second = updates(connect)
        assert first.keys() - {"connectorArn", "currentVersion"} == {"capacity", "plugins", "skipHealthValidation"}
        # What is between the two may not run, what comes out must.
        assert second.keys() - {"connectorArn", "currentVersion"} == {"connectorConfiguration"}
        assert connect.connector(NAME)["capacity"] == provisioned(3)

    def test_the_default_worker_configuration_comes_back(
        self, connect: KafkaConnect, resource: Make, wanted: dict[str, Any]
    ) -> None:
        sink = resource(connector)
        wanted = configuration(wanted, topics="t")
        sink.create(wanted)
        sink.update({key: value for key, value in wanted.items() if key != "workerConfiguration"})
        assert updates(connect)[0]["useDefaultWorkerConfiguration"] is True
        assert "workerConfiguration" not in connect.connector(NAME)

    def test_nothing_changed_is_nothing_done(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any]
    ) -> None:
        source.create(wanted)
        addresses = wanted["kafkaCluster"]["apacheKafkaCluster"]
        addresses["bootstrapServers"] = "b-2:9098,b-1:9098"
        addresses["vpc"]["subnets"].reverse()
        (plugin,) = wanted["plugins"]
        plugin["customPlugin"] = dict(reversed(plugin["customPlugin"].items()))
        source.update(wanted)
        assert connect.called("UpdateConnector", "DeleteConnector") == []

    def test_tags_are_changed_without_touching_the_connector(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any]
    ) -> None:
        arn = source.create(wanted)["Arn"]
        connect.tags[arn]["aws:cloudformation:stack"] = "x"
        source.update({**wanted, "tags": {"team": "data"}})
        assert connect.tags[arn]["team"] == "data"
        assert "environment" not in connect.tags[arn]
        assert "aws:cloudformation:stack" in connect.tags[arn]
        assert updates(connect) == []

    @pytest.mark.parametrize("ending", ["ROLLBACK_COMPLETE", "UPDATE_FAILED", "ROLLBACK_FAILED"])
    def test_an_update_that_msk_connect_rolls_back_ends_where_it_began(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any], ending: str
    ) -> None:
        source.create(wanted)
        log(f"{NAME}-8f1", "ERROR no such setting")
        connect.updates = [ending]
        reason = failing(source, configuration(wanted, a="b"), update=True)
        assert f"UPDATE_CONNECTOR_CONFIGURATION of {NAME} ended in {ending}: HealthCheckFailed: Tasks" in reason
        assert reason.endswith("ERROR no such setting")
        assert_as(connect, wanted)
        assert source.attempts == []

    def test_a_second_operation_that_fails_takes_the_first_back(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any]
    ) -> None:
        source.create(wanted)
        connect.updates = ["UPDATE_COMPLETE", "ROLLBACK_COMPLETE"]
        failing(source, {**configuration(wanted, a="b"), "capacity": provisioned(4)}, update=True)
        assert_as(connect, wanted)
        assert [set(each) & {"capacity", "connectorConfiguration"} for each in updates(connect)] == [
            {"capacity"},
            {"connectorConfiguration"},
            {"capacity"},
        ]

    def test_an_update_while_another_is_under_way_waits_for_it(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any]
    ) -> None:
        source.create(wanted)
        made = connect.connector(NAME)
        client("kafkaconnect").update_connector(
            connectorArn=made["connectorArn"], currentVersion=made["currentVersion"], capacity=provisioned(5)
        )
        # By hand, and it fails: that isn't this update's failure.
        connect.updates = ["ROLLBACK_COMPLETE"]
        source.update(configuration(wanted, a="b"))
        assert_as(connect, configuration(wanted, a="b"))
        assert len(updates(connect)) == 2

    @pytest.mark.parametrize("same", [True, False])
    def test_the_operation_counts_and_not_the_state(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any], same: bool
    ) -> None:
        source.create(wanted)
        source.properties = {"Request": json.dumps(configuration(wanted, a="b"))}
        waiting = source.begin(source.event("Update"))
        source.poll(waiting)
        # The connector says that it runs, as it is or as it is wanted; its operation isn't through.
        found = connect.connector(NAME)
        found["connectorState"] = "RUNNING"
        found["connectorConfiguration"] = configuration(wanted, a="b" if same else "c")["connectorConfiguration"]
        assert source.poll(waiting) is None
        assert len(updates(connect)) == 1
        connect.tick()
        assert source.poll(waiting) is not None

    def test_one_who_was_quicker_is_waited_for(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        source.create(wanted)
        changed = configuration(wanted, a="b")

        def slow(*arguments: Any) -> Any:
            if not updates(connect):
                found = connect.connector(NAME)
                client("kafkaconnect").update_connector(
                    connectorArn=found["connectorArn"],
                    currentVersion=found["currentVersion"],
                    connectorConfiguration=changed["connectorConfiguration"],
                )
            return update(*arguments)

        monkeypatch.setattr(connector, "update", slow)
        source.update(changed)
        assert len(updates(connect)) == 2
        assert_as(connect, changed)

    def test_a_refused_update_is_its_reason(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any]
    ) -> None:
        source.create(wanted)
        connect.faults["UpdateConnector"] = ["BadRequestException"]
        assert "UpdateConnector: BadRequestException" in failing(source, configuration(wanted, a="b"), update=True)
        assert_as(connect, wanted)

    def test_an_answer_that_got_lost_changes_once(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any]
    ) -> None:
        source.create(wanted)
        connect.faults["UpdateConnector"] = [LOST]
        source.update(configuration(wanted, a="b"))
        assert len(updates(connect)) == 1

    def test_what_is_read_back_is_compared(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any]
    ) -> None:
        source.create(wanted)
        source.properties = {"Request": json.dumps(configuration(wanted, a="b"))}
        waiting = source.begin(source.event("Update"))
        source.poll(waiting)
        connect.tick()
        connect.connector(NAME)["connectorConfiguration"]["a"] = "c"
        with pytest.raises(DeploymentError, match=r"read back with another connectorConfiguration \(a\)"):
            source.poll(waiting)

    def test_a_paused_connector_is_changed_without_looking_at_its_health(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any]
    ) -> None:
        source.create(wanted)
        connect.connector(NAME)["connectorState"] = "PAUSED"
        source.update(configuration(wanted, a="b"))
        assert updates(connect)[0]["skipHealthValidation"] is True

    def test_one_that_was_deleted_by_hand_is_made_again(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any]
    ) -> None:
        source.create(wanted)
        connect.connectors.clear()
        source.update(configuration(wanted, a="b"))
        assert_as(connect, configuration(wanted, a="b"))

    def test_a_delivery_that_comes_twice_changes_once(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any]
    ) -> None:
        source.create(wanted)
        source.properties = {"Request": json.dumps(configuration(wanted, a="b"))}
        event = source.event("Update")
        first = source.begin(event)
        source.poll(first)
        second = source.begin(event)
        source.poll(second)
        assert source.finish(first) == source.finish(second)
        assert len(updates(connect)) == 1

    @pytest.mark.parametrize("polls", [0, 1, 2, 3])
    def test_a_cancelled_update_does_not_go_on_against_its_rollback(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any], polls: int
    ) -> None:
        source.create(wanted)
        old = dict(source.properties)
        source.properties = {"Request": json.dumps({**configuration(wanted, a="b"), "capacity": provisioned(2)})}
        cancelled = source.begin(source.event("Update"))
        for _ in range(polls):
            source.poll(cancelled)
            connect.tick()
        source.clock.seconds += 60
        source.properties = old
        rollback = source.begin(source.event("Update"))
        source.poll(rollback)
        with pytest.raises(DeploymentError, match="a later request has taken over"):
            source.poll(cancelled)
        source.finish(rollback)
        assert_as(connect, wanted)


class TestReplacement:
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
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any], change: dict[str, Any]
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

    def test_a_new_one_that_fails_is_replaced_by_the_old(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any]
    ) -> None:
        source.create(wanted)
        connect.creations = ["FAILED"]
        reason = failing(source, {**wanted, "kafkaConnectVersion": "2.7.1"}, update=True)
        assert f"the connector {NAME} FAILED" in reason
        assert_as(connect, wanted)

    def test_a_cancelled_replacement_converges(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any]
    ) -> None:
        source.create(wanted)
        old = dict(source.properties)
        source.properties = {"Request": json.dumps({**wanted, "kafkaConnectVersion": "2.7.1"})}
        cancelled = source.begin(source.event("Update"))
        source.poll(cancelled)
        source.clock.seconds += 60
        source.properties = old
        rollback = source.begin(source.event("Update"))
        connect.tick()
        # The cancelled one is quicker and makes the new connector.
        source.poll(cancelled)
        source.finish(rollback)
        assert_as(connect, wanted)

    def test_one_that_had_failed_is_made_anew(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any]
    ) -> None:
        source.create(wanted)
        connect.connector(NAME)["connectorState"] = "FAILED"
        source.update(configuration(wanted, a="b"))
        assert_as(connect, configuration(wanted, a="b"))

    def test_another_name_is_refused(self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any]) -> None:
        source.create(wanted)
        reason = failing(source, {**wanted, "connectorName": "other"}, update=True)
        assert "connectorName can't change" in reason
        assert_as(connect, wanted)

    @pytest.mark.parametrize("properties", ["offset.storage.topic=other\n", "a=b\n"])
    def test_a_source_keeps_the_topic_of_its_offsets(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any], properties: str
    ) -> None:
        source.create(wanted)
        changed = {**wanted, "workerConfiguration": worker("two", properties)}
        reason = failing(source, changed, update=True)
        assert f"a change of workerConfiguration would lose the offsets of {NAME}, which are in offsets" in reason
        assert updates(connect) == []

    def test_a_source_without_such_a_topic_is_not_replaced(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any]
    ) -> None:
        wanted["workerConfiguration"] = worker("plain", "a=b\n")
        source.create(wanted)
        reason = failing(source, {**wanted, "kafkaConnectVersion": "2.7.1"}, update=True)
        assert "must set offset.storage.topic" in reason
        assert connect.called("DeleteConnector") == []
        # In place they stay where they are.
        source.update({**wanted, "workerConfiguration": worker("plain too", "a=c\n")})

    def test_a_sink_is_replaced_whatever_its_worker(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any]
    ) -> None:
        sink = configuration(wanted, topics="msk.datalake.cdc_events")
        del sink["workerConfiguration"]
        source.create(sink)
        source.update({**sink, "kafkaConnectVersion": "2.7.1"})
        assert connect.connector(NAME)["kafkaConnectVersion"] == "2.7.1"


class TestDeletion:
    def test_it_is_gone_when_it_is_complete(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any]
    ) -> None:
        source.create(wanted)
        source.delete()
        assert connect.connectors == {}

    def test_twice_is_once(self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any]) -> None:
        source.create(wanted)
        source.delete()
        source.delete()
        assert connect.called("DeleteConnector") == ["DeleteConnector"]

    def test_an_unknown_id_is_nothing_to_do(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any]
    ) -> None:
        source.properties = {"Request": json.dumps(wanted)}
        source.physical_id = "dev-cdc-lake-orders"
        source.delete()
        assert connect.called("DeleteConnector") == []

    def test_a_strangers_connector_stays(self, connect: KafkaConnect, resource: Make, wanted: dict[str, Any]) -> None:
        resource(connector, logical_id="Another").create(wanted)
        source = resource(connector, physical_id=NAME, properties={"Request": json.dumps(wanted)})
        source.delete()
        assert connect.connector(NAME)["connectorState"] == "RUNNING"

    def test_a_name_that_only_begins_like_it_stays(
        self, connect: KafkaConnect, resource: Make, wanted: dict[str, Any]
    ) -> None:
        source, longer = resource(connector), resource(connector, logical_id="Longer")
        longer.create({**wanted, "connectorName": f"{NAME}-2"})
        source.create(wanted)
        source.delete()
        assert [each["connectorName"] for each in connect.connectors.values()] == [f"{NAME}-2"]

    @pytest.mark.parametrize("fault", ["TooManyRequestsException", LOST])
    def test_a_busy_service_is_asked_again(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any], fault: str
    ) -> None:
        source.create(wanted)
        connect.faults["DeleteConnector"] = [fault]
        source.delete()
        assert connect.connectors == {}

    def test_what_aws_refuses_is_its_reason(
        self, connect: KafkaConnect, source: Resource, wanted: dict[str, Any]
    ) -> None:
        source.create(wanted)
        connect.faults["DeleteConnector"] = ["ForbiddenException"]
        with pytest.raises(DeploymentError, match="DeleteConnector: ForbiddenException"):
            source.delete()


def test_worker_and_connector_go_together(connect: KafkaConnect, resource: Make, wanted: dict[str, Any]) -> None:
    made = resource(worker_configuration, logical_id="Worker")
    data = made.create({"name": "worker", "properties": {"offset.storage.topic": "offsets"}})
    wanted["workerConfiguration"] = {"workerConfigurationArn": data["Arn"], "revision": str(data["Revision"])}
    resource(connector).create(wanted)
    assert connect.connector(NAME)["workerConfiguration"]["revision"] == 1


def source_event(source: Resource, wanted: dict[str, Any]) -> dict[str, Any]:
    source.properties = {"Request": json.dumps(wanted)}
    return source.event("Create")


def updates(connect: KafkaConnect) -> list[dict[str, Any]]:
    """The update requests so far."""
    return [request for operation, request in connect.requests if operation == "UpdateConnector"]


def assert_as(connect: KafkaConnect, wanted: dict[str, Any]) -> None:
    """The one connector that there is runs as wanted."""
    found = connect.connector(NAME)
    assert len(connect.connectors) == 1
    assert found["connectorState"] == "RUNNING"
    assert found["connectorConfiguration"] == wanted["connectorConfiguration"]
    assert found["capacity"] == wanted["capacity"]
    assert found["kafkaConnectVersion"] == wanted["kafkaConnectVersion"]
