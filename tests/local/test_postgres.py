"""The PostgreSQL server of the local platform: created, started, stopped and started again."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg2
import pytest

from local.postgres import Postgres, PostgresError
from tests.conftest import free_port

pytestmark = pytest.mark.integration
PASSWORD = "a-Password/1"


def ask(server: Postgres, query: str) -> Any:
    with contextlib.closing(psycopg2.connect(**server.connection_parameters())) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(query)
            row = cursor.fetchone() if cursor.description else None
            return row[0] if row else None


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Postgres]:
    server = Postgres(tmp_path / "data", free_port(), tmp_path / "logs" / "postgres.log", PASSWORD)
    try:
        yield server
    finally:
        server.remove()


def test_goes_on_from_its_data_after_a_stop_and_after_a_crash(server: Postgres) -> None:
    server.start()
    assert ask(server, "SHOW wal_level") == "logical"
    assert ask(server, "SHOW server_encoding") == "UTF8"
    ask(server, "CREATE TABLE kept AS SELECT 1 AS n")
    server.stop()
    with pytest.raises(psycopg2.OperationalError):
        ask(server, "SELECT 1")

    server.start()
    ask(server, "INSERT INTO kept VALUES (2)")
    crashed = server.pid
    assert crashed is not None
    os.kill(crashed, signal.SIGKILL)
    psutil.wait_procs([psutil.Process(crashed)], timeout=10)

    server.start()
    assert ask(server, "SELECT count(*) FROM kept") == 2


def test_another_object_finds_and_stops_the_running_server(server: Postgres, tmp_path: Path) -> None:
    server.start()
    pid = server.pid
    other = Postgres(tmp_path / "data", server.port, server.log_file, PASSWORD)
    other.start()
    assert other.pid == pid, "a server that answers is kept"
    other.stop()
    assert server.pid is None
    server.stop()


def test_listens_on_loopback_only_and_shows_no_password_in_the_process_list(server: Postgres) -> None:
    server.start()
    assert server.pid is not None
    process = psutil.Process(server.pid)
    listening = {item.laddr.ip for item in process.net_connections() if item.status == psutil.CONN_LISTEN}
    assert listening == {"127.0.0.1"}
    assert PASSWORD not in " ".join(process.cmdline())
    assert PASSWORD not in server.log_file.read_text()
    assert not list(server.data_dir.parent.glob(".pw-*"))
    with pytest.raises(psycopg2.OperationalError, match="password authentication failed"):
        psycopg2.connect(host="127.0.0.1", port=server.port, user="postgres", password="wrong", dbname="postgres")


def test_a_folder_set_up_with_another_password_is_refused(server: Postgres, tmp_path: Path) -> None:
    server.start()
    with pytest.raises(PostgresError, match="another superuser password"):
        Postgres(tmp_path / "data", server.port, server.log_file, "other").start()


def test_a_taken_port_is_reported_with_the_reason(postgres: Postgres, tmp_path: Path) -> None:
    taken = Postgres(tmp_path / "second", postgres.port, tmp_path / "second.log", PASSWORD)
    try:
        with pytest.raises(PostgresError, match="could not create any TCP/IP sockets"):
            taken.start()
    finally:
        taken.remove()
