"""A PostgreSQL 16 server of our own on loopback."""

import contextlib
import os
import secrets
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypedDict

import psycopg2

from local.services.postgres_cluster import READY, SUPERUSER, PostgresCluster, PostgresError, access_rules, installation
from local.services.processes import Command, Processes, StopRules
from local.setup.ports import HOST, choose

CONNECT_TIMEOUT_S = 5
STOP_S = 60
SERVER_SETTINGS = {
    "wal_level": "logical",
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "password_encryption": "scram-sha-256",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] %q%u@%d ",
}


class ConnectionParameters(TypedDict):
    """Arguments of `psycopg2.connect` to reach one database of the server."""

    host: str
    port: int
    user: str
    password: str
    dbname: str


class Postgres:
    """The server whose data is in `folder`, or in the fallback chosen by `PostgresCluster`.

    `settings` are further server settings (name → value) for its next start; `confined` maps roles to the only database
    that they may enter. No one may take a physical copy of the cluster.
    """

    name = "postgres"

    def __init__(
        self,
        folder: Path,
        *,
        port: int,
        superuser_password: str,
        settings: Mapping[str, str] | None = None,
        confined: Mapping[str, str] | None = None,
    ) -> None:
        self.cluster = PostgresCluster(folder)
        self.port = port
        self._password = superuser_password
        self._settings = {**SERVER_SETTINGS, **(settings or {})}
        self._rules = access_rules(HOST, confined or {})

    def connection_parameters(self, dbname: str = "postgres") -> ConnectionParameters:
        """Return how the superuser connects to `dbname`."""
        return {"host": HOST, "port": self.port, "user": SUPERUSER, "password": self._password, "dbname": dbname}

    def prepare(self) -> Command:
        """Create a new data folder, write the access rules, and return how to start the server."""
        self.cluster.create(self._password)
        self.cluster.write_rules(self._rules)
        argv = [str(self.cluster.program("postgres")), "-D", str(self.cluster.data_dir), "-p", str(self.port)]
        argv += [part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")]
        # A folder that the server's account may enter, and a locale independent of the caller.
        return Command(argv=argv, folder=Path("/"), environment={"LC_ALL": "C"}, identity=self.cluster.identity)

    def ready(self) -> bool:
        """Tell whether a query gets an answer. Raises PostgresError when the password isn't this data folder's."""
        # Another server may have the port, so only our server's state counts.
        if self.cluster.state != READY:
            return False
        try:
            connection = psycopg2.connect(**self.connection_parameters(), connect_timeout=CONNECT_TIMEOUT_S)
        except psycopg2.OperationalError as error:
            if "password authentication failed" in str(error):
                raise PostgresError(f"{self.cluster.data_dir} was set up with another superuser password") from error
            return False
        with contextlib.closing(connection), connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        return True

    def renew_rules(self) -> None:
        """Give a running server the current rules: an earlier release may have started it."""
        if self.cluster.write_rules(self._rules) and (pid := self.cluster.pid()) is not None:
            os.kill(pid, signal.SIGHUP)

    def program(self, name: str) -> Path:
        """Return the path of a client program that came with the server, such as psql or pgbench."""
        return installation() / "bin" / name


def stop_rules(cluster: PostgresCluster) -> StopRules:
    """Return how to find and stop a cluster's server.

    For root it is another account's process, whose environment root may be unable to read in a container. SIGINT shuts
    it down without waiting for clients to leave, unlike SIGTERM; SIGQUIT does so at once.
    """
    return StopRules(pid=cluster.pid, stop_signals=(signal.SIGINT, signal.SIGQUIT))


def processes_of(postgres: Postgres, folder: Path) -> Processes:
    """Return the Processes of a standalone server, with its log in `folder`."""
    return Processes(folder, folder / "logs", {postgres.name: stop_rules(postgres.cluster)})


@contextlib.contextmanager
def temporary_postgres(folder: Path, *, settings: Mapping[str, str] | None = None) -> Iterator[Postgres]:
    """Run a server with its data and its log in `folder`, and remove the data at the end.

    Raises PlatformError when it doesn't start.
    """
    port = choose([Postgres.name], earlier={})[Postgres.name]
    password = secrets.token_urlsafe(12)
    postgres = Postgres(folder / "data", port=port, superuser_password=password, settings=settings)
    processes = processes_of(postgres, folder)
    try:
        processes.run(postgres)
        yield postgres
    finally:
        processes.stop(postgres.name, grace_s=STOP_S)
        postgres.cluster.remove()
