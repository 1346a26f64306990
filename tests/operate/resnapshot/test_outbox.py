"""A re-snapshot on AWS: its parameters from an environment, and how it controls MSK Connect."""

import json
import time
from collections.abc import Iterator

import boto3
import pytest
from confluent_kafka import TopicPartition
from moto import mock_aws

from contract.rds_ca import BUNDLE
from local.errors import PlatformError
from operate.errors import OperateError
from operate.resnapshot.connectors import MskConnector
from operate.resnapshot.outbox import lake_table, login, newest_position
from settings.environment import Environment
from tests.operate.test_outputs import deploy, environment, without_credentials  # noqa: F401
from tests.stacks.handlers.clients import client
from tests.stacks.handlers.msk_connect.connector_requests import connector_request
from tests.stacks.handlers.msk_connect.service import KafkaConnect

REGION = "ap-southeast-2"


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[boto3.Session]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    with mock_aws():
        yield boto3.Session(region_name=REGION)


@pytest.fixture
def connect() -> Iterator[KafkaConnect]:
    backend, service = KafkaConnect(time.time), client("kafkaconnect")
    service.meta.events.register_first("before-send.kafkaconnect", backend.handle)
    yield backend
    service.meta.events.unregister("before-send.kafkaconnect", backend.handle)


@pytest.fixture
def connector(connect: KafkaConnect) -> MskConnector:
    request = connector_request(connect)
    # CloudFormation's attributes are strings; the handler converts them to numbers.
    request["plugins"][0]["customPlugin"]["revision"] = request["workerConfiguration"]["revision"] = 1
    arn = client("kafkaconnect").create_connector(**request)["connectorArn"]
    connect.tick()
    return MskConnector(client("kafkaconnect"), arn, slot="cdc_orders", newest=7, pause=lambda _seconds: connect.tick())


def configurations(connect: KafkaConnect) -> list[str | None]:
    return [
        request["connectorConfiguration"].get("offset.mismatch.strategy")
        for name, request in connect.requests
        if name == "UpdateConnector"
    ]


def test_the_owners_login_is_the_environments_over_tls(aws: boto3.Session, environment: Environment) -> None:  # noqa: F811
    deploy("dev-cdc-lake-database", Endpoint="db.example:5432", MasterSecretName="master")
    secret = {"username": "owner", "password": "p", "host": "elsewhere", "port": 1}
    aws.client("secretsmanager").create_secret(Name="master", SecretString=json.dumps(secret))
    with login(environment, aws, environment.pipelines[0]) as parameters:
        assert parameters == {
            "host": "db.example",
            "port": 5432,
            "dbname": environment.database.name,
            "user": "owner",
            "password": "p",
            "sslmode": "verify-full",
            "sslrootcert": str(BUNDLE),
        }


def test_the_lake_is_read_with_the_callers_credentials(aws: boto3.Session, environment: Environment) -> None:  # noqa: F811
    deploy("dev-cdc-lake-lake", LakeBucket="dev-lake")
    [orders] = environment.pipelines
    found = lake_table(environment, aws, orders, orders.captured.tables[0])
    assert found.base_uri == "s3://dev-lake/cdc_events"
    assert found.storage_options["aws_region"] == REGION
    credentials = aws.get_credentials()
    assert credentials is not None
    assert found.storage_options["aws_access_key_id"] == credentials.access_key
    assert found.storage_options["aws_secret_access_key"] == credentials.secret_key


def test_an_environment_that_is_not_deployed_is_one_line(aws: boto3.Session, environment: Environment) -> None:  # noqa: F811
    with pytest.raises(OperateError, match="there is no stack dev-cdc-lake-lake"):
        lake_table(environment, aws, environment.pipelines[0], environment.pipelines[0].captured.tables[0])


def test_the_slot_is_the_authority_for_the_time_of_the_repair_only(
    connect: KafkaConnect, connector: MskConnector
) -> None:
    connector.follow_slot()
    connector.settle()
    assert configurations(connect) == ["trust_slot", None]


def test_a_run_that_was_broken_off_is_gone_on_with(connect: KafkaConnect, connector: MskConnector) -> None:
    connector.follow_slot()
    connector.follow_slot()
    connector.settle()
    assert configurations(connect) == ["trust_slot", None]
    assert connect.called("RestartConnector") == ["RestartConnector"]


def test_an_update_that_is_rolled_back_is_an_error(connect: KafkaConnect, connector: MskConnector) -> None:
    connect.updates = ["ROLLBACK_COMPLETE"]
    with pytest.raises(PlatformError, match="ended in ROLLBACK_COMPLETE: Tasks did not become healthy"):
        connector.follow_slot()


def test_failed_tasks_are_started_again(connect: KafkaConnect, connector: MskConnector) -> None:
    connector.restart()
    (asked,) = [request for name, request in connect.requests if name == "RestartConnector"]
    assert asked["onlyFailedTasks"] is True


def test_a_connector_that_runs_has_not_failed_and_one_that_failed_says_where_to_look(
    connect: KafkaConnect, connector: MskConnector
) -> None:
    assert connector.failure() is None
    connect.updates = ["UPDATE_FAILED"]
    with pytest.raises(PlatformError):
        connector.follow_slot()
    assert "FAILED, why is in its log" in str(connector.failure())


class Message:
    """A message at the topic's end."""

    def __init__(self, offset: int, value: dict[str, object] | None) -> None:
        self._offset = offset
        self._value = value

    def offset(self) -> int:
        return self._offset

    def value(self) -> bytes | None:
        return None if self._value is None else json.dumps(self._value).encode()


class Tail:
    """A reader of a topic with two partitions, one of them empty."""

    def __init__(self) -> None:
        self.assigned: list[TopicPartition] = []
        self._messages = [Message(4_998, {"__lsn": 9}), Message(4_999, {"__lsn": 5}), Message(5_000, None)]

    def partitions(self) -> dict[str, list[int]]:
        return {"msk.t": [0, 1]}

    def bounds(self, _topic: str, partition: int) -> tuple[int, int]:
        return (0, 5_001) if partition == 0 else (3, 3)

    def assign(self, places: list[TopicPartition]) -> None:
        self.assigned += places

    def poll(self, _timeout_s: float) -> Message | None:
        return self._messages.pop(0)


def test_the_newest_position_is_looked_for_in_each_partitions_tail() -> None:
    tail = Tail()
    assert newest_position(tail, "msk.t") == 9  # type: ignore[arg-type]
    assert [(place.partition, place.offset) for place in tail.assigned] == [(0, 4_001)]


def test_a_topic_that_is_gone_tells_nothing() -> None:
    assert newest_position(Tail(), "msk.gone") == 0  # type: ignore[arg-type]
