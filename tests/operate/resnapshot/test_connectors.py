"""A re-snapshot on AWS: its parameters from an environment, and how it controls MSK Connect and workers on EKS."""

import copy
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.credentials import ReadOnlyCredentials
from botocore.exceptions import ClientError

from contract.rds_ca import BUNDLE
from local.errors import PlatformError
from local.resnapshot import run
from local.resnapshot.run import Wanted
from operate.errors import OperateError
from operate.resnapshot import connectors as source_connectors
from operate.resnapshot.connectors import BUSY_S, EksConnector, MskConnector, source_of
from operate.resnapshot.tables import TAIL_EVENTS, newest_position
from operate.sides import DeployedPipeline, compared, login
from plugins.source.source_connector import following_slot
from plugins.workers.kubernetes_api import KubernetesError, UnreachableError
from settings.environment import Environment
from stacks.handlers.framework import CLIENT_CONFIG
from stacks.paused import OUTPUT, Paused
from tests.operate.conftest import MOTOS_ACCOUNT, REGION, deploy
from tests.operate.resnapshot.test_stored_offsets import SHOP, TOPIC, Log
from tests.stacks.environments import environment_on_eks
from tests.stacks.handlers.clients import client, of_config
from tests.stacks.handlers.msk_connect.requests import connector_request
from tests.stacks.handlers.msk_connect.service import KafkaConnect
from tests.stacks.handlers.provider_framework import LOST, UNSENT


@pytest.fixture
def connect() -> Iterator[KafkaConnect]:
    backend = KafkaConnect(time.time)
    with backend.answering():
        yield backend


@pytest.fixture
def connector(connect: KafkaConnect) -> MskConnector:
    request = connector_request(connect)
    # CloudFormation's attributes are strings; the handler converts them to numbers.
    request["plugins"][0]["customPlugin"]["revision"] = request["workerConfiguration"]["revision"] = 1
    arn = client("kafkaconnect").create_connector(**request)["connectorArn"]
    connect.tick()
    reading, changing = (of_config("kafkaconnect", config) for config in (CLIENT_CONFIG, source_connectors.ONCE))
    return MskConnector(reading, changing, arn, slot="cdc_orders", newest=7, pause=lambda _seconds: connect.tick())


def configurations(connect: KafkaConnect) -> list[str | None]:
    return [
        request["connectorConfiguration"].get("offset.mismatch.strategy")
        for name, request in connect.requests
        if name == "UpdateConnector"
    ]


def test_the_owners_login_is_the_environments_over_tls(aws: boto3.Session, environment: Environment) -> None:
    deploy("dev-cdc-lake-database", Endpoint="db.example:5432", MasterSecretName="master")
    secret = {"username": "owner", "password": "p", "host": "elsewhere", "port": 1}
    aws.client("secretsmanager").create_secret(Name="master", SecretString=json.dumps(secret))
    with login(DeployedPipeline(environment, environment.pipelines[0], aws)) as parameters:
        assert parameters == {
            "host": "db.example",
            "port": 5432,
            "dbname": environment.database.name,
            "user": "owner",
            "password": "p",
            "sslmode": "verify-full",
            "sslrootcert": str(BUNDLE),
        }


