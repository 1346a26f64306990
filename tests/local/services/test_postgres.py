"""The PostgreSQL server of the local platform: created, started, stopped and started again."""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg2
import pytest
from psycopg2.extras import LogicalReplicationConnection, PhysicalReplicationConnection

from local.services.postgres import FALLBACK_PARENT, Postgres, PostgresError
from tests.conftest import free_port

pytestmark = pytest.mark.integration
PASSWORD = "a-Password/1"
ROOT = Path(__file__).resolve().parents[3]


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


@pytest.fixture
def confining(tmp_path: Path) -> Iterator[Postgres]:
    """A server with a role that may stream, as the connector's may, and enter the database `shop` only."""
    confined = {"streamer": "shop"}
    server = Postgres(tmp_path / "data", free_port(), tmp_path / "log", PASSWORD, confined=confined)
    try:
        server.start()
        ask(server, f"CREATE ROLE streamer LOGIN REPLICATION PASSWORD '{PASSWORD}'")
        ask(server, "CREATE DATABASE shop")
        yield server
    finally:
        server.remove()


def take_a_copy(server: Postgres, user: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run the real pg_basebackup."""
    program = str(server.program("pg_basebackup"))
    command = [program, "-h", "127.0.0.1", "-p", str(server.port), "-U", user, "-D", str(folder)]
    environment = {**os.environ, "PGPASSWORD": PASSWORD}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def as_streamer(server: Postgres, dbname: str, **more: Any) -> None:
    """Log in as the role `streamer`."""
    settings: dict[str, Any] = {**server.connection_parameters(dbname), "user": "streamer", **more}
    psycopg2.connect(**settings).close()


def test_nobody_takes_a_physical_copy_of_the_cluster(confining: Postgres, tmp_path: Path) -> None:
    for user in ("streamer", "postgres"):
        done = take_a_copy(confining, user, tmp_path / "copy")
        assert done.returncode != 0
        assert "no pg_hba.conf entry for replication connection" in done.stderr
        assert not (tmp_path / "copy" / "PG_VERSION").exists()


def test_a_confined_role_streams_its_own_database_and_enters_no_other(confining: Postgres) -> None:
    as_streamer(confining, "shop")
    as_streamer(confining, "shop", connection_factory=LogicalReplicationConnection)
    for more in ({}, {"connection_factory": LogicalReplicationConnection}):
        with pytest.raises(psycopg2.OperationalError, match=r"pg_hba\.conf rejects"):
            as_streamer(confining, "postgres", **more)


def gives_copies(server: Postgres) -> bool:
    """Tell whether the server lets somebody in who may copy it."""
    settings: dict[str, Any] = {**server.connection_parameters()}
    try:
        psycopg2.connect(**settings, connection_factory=PhysicalReplicationConnection).close()
    except psycopg2.OperationalError:
        return False
    return True


def test_a_server_that_runs_by_older_rules_gets_the_new_ones(confining: Postgres) -> None:
    with (confining.data_dir / "pg_hba.conf").open("a") as file:
        file.write("host replication all 127.0.0.1/32 scram-sha-256\n")
    ask(confining, "SELECT pg_reload_conf()")
    wait_until(lambda: gives_copies(confining))
    confining.start()
    wait_until(lambda: not gives_copies(confining))


def wait_until(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.05)


AS_ORDINARY_USER = """
import contextlib, os, sys
from pathlib import Path
import psycopg2
from local.services.postgres import Postgres
assert os.geteuid() != 0
server = Postgres(Path(sys.argv[1]) / "data", int(sys.argv[2]), Path(sys.argv[1]) / "log", "pw")
server.start()
with contextlib.closing(psycopg2.connect(**server.connection_parameters())) as connection:
    connection.cursor().execute("SELECT 1")
server.stop()
print(server.data_dir)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run it as somebody else; otherwise all tests here do it")
def test_runs_as_an_ordinary_user() -> None:
    account = pwd.getpwnam("nobody")
    # Our own interpreter may lie in root's home; the system's does as well, with our packages.
    python = shutil.which("python3.11", path="/usr/bin:/usr/local/bin")
    if python is None:
        pytest.skip("there is no Python 3.11 that the account nobody can run")
    packages = sysconfig.get_path("purelib")
    with tempfile.TemporaryDirectory(dir=FALLBACK_PARENT) as folder:
        os.chown(folder, account.pw_uid, account.pw_gid)
        done = subprocess.run(
            [python, "-c", AS_ORDINARY_USER, folder, str(free_port())],
            user=account.pw_uid,
            group=account.pw_gid,
            extra_groups=[],
            cwd="/",
            env={"PYTHONPATH": f"{ROOT}:{packages}"},
            capture_output=True,
            text=True,
            check=False,
        )
        if "No module named 'local'" in done.stderr:
            pytest.skip("the account nobody may not enter the folder of this checkout")
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == f"{folder}/data"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's server runs as another account")
def test_data_moves_to_where_the_servers_account_may_go_and_is_removed(tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    server = Postgres(private / "data", free_port(), private / "log", PASSWORD)
    try:
        server.start()
        moved = server.data_dir
        assert moved.parent.parent == FALLBACK_PARENT
        assert moved.stat().st_uid == pwd.getpwnam("nobody").pw_uid
    finally:
        server.remove()
    assert not moved.parent.exists()
    assert server.pid is None
    assert not moved.parent.exists(), "looking makes no folder"


def test_a_taken_port_is_reported_with_the_reason(postgres: Postgres, tmp_path: Path) -> None:
    taken = Postgres(tmp_path / "second", postgres.port, tmp_path / "second.log", PASSWORD)
    try:
        with pytest.raises(PostgresError, match="could not create any TCP/IP sockets"):
            taken.start()
    finally:
        taken.remove()
