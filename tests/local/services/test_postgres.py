"""The PostgreSQL server of the local platform: created, started, stopped and restarted."""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import psycopg2
import pytest
from psycopg2.extras import LogicalReplicationConnection, PhysicalReplicationConnection

from local.errors import PlatformError, RefusedError
from local.services.postgres import FALLBACK_PARENT, STOP_S, STOPPING, Postgres, processes_of
from local.services.processes import Processes
from tests import conftest
from tests.conftest import free_port
from tests.waiting import PATIENCE_S, gone, wait_until

pytestmark = pytest.mark.integration
PASSWORD = "a-Password/1"
ROOT = Path(__file__).resolve().parents[3]


def ask(server: Postgres, query: str) -> Any:
    return conftest.ask(server.connection_parameters(), query)


def execute(server: Postgres, statement: str) -> None:
    conftest.execute(server.connection_parameters(), statement)


@dataclass(frozen=True)
class Server:
    """A server and the processes that run it."""

    postgres: Postgres
    processes: Processes

    def start(self) -> None:
        self.processes.run(self.postgres)

    def stop(self) -> None:
        self.processes.stop(self.postgres.name, grace_s=STOP_S)

    def pid(self) -> int:
        pid = self.postgres.cluster.pid()
        assert pid is not None
        return pid


def made(folder: Path, *, port: int | None = None, password: str = PASSWORD, **more: Any) -> Server:
    postgres = Postgres(folder / "data", port=port or free_port(), superuser_password=password, **more)
    return Server(postgres, processes_of(postgres, folder))


@contextlib.contextmanager
def removed(server: Server) -> Iterator[Server]:
    try:
        yield server
    finally:
        server.stop()
        server.postgres.cluster.remove()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    """A server for the module, with a confined role: each test starts it, which has no effect if it runs."""
    with removed(made(folder, confined={"streamer": "shop"})) as server:
        yield server


def test_goes_on_from_its_data_after_a_stop_and_after_a_crash(server: Server) -> None:
    server.start()
    assert ask(server.postgres, "SHOW wal_level") == "logical"
    assert ask(server.postgres, "SHOW server_encoding") == "UTF8"
    execute(server.postgres, "CREATE TABLE kept AS SELECT 1 AS n")
    server.stop()
    with pytest.raises(psycopg2.OperationalError):
        ask(server.postgres, "SELECT 1")

    server.start()
    execute(server.postgres, "INSERT INTO kept VALUES (2)")
    crashed = server.pid()
    os.kill(crashed, signal.SIGKILL)
    psutil.wait_procs([psutil.Process(crashed)], timeout=PATIENCE_S)
    cluster = server.postgres.cluster
    with subprocess.Popen(["sleep", "600"], **cluster.identity) as other, contextlib.ExitStack() as at_the_end:
        at_the_end.callback(other.kill)
        # After a reboot, any process may have the server's pid.
        cluster.lock_file.write_text(cluster.lock_file.read_text().replace(str(crashed), str(other.pid), 1))
        server.start()
    assert ask(server.postgres, "SELECT count(*) FROM kept") == 2


def test_another_object_finds_and_stops_the_running_server(server: Server, folder: Path) -> None:
    server.start()
    pid = server.pid()
    other = made(folder, port=server.postgres.port)
    other.start()
    assert other.pid() == pid, "a server that runs is kept"
    assert server.processes.main("postgres") == psutil.Process(pid), "its children lead sessions, too"
    other.stop()
    assert server.postgres.cluster.pid() is None


def test_a_stop_waits_for_no_client(server: Server) -> None:
    server.start()
    with contextlib.closing(psycopg2.connect(**server.postgres.connection_parameters())):
        os.kill(server.pid(), signal.SIGTERM)
        wait_until(lambda: server.postgres.cluster.state == STOPPING)
        started = time.monotonic()
        server.stop()
        assert time.monotonic() - started < STOP_S / 2
    assert server.postgres.cluster.pid() is None


def test_a_server_that_hangs_is_killed_with_all_its_processes(server: Server) -> None:
    server.start()
    family = server.processes.find()["postgres"]
    assert len(family) > 3
    for process in family:
        process.suspend()
    server.processes.stop("postgres", grace_s=0.2)
    assert all(map(gone, family))
    server.start()
    assert ask(server.postgres, "SELECT 1") == 1


