"""What speaks against a pause, what it stops, and how it waits.

The tests use their own database; tests/operate/resnapshot/test_connectors.py covers which one a pipeline logs in to.
"""

import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock, Mock

import boto3
import psycopg2
import pytest
from botocore.exceptions import EndpointConnectionError, ReadTimeoutError

from db.connecting import OLDEST_SERVER
from local.services.postgres import Postgres
from operate.pausing import objections
from operate.pausing.connectors import OnMskConnect
from operate.pausing.waiting import LOOK_S, NEW_S, SAY_S, Waiter
from settings.environment import Environment
from settings.environment_pipeline import OutsideDatabase
from settings.load import load
from tests.operate.pausing.cloud import error
from tests.stacks.environments import many_pipelines

SECRET = "arn:aws:secretsmanager:ap-southeast-2:111111111111:secret:shop-a1b2c3"


@pytest.fixture
def environment() -> Environment:
    """dev with an outside database."""
    dev = load("dev")
    outside = OutsideDatabase.model_validate({"host": "db.example", "secret": SECRET, "cidrs": ("10.1.0.0/24",)})
    return dev.model_copy(update={"pipelines": (dev.pipelines[0].model_copy(update={"database": outside}),)})


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            (3 * 1024 * 1024, "-1"),
            "now 3 MB, without a limit (max_slot_wal_keep_size), so a long pause may fill the disk",
        ),
        ((0, "10GB"), "now 0 MB, 10GB at the most (max_slot_wal_keep_size): beyond it the slot is lost, and what it"),
        ((1, None), "now 0 MB, without a limit"),
        (None, "there is no slot cdc_orders, so changes are missed already: `./lake resnapshot -e dev -p orders`"),
        ((None, "10GB"), "the slot cdc_orders is lost, so changes are missed already: `./lake resnapshot -e dev -p"),
        (
            psycopg2.OperationalError("timeout\nexpired"),
            "read from here: the connection broke: timeout expired (nothing was changed); pg_replication_slots there",
        ),
    ],
)
def test_a_slots_log_is_said(environment: Environment, monkeypatch: pytest.MonkeyPatch, answer: Any, said: str) -> None:
    connection = MagicMock(server_version=OLDEST_SERVER)
    connection.cursor.return_value.__enter__.return_value.fetchone.side_effect = [answer]
    monkeypatch.setattr(objections, "login", lambda _deployed: contextlib.nullcontext({}))
    monkeypatch.setattr(psycopg2, "connect", lambda **_: connection)
    [line] = objections.outside(boto3.Session(region_name="ap-southeast-2"), environment)
    assert line.startswith(
        "db.example, which orders captures, goes on being written, and its slot keeps all of that log"
    )
    assert said in line
    assert "\n" not in line


@pytest.mark.integration
def test_a_server_tells_its_slot(environment: Environment, postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.parametrize(
    ("look", "said"),
    [
        (lambda _seconds: None, []),
        # The same is said every five minutes, and what is new once a minute at the most.
        (lambda seconds: "a" if seconds < 2 * SAY_S else None, [(0, "  a"), (SAY_S, "  a")]),
        (lambda seconds: f"{seconds}" if seconds < 180 else None, [(at, f"  {at}") for at in (0.0, NEW_S, 2 * NEW_S)]),
    ],
    ids=["there", "the same", "new"],
)
def test_what_is_waited_for_is_said(time: Time, look: Callable[[float], str | None], said: list[Any]) -> None:
    assert time.waiter.wait(lambda: look(time.seconds), limit_s=3 * SAY_S) is None
    assert time.said == said


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
    assert time.waiter.wait(Mock(side_effect=[passing, passing, None]), limit_s=60) is None
    [(_, line)] = time.said
    assert "again: " in line


def test_what_never_answers_is_given_up(time: Time) -> None:
    look = Mock(side_effect=ReadTimeoutError(endpoint_url="https://rds"))
    assert time.waiter.wait(look, limit_s=60) == "AWS again: ReadTimeoutError"


def test_what_aws_refuses_is_not_asked_for_again(time: Time) -> None:
    refusal = error("AccessDenied", "StopDBCluster", 403)
    with pytest.raises(type(refusal)):
        time.waiter.wait(Mock(side_effect=refusal), limit_s=60)
    assert time.seconds == 0


def test_the_way_out_names_the_pipeline(tmp_path: Path) -> None:
    found = OnMskConnect(Mock(), many_pipelines(tmp_path), Mock())
    assert found.repair("dev-cdc-lake-orders-source") == "`./lake resnapshot -e dev`"
    assert found.repair("dev-cdc-lake-shop-source") == "`./lake resnapshot -e dev -p shop`"
