"""WAL kept for a slot in an outside database, as the command reports it.

The tests use their own database; tests/operate/resnapshot/test_outbox.py covers which one a pipeline logs in to.
"""

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import boto3
import psycopg2
import pytest

from local.services.postgres import Postgres
from operate.pausing import objections
from settings.environment import Environment
from settings.environment_pipeline import OutsideDatabase
from settings.load import load

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
