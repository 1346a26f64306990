"""What speaks against a pause, what it stops, and how it waits.

The tests use their own database; tests/operate/resnapshot/test_connectors.py covers which one a pipeline logs in to.
"""

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import psycopg2
import pytest
from botocore.exceptions import EndpointConnectionError, ReadTimeoutError

from local.services.postgres import Postgres
from operate.costs.bill import NODES, WHAT_STOPS
from operate.diff import snapshots
from operate.pausing import objections
from operate.pausing.waiting import LOOK_S, NEW_S, SAY_S, Waiter
from settings.environment import Environment
from settings.environment_pipeline import OutsideDatabase
from settings.load import load
from tests.operate.pausing.cloud import error

SECRET = "arn:aws:secretsmanager:ap-southeast-2:111111111111:secret:shop-a1b2c3"


@pytest.fixture
def environment() -> Environment:
    """dev with an outside database."""
    dev = load("dev")
    outside = OutsideDatabase.model_validate({"host": "db.example", "secret": SECRET, "cidrs": ("10.1.0.0/24",)})
    return dev.model_copy(update={"pipelines": (dev.pipelines[0].model_copy(update={"database": outside}),)})


@pytest.fixture
def row(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The server's answer; an error is raised."""
    answers: list[Any] = []

    @contextlib.contextmanager
    def login(*_: object) -> Iterator[dict[str, Any]]:
        yield {"host": "db.example"}

    monkeypatch.setattr(objections, "login", login)
    monkeypatch.setattr(psycopg2, "connect", lambda **_: Connection(answers))
    return answers


class Connection:
    """The used part of a connection and its cursor."""

    def __init__(self, answers: list[Any]) -> None:
        self._answers = answers
        if isinstance(answers[0], Exception):
            raise answers[0]

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def cursor(self) -> "Connection":
        return self

    def execute(self, sql: str, parameters: list[str]) -> None:
        assert "pg_replication_slots" in sql
        assert parameters == ["cdc_orders"]

    def fetchone(self) -> Any:
        return self._answers[0]

    def close(self) -> None:
        return None


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            (3 * 1024 * 1024, "-1"),
            "now 3 MB, without a limit (max_slot_wal_keep_size), so a long pause may fill the disk",
        ),
        ((0, "10GB"), "now 0 MB, 10GB at the most (max_slot_wal_keep_size): beyond it the slot is lost, and what it"),
        ((1, None), "now 0 MB, without a limit"),
        (None, "there is no slot cdc_orders, so changes are missed already: `./lake resnapshot` after the pause"),
        (
            psycopg2.OperationalError("timeout\nexpired"),
            "can't be read from here (timeout expired); pg_replication_slots",
        ),
    ],
)
def test_what_the_slot_keeps_is_said(environment: Environment, row: list[Any], answer: Any, said: str) -> None:
    row.append(answer)
    [line] = objections.outside(boto3.Session(region_name="ap-southeast-2"), environment)
    assert line.startswith(
        "db.example, which orders captures, goes on being written, and its slot keeps all of that log"
    )
    assert said in line
    assert "\n" not in line


def test_the_environments_own_database_is_no_objection() -> None:
    assert list(objections.outside(boto3.Session(region_name="ap-southeast-2"), load("dev"))) == []


@pytest.mark.integration
def test_a_server_answers_what_it_is_asked(
    environment: Environment, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = postgres.connection_parameters()

    @contextlib.contextmanager
    def login(*_: object) -> Iterator[dict[str, Any]]:
        yield dict(parameters)

    def said() -> str:
        [line] = objections.outside(boto3.Session(region_name="ap-southeast-2"), environment)
        return line

    monkeypatch.setattr(objections, "login", login)
    assert "there is no slot cdc_orders" in said()
    with contextlib.closing(psycopg2.connect(**parameters)) as connection, connection.cursor() as cursor:
        connection.autocommit = True
        cursor.execute("SELECT pg_create_logical_replication_slot('cdc_orders', 'pgoutput')")
        try:
            line = said()
        finally:
            cursor.execute("SELECT pg_drop_replication_slot('cdc_orders')")
    assert re.search(r"until `./lake aws resume`: now \d+ MB, without a limit \(max_slot_wal_keep_size\)", line)


class Time:
    """A clock that sleeping advances."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.said: list[tuple[float, str]] = []

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds

    @property
    def waiter(self) -> Waiter:
        return Waiter(lambda line: self.said.append((self.seconds, line)), self.sleep, lambda: self.seconds)


@pytest.fixture
def time() -> Time:
    return Time()


def looks(*answers: str | Exception | None) -> Callable[[], str | None]:
    left: Iterator[str | Exception | None] = iter(answers)

    def look() -> str | None:
        answer = next(left)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return look


def test_what_is_there_is_not_waited_for(time: Time) -> None:
    assert time.waiter.wait(looks(None), limit_s=0) is None
    assert (time.seconds, time.said) == (0, [])


def test_the_same_is_said_every_five_minutes(time: Time) -> None:
    assert time.waiter.wait(lambda: "a" if time.seconds < 2 * SAY_S else None, limit_s=3 * SAY_S) is None
    assert time.said == [(0, "  a"), (SAY_S, "  a")]


def test_what_is_new_is_said_once_a_minute_at_the_most(time: Time) -> None:
    assert time.waiter.wait(lambda: f"{time.seconds}" if time.seconds < 180 else None, limit_s=SAY_S) is None
    assert [at for at, _ in time.said] == [0, NEW_S, 2 * NEW_S]


def test_the_limit_ends_it_with_what_was_waited_for(time: Time) -> None:
    assert time.waiter.wait(lambda: "a", limit_s=100) == "a"
    assert 100 <= time.seconds < 100 + LOOK_S


@pytest.mark.parametrize(
    "passing",
    [
        error("Throttling", "DescribeDBClusters"),
        error("ThrottlingException", "ListClusters"),
        error("TooManyRequestsException", "ListConnectors", 429),
        error("Whatever", "ListConnectors", 503),
        EndpointConnectionError(endpoint_url="https://rds"),
        ReadTimeoutError(endpoint_url="https://rds"),
    ],
)
def test_what_passes_by_itself_is_asked_for_again(time: Time, passing: Exception) -> None:
    assert time.waiter.wait(looks(passing, passing, None), limit_s=60) is None
    [(_, line)] = time.said
    assert "again: " in line


def test_what_never_answers_is_given_up(time: Time) -> None:
    def look() -> str | None:
        raise ReadTimeoutError(endpoint_url="https://rds")

    assert time.waiter.wait(look, limit_s=60) == "AWS again: ReadTimeoutError"


def test_what_aws_refuses_is_not_asked_for_again(time: Time) -> None:
    refusal = error("AccessDenied", "StopDBCluster", 403)
    with pytest.raises(type(refusal)):
        time.waiter.wait(looks(refusal), limit_s=60)
    assert time.seconds == 0


def test_what_stops_is_something_that_the_stacks_have() -> None:
    templates = snapshots.read(load("dev")).values()
    made = {resource["Type"] for template in templates for resource in template["Resources"].values()}
    # tests/operate/pausing/test_on_eks.py covers connectors on EKS.
    assert {each.type for each in WHAT_STOPS if each is not NODES} <= made
