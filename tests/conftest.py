"""Fixtures shared by all tests: a PostgreSQL server for the session and a fresh database for a test."""

import contextlib
import functools
import itertools
import secrets
import signal
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from botocore.loaders import create_loader
from psycopg2 import sql

from local.services.postgres import HOST, ConnectionParameters, Postgres
from tests.no_network import MAY_USE_THE_NETWORK, NoNetwork

# A shell starts background jobs with SIGINT ignored, which children inherit; tests of Ctrl-C need it to count.
signal.signal(signal.SIGINT, signal.default_int_handler)

_numbers = itertools.count(1)


def free_port() -> int:
    """Return a loopback port that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        return int(listener.getsockname()[1])


def execute(parameters: Mapping[str, Any], statement: str | sql.Composable) -> None:
    """Run one statement outside a transaction block."""
    with contextlib.closing(psycopg2.connect(**parameters)) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(statement)


@contextlib.contextmanager
def fresh_database(postgres: Postgres, *, template: str = "template1") -> Iterator[ConnectionParameters]:
    """Create a database from a template; drop it, its connections and its replication slots at the end."""
    parameters = postgres.connection_parameters(f"test_{next(_numbers)}")
    name = sql.Identifier(parameters["dbname"])
    # One connection for both ends: a password's check is made to be slow.
    with contextlib.closing(psycopg2.connect(**postgres.connection_parameters())) as admin, admin.cursor() as cursor:
        admin.autocommit = True
        cursor.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy").format(name, sql.Identifier(template))
        )
        try:
            yield parameters
        finally:
            cursor.execute(
                "SELECT pg_terminate_backend(active_pid, 10000) FROM pg_replication_slots"
                " WHERE database = %s AND active",
                [parameters["dbname"]],
            )
            cursor.execute(
                "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = %s",
                [parameters["dbname"]],
            )
            cursor.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


@pytest.fixture(autouse=True)
def no_network(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[NoNetwork]:
    """A unit test that looks for a network, loopback's included, fails, even if its subject swallows the refusal."""
    guard = NoNetwork()
    if not any(request.node.get_closest_marker(name) for name in MAY_USE_THE_NETWORK):
        guard.install(monkeypatch)
    yield guard
    guard.check()


@pytest.fixture(scope="session", autouse=True)
def aws_models_are_read_once() -> Iterator[None]:
    """Let all of botocore's sessions share what they read of AWS's service models: each would parse 2 MB for itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("botocore.session.create_loader", functools.cache(create_loader))
        yield


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    """A running server for the whole session; it needn't survive a crash, so it doesn't wait for the disk."""
    folder: Path = tmp_path_factory.mktemp("postgres")
    server = Postgres(
        folder / "data",
        free_port(),
        folder / "postgres.log",
        secrets.token_urlsafe(12),
        settings={"fsync": "off", "full_page_writes": "off", "max_replication_slots": "20"},
    )
    try:
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture
def database(postgres: Postgres) -> Iterator[ConnectionParameters]:
    """Connection parameters of an empty database that exists for one test."""
    with fresh_database(postgres) as parameters:
        yield parameters