def test_a_folder_set_up_with_another_password_is_refused_until_that_is_set(server: Server, folder: Path) -> None:
    server.start()
    assert not list(server.postgres.cluster.data_dir.parent.glob(".*-password")), "initdb's password is left"
    execute(server.postgres, "SELECT pg_create_logical_replication_slot('kept', 'pgoutput')")
    other = made(folder, port=server.postgres.port, password="it's another")
    with pytest.raises(RefusedError, match="has another superuser password"):
        other.start()
    for wanted in (other, server):
        server.stop()
        wanted.postgres.set_password()
        wanted.start()
        assert ask(wanted.postgres, "SELECT count(*) FROM pg_replication_slots") == 1
    execute(server.postgres, "SELECT pg_drop_replication_slot('kept')")
    assert "s another" not in (folder / "logs" / "postgres.log").read_text()


@pytest.fixture(scope="module")
def confining(server: Server) -> Postgres:
    """The server with a role that may stream, as the connector's may, and enter the database `shop` only."""
    server.start()
    execute(server.postgres, f"CREATE ROLE streamer LOGIN REPLICATION PASSWORD '{PASSWORD}'")
    execute(server.postgres, "CREATE DATABASE shop")
    return server.postgres


def as_streamer(server: Postgres, dbname: str, **more: Any) -> None:
    settings: dict[str, Any] = {**server.connection_parameters(dbname), "user": "streamer", **more}
    psycopg2.connect(**settings).close()


def test_nobody_takes_a_physical_copy_of_the_cluster(confining: Postgres, tmp_path: Path) -> None:
    for user in ("streamer", "postgres"):
        program, port = str(confining.program("pg_basebackup")), str(confining.port)
        done = subprocess.run(
            [program, "-h", "127.0.0.1", "-p", port, "-U", user, "-D", str(tmp_path / "copy")],
            env={**os.environ, "PGPASSWORD": PASSWORD},
            capture_output=True,
            text=True,
            check=False,
        )
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
    settings: dict[str, Any] = {**server.connection_parameters()}
    try:
        psycopg2.connect(**settings, connection_factory=PhysicalReplicationConnection).close()
    except psycopg2.OperationalError:
        return False
    return True


def test_a_server_that_runs_by_older_rules_gets_the_new_ones(confining: Postgres) -> None:
    with (confining.cluster.data_dir / "pg_hba.conf").open("a") as file:
        file.write("host replication all 127.0.0.1/32 scram-sha-256\n")
    execute(confining, "SELECT pg_reload_conf()")
    wait_until(lambda: gives_copies(confining))
    confining.renew_rules()
    wait_until(lambda: not gives_copies(confining))


AS_ORDINARY_USER = """
import contextlib, os, sys
from pathlib import Path
import psycopg2
from local.services.postgres import temporary_postgres
assert os.geteuid() != 0
with temporary_postgres(Path(sys.argv[1])) as server:
    with contextlib.closing(psycopg2.connect(**server.connection_parameters())) as connection:
        connection.cursor().execute("SELECT 1")
    print(server.cluster.data_dir)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run it as somebody else; otherwise all tests here do it")
def test_runs_as_an_ordinary_user() -> None:
    account = pwd.getpwnam("nobody")
    # Our own interpreter may be in root's home; the system's works as well, with our packages.
    python = shutil.which("python3.11", path="/usr/bin:/usr/local/bin")
    if python is None:
        pytest.skip("there is no Python 3.11 that the account nobody can run")
    packages = sysconfig.get_path("purelib")
    with tempfile.TemporaryDirectory(dir=FALLBACK_PARENT) as folder:
        os.chown(folder, account.pw_uid, account.pw_gid)
        done = subprocess.run(
            [python, "-c", AS_ORDINARY_USER, folder],
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
    with removed(made(private)) as server:
        server.start()
        moved = server.postgres.cluster.data_dir
        assert moved.parent.parent == FALLBACK_PARENT
        assert moved.stat().st_uid == pwd.getpwnam("nobody").pw_uid
    assert not moved.parent.exists()
    assert server.postgres.cluster.pid() is None
    assert not moved.parent.exists(), "looking makes no folder"


def test_a_taken_port_is_reported_with_the_reason(postgres: Postgres, server: Server, folder: Path) -> None:
    server.stop()
    with pytest.raises(PlatformError, match="could not create any TCP/IP sockets"):
        made(folder, port=postgres.port).start()