def test_the_lake_is_read_with_the_callers_credentials_of_the_time(
    aws: boto3.Session, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy("dev-cdc-lake-lake", LakeBucket="dev-lake")
    [orders] = environment.pipelines
    [table] = compared(DeployedPipeline(environment, orders, aws), orders.captured.tables)
    found = table.lake
    assert found.base_uri == "s3://dev-lake/cdc_events"
    assert found.storage_options["aws_region"] == REGION
    for key in ("A", "B"):
        renewed = Mock(return_value=ReadOnlyCredentials(key, "secret", "token"))
        monkeypatch.setattr(aws.get_credentials(), "get_frozen_credentials", renewed)
        expected = {"aws_access_key_id": key, "aws_secret_access_key": "secret", "aws_session_token": "token"}
        assert found.login() == expected


def test_the_slot_is_the_authority_until_the_repair_ends_also_after_a_run_that_was_broken_off(
    connect: KafkaConnect, connector: MskConnector
) -> None:
    connector.follow_slot()
    connector.follow_slot()
    connector.end_following()
    connector.end_following()
    assert configurations(connect) == ["trust_slot", None]
    [asked] = [request for name, request in connect.requests if name == "RestartConnector"]
    assert asked["onlyFailedTasks"] is True


@pytest.mark.parametrize("where", [None, "id > 7"])
def test_what_was_filtered_while_the_outbox_was_not_published_is_lost(
    monkeypatch: pytest.MonkeyPatch, where: str | None
) -> None:
    found = Mock(may_log_in=True, problems=[], slot_is_lost=False, active=True, publication_is_whole=False)
    found.published = frozenset({"datalake.heartbeat"})
    replication = Mock(**{"judge.return_value": found, "restore_publication.side_effect": KeyboardInterrupt})
    monkeypatch.setattr(run, "replication", replication)
    monkeypatch.setattr("db.rewriting.wal_position", lambda _cursor: 100)
    connector, losing = Mock(**{"offsets.return_value": [], "newest_position.return_value": 0}), Mock()
    with (
        pytest.raises(PlatformError if where else KeyboardInterrupt),
        run.flowing(Mock(), [], connector, Wanted(where=where), print, losing=losing),
    ):
        raise AssertionError
    assert losing.called == (where is None)
    assert replication.restore_publication.called == (where is None)


def test_a_run_that_finds_nothing_lost_ends_what_one_before_it_has_begun(
    connect: KafkaConnect, connector: MskConnector, monkeypatch: pytest.MonkeyPatch
) -> None:
    connector.follow_slot()
    well = Mock(may_log_in=True, problems=[], slot_is_lost=False, active=True, published={"datalake.cdc_events"})
    monkeypatch.setattr(run, "replication", Mock(**{"judge.return_value": well, "read_state.return_value": well}))
    monkeypatch.setattr("db.rewriting.wal_position", lambda _cursor: 100)
    with run.flowing(Mock(), [], connector, Wanted(), print):
        assert configurations(connect) == ["trust_slot"]
    assert configurations(connect) == ["trust_slot", None]


@pytest.mark.parametrize(
    ("faults", "sent"),
    [
        ([LOST], 1),
        ([UNSENT], 2),
        (["TooManyRequestsException"], 2),
        (["InternalServerErrorException"], 2),
        # Not yet listed, and refused because it is under way.
        ([LOST, "BadRequestException"], 2),
    ],
)
@pytest.mark.parametrize("change", ["UpdateConnector", "RestartConnector"])
def test_a_change_whose_answer_is_lost_is_looked_for_before_it_is_sent_again(
    connect: KafkaConnect, connector: MskConnector, change: str, faults: list[str], sent: int
) -> None:
    lags = [60.0] * (len(faults) - 1)

    def pause(_seconds: float) -> None:
        connect.list_lag = lags.pop() if lags else 0.0
        if not connect.list_lag:
            connect.tick()

    connector.pause = pause
    connect.faults[change] = list(faults)
    connector.follow_slot() if change == "UpdateConnector" else connector.restart()
    assert connect.calls.count(change) == sent
    assert len(connect.operations) == 1


def test_while_an_update_takes_half_an_hour_aws_may_throttle_or_be_out_of_reach(
    connect: KafkaConnect, connector: MskConnector, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect.faults["DescribeConnector"] = [UNSENT, *["TooManyRequestsException"] * 20]
    connector.follow_slot()
    assert configurations(connect) == ["trust_slot"]
    connect.faults["DescribeConnector"] = ["TooManyRequestsException"] * 9_999
    clock = iter(range(0, 99_999, 10))
    monkeypatch.setattr("operate.resnapshot.connectors.time.monotonic", lambda: next(clock))
    with pytest.raises(ClientError, match="TooManyRequestsException"):
        connector.settle()


def test_a_refused_change_is_not_sent_again(connect: KafkaConnect, connector: MskConnector) -> None:
    connect.faults["UpdateConnector"] = ["BadRequestException"]
    with pytest.raises(ClientError, match="BadRequestException"):
        connector.follow_slot()
    assert len(configurations(connect)) == 1


def test_an_update_that_is_rolled_back_is_an_error(connect: KafkaConnect, connector: MskConnector) -> None:
    connect.updates = ["ROLLBACK_COMPLETE"]
    with pytest.raises(PlatformError, match="ended in ROLLBACK_COMPLETE: Tasks did not become healthy"):
        connector.follow_slot()


def test_a_failed_connector_alone_says_where_to_look(connect: KafkaConnect, connector: MskConnector) -> None:
    assert connector.failure() is None
    connect.updates = ["UPDATE_FAILED"]
    with pytest.raises(PlatformError):
        connector.follow_slot()
    assert "FAILED, why is in its log" in str(connector.failure())


def test_the_newest_position_is_looked_for_in_each_partitions_tail() -> None:
    log = Log(2)
    for lsn in range(TAIL_EVENTS, 0, -1):
        log.add(0, SHOP, {"__lsn": lsn})
    for event in ({"__lsn": 9}, {"__lsn": 5}, None):
        log.add(0, SHOP, event)
    assert newest_position(log, TOPIC) == TAIL_EVENTS - 3
    assert log.assigned == [(0, 3)]
    assert newest_position(log, "msk.gone") == 0


@pytest.fixture
def on_eks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environment:
    monkeypatch.setattr(source_connectors, "cluster_api", lambda _session, _environment: None)
    return environment_on_eks(tmp_path, "dev").model_copy(update={"account": MOTOS_ACCOUNT})


def test_each_platform_has_its_own_connector(aws: boto3.Session, environment: Environment, on_eks: Environment) -> None:
    arn = f"arn:aws:kafkaconnect:{REGION}:{MOTOS_ACCOUNT}:connector/x/y"
    deploy("dev-cdc-lake-connectors", SourceConnectorArn=arn)
    found = source_of(DeployedPipeline(environment, environment.pipelines[0], aws), newest=7)
    assert isinstance(found, MskConnector)
    other = source_of(DeployedPipeline(on_eks, on_eks.pipelines[0], aws), newest=7)
    assert isinstance(other, EksConnector)
    assert (found.slot, found.newest_position()) == (other.slot, other.newest_position()) == ("cdc_orders", 7)


@pytest.mark.parametrize("refusals", [0, 9], ids=["answers", "throttles"])
def test_msk_connect_is_asked_again_while_it_throttles(
    aws: boto3.Session, environment: Environment, monkeypatch: pytest.MonkeyPatch, refusals: int
) -> None:
    deploy("dev-cdc-lake-connectors", SourceConnectorArn=f"arn:aws:kafkaconnect:{REGION}:{MOTOS_ACCOUNT}:connector/x/y")
    found = source_of(DeployedPipeline(environment, environment.pipelines[0], aws))
    assert isinstance(found, MskConnector)
    headers: Any = {"x-amzn-errortype": "TooManyRequestsException"}
    answers = [AWSResponse("", 429, headers, Mock(stream=list))] * refusals
    answers.append(AWSResponse("", 200, headers, Mock(stream=lambda: [b'{"connectorState": "RUNNING"}'])))
    events: Any = found.client.meta.events
    events.register_first("before-send.kafkaconnect", lambda **_: answers.pop(0))
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda _seconds: None)
    assert found.failure() is None
    assert answers == []


def test_an_environment_whose_pause_has_begun_is_not_told_anything(
    aws: boto3.Session, environment: Environment, on_eks: Environment
) -> None:
    deploy("dev-cdc-lake-guard", **{OUTPUT: Paused.ALL.value})
    deploy("dev-cdc-lake-connectors", SourceConnectorArn="arn")
    for each in (environment, on_eks):
        with pytest.raises(OperateError, match=r"dev is paused: first `\./lake aws resume -e dev`"):
            source_of(DeployedPipeline(each, each.pipelines[0], aws))


NAME = "dev-cdc-lake-orders-source"
DEPLOYED = {"name": NAME, "slot.name": "cdc_orders"}


class Rest:
    """Connect's REST API behind the API server's proxy: its state, and the requests; `errors` come first."""

    def __init__(self) -> None:
        self.configuration = dict(DEPLOYED)
        self.state = "RUNNING"
        self.task: dict[str, Any] = {"state": "RUNNING"}
        self.asked: list[str] = []
        self.errors: list[Exception] = []

    def through_service(self, method: str, namespace: str, name: str, path: str, body: Any = None) -> Any:
        assert (namespace, name) == ("kafka-connect", NAME)
        if self.errors:
            raise self.errors.pop(0)
        what = path.removeprefix(f"/connectors/{NAME}")
        self.asked += [f"{method} {what}"] if method != "GET" else []
        if what == "/stop":
            self.state = "STOPPED"
        elif what == "/resume":
            self.state = "RUNNING"
        elif method == "PUT":
            self.configuration = dict(body)
        elif what == "/config":
            return copy.copy(self.configuration)
        elif what == "/status":
            return {"connector": {"state": self.state}, "tasks": [self.task]}
        return None


@pytest.fixture
def rest() -> Rest:
    return Rest()


@pytest.fixture
def eks_connector(rest: Rest, monkeypatch: pytest.MonkeyPatch) -> EksConnector:
    clock = iter(range(0, 10_000, 10))
    monkeypatch.setattr("operate.resnapshot.connectors.time.monotonic", lambda: next(clock))
    return EksConnector(rest, NAME, slot="cdc_orders", newest=7, pause=lambda _seconds: None)  # type: ignore[arg-type]


def test_it_lets_go_of_its_slot_which_is_the_authority_in_repairs_only(rest: Rest, eks_connector: EksConnector) -> None:
    eks_connector.release()
    assert rest.state == "STOPPED"
    eks_connector.follow_slot()
    assert (rest.state, rest.configuration) == ("RUNNING", following_slot(DEPLOYED))
    eks_connector.settle()
    assert (rest.state, rest.configuration) == ("RUNNING", DEPLOYED)
    assert eks_connector.newest_position() == 7


def test_what_a_run_that_was_broken_off_has_stopped_runs_again(rest: Rest, eks_connector: EksConnector) -> None:
    eks_connector.release()
    eks_connector.restart()
    assert rest.state == "RUNNING"
    assert rest.asked == ["PUT /stop", "PUT /resume", "POST /restart?includeTasks=true&onlyFailed=true"]


def test_it_runs_again_though_its_configuration_is_refused(rest: Rest, eks_connector: EksConnector) -> None:
    eks_connector.release()
    rest.errors = [KubernetesError("GET /x", 400, "Unable to connect: timed out", by_connect=True)]
    with pytest.raises(PlatformError, match=f"{NAME}: Unable to connect"):
        eks_connector.settle()
    assert rest.state == "RUNNING"


def test_a_failed_task_says_why(rest: Rest, eks_connector: EksConnector) -> None:
    assert eks_connector.failure() is None
    rest.task = {"state": "FAILED", "trace": 'org.x.Y: publication "cdc_orders" does not exist'}
    assert "the publication is gone" in str(eks_connector.failure())


def test_workers_that_cant_answer_now_are_asked_again_but_not_for_ever(rest: Rest, eks_connector: EksConnector) -> None:
    rest.errors = [UnreachableError("a rebalance is under way")] * 3
    eks_connector.release()
    assert rest.state == "STOPPED"
    rest.errors = [UnreachableError("x.eks can't be reached: timed out")] * int(BUSY_S)
    with pytest.raises(PlatformError, match=f"{NAME} can't be asked: x.eks can't be reached: timed out"):
        eks_connector.settle()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (KubernetesError("GET /x", 403, "forbidden"), "one of connectors.eks.administrators?"),
        (KubernetesError("GET /x", 404, "Connector not found", by_connect=True), f"{NAME}: Connector not found"),
    ],
)
def test_a_refusal_is_one_line(rest: Rest, eks_connector: EksConnector, error: KubernetesError, said: str) -> None:
    rest.errors = [error]
    with pytest.raises(PlatformError) as caught:
        eks_connector.failure()
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
