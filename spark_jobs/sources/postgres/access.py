"""PostgreSQL through its JDBC driver: credentials, connections that tables share, and looks, each of one snapshot."""

import contextlib
import ipaddress
import json
import os
import re
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from contract import rds_ca
from spark_jobs.errors import JobError, Log, SettingsError, first_line
from spark_jobs.options import keys
from spark_jobs.options.jdbc_settings import Server
from spark_jobs.runtime import aws
from spark_jobs.runtime.hadoop import read_text
from spark_jobs.sources.postgres.event_sql import SESSION_SETTINGS, literal

ReadText = Callable[[str], str]
# The driver's timeouts, in seconds, for a connection and for an answer; its default is no limit.
_CONNECT_S, _BEYOND_STATEMENT_S = 10, 30
_ONE_CERTIFICATE = "org.postgresql.ssl.SingleCertValidatingFactory"
_JAVAS_OWN = "org.postgresql.ssl.DefaultJavaSSLFactory"
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----\n.+?\n-----END CERTIFICATE-----", re.DOTALL)
_SECRETS_ARN = re.compile(r"arn:[^:]+:secretsmanager:(?P<region>[^:]+):")
_STRICT = "verify-full"
_FILES = frozenset(("sslrootcert", "sslcert", "sslkey"))


def connection_properties(server: Server, read_text: ReadText) -> dict[str, str]:
    """Return the driver's properties for a new connection; each reads its secrets again.

    Raises SettingsError for a file or secret with invalid content, and boto3's errors.
    """
    user, password = _credentials(server, read_text)
    named = {"user": user, "password": password}
    return {
        "ApplicationName": "streamer",
        "connectTimeout": str(_CONNECT_S),
        "socketTimeout": str(int(server.statement_seconds) + _BEYOND_STATEMENT_S),
        "tcpKeepAlive": "true",
        "readOnly": "true",
        **tls_properties(server, read_text),
        **dict(server.extra),
        **{name: value for name, value in named.items() if value is not None},
    }


def tls_properties(server: Server, read_text: ReadText) -> dict[str, str]:
    """Return how the server is verified: in full, by its name and its certificate, unless it is on this machine.

    `sslmode` in the URL or the driver's own settings takes precedence. Settings that name files (`sslrootcert`,
    `sslcert`, `sslkey`) keep the driver's own way of reading them.
    """
    given = server.ssl
    wanted = server.ca_file is not None or "sslrootcert" in given
    if not wanted and "sslmode" not in given and all(map(is_loopback, server.hosts)):
        return {}
    mode = {"sslmode": given.get("sslmode", _STRICT)}
    if not mode["sslmode"].lower().startswith("verify-"):
        return mode
    if given.keys() & _FILES:
        return mode | ({} if server.ca_file is None else {"sslrootcert": server.ca_file.removeprefix("file://")})
    return mode | _trusted(server, read_text)


def _trusted(server: Server, read_text: ReadText) -> dict[str, str]:
    if (path := server.ca_file) is not None:
        certificates = _CERTIFICATE.findall(read_text(path))
        if not certificates:
            raise SettingsError(f"{keys.JDBC_CA_FILE}={path}: no certificate (PEM) is in it")
        if len(certificates) == 1:  # sent to the machines that read rows, which may lack the file
            return {"sslfactory": _ONE_CERTIFICATE, "sslfactoryarg": certificates[0]}
        return {"sslrootcert": path.removeprefix("file://")}
    if not rds_ca.is_rds(server.hosts[0]):
        return {"sslfactory": _JAVAS_OWN}
    try:
        root = rds_ca.root(rds_ca.region_of(server.hosts[0]))
    except ValueError as error:
        raise SettingsError(f"{keys.JDBC_URL}: {error}") from error
    return {"sslfactory": _ONE_CERTIFICATE, "sslfactoryarg": root}


def unverified(server: Server) -> str | None:
    """Return a log line if the settings allow another server to pose as this one, or others to read the traffic."""
    given = server.ssl.get("sslmode", _STRICT)
    if given.lower() == _STRICT or all(map(is_loopback, server.hosts)):
        return None
    return f"sslmode={given}: anybody between here and {', '.join(server.hosts)} can be that server; {_STRICT} can't"


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _credentials(server: Server, read_text: ReadText) -> tuple[str | None, str | None]:
    given = server.password
    if given.secret is not None:
        found = of_secret(given.secret)
        if isinstance(found, str):
            return server.user, found
        if not found.get("password"):
            raise SettingsError(f"{keys.JDBC_PASSWORD_SECRET}={given.secret}: the secret has no `password`")
        return server.user or found.get("username"), str(found["password"])
    if given.file is not None:
        return server.user, read_text(given.file).rstrip("\r\n")
    if given.variable is None:
        return server.user, given.given
    if given.variable not in os.environ:
        raise SettingsError(f"{keys.JDBC_PASSWORD_VARIABLE}={given.variable}: the environment has no such variable")
    return server.user, os.environ[given.variable]


def of_secret(name: str) -> str | dict[str, Any]:
    """Return a secret of Secrets Manager: the object in its JSON, or else its text."""
    # An ARN contains its region.
    arn = _SECRETS_ARN.match(name)
    if arn is None and name.startswith("arn:"):
        raise SettingsError(f"{name} isn't a secret's ARN: it begins arn:aws:secretsmanager:<region>:<account>:secret:")
    region: dict[str, Any] = {"region_name": arn["region"]} if arn else {}
    try:
        client = aws.client("secretsmanager", **region)
    except ModuleNotFoundError as error:
        raise SettingsError(f"the secret {name} can't be read: boto3 is missing") from error
    found = client.get_secret_value(SecretId=name)
    if "SecretString" not in found:
        raise SettingsError(f"the secret {name} is binary: store a text, or JSON")
    text = str(found["SecretString"])
    with contextlib.suppress(ValueError):
        if isinstance(made := json.loads(text), dict):
            return made
    return text


# Waiting for a lock queued behind DDL would block other sessions; the next look retries. A look is idle while others
# read its snapshot.
LOCK_TIMEOUT = "10s"
_LIMITS = {"lock_timeout": LOCK_TIMEOUT, "idle_in_transaction_session_timeout": "0"}
# SQLSTATEs that waiting doesn't cure: a name in a statement is missing or not allowed, or the database is wrong. Not a
# wrong password's (28), which may just be changing.
_MISTAKES = ("42", "3D", "0A", "22")
# A look holds a lock on everything it has read, so that it stays as it is; pg_class is as of the snapshot, a function's
# result is current. TRUNCATE, VACUUM FULL and most of ALTER TABLE's changes replace the files.
_OUTRUN = """SELECT (EXISTS (SELECT FROM pg_locks l LEFT JOIN pg_class c ON c.oid = l.relation
    WHERE l.locktype = 'relation' AND l.pid = pg_backend_pid()
    AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
    AND (c.oid IS NULL OR c.relfilenode <> 0 AND pg_relation_filenode(c.oid) IS DISTINCT FROM c.relfilenode)))::text"""


class Look:
    """A read-only transaction of one snapshot, until `close`; `before`: a text that was queried before the snapshot."""

    def __init__(
        self,
        connection: Any,
        timeout_seconds: float,
        give_back: Callable[[Any, bool], None],
        first: str | None,
        snapshot: str,
    ) -> None:
        self._connection = connection
        self._timeout_seconds = timeout_seconds
        self._give_back: Callable[[Any, bool], None] | None = give_back
        self._statement = connection.createStatement()
        self.before: str | None = None
        if first is not None:
            connection.setAutoCommit(True)
            self.before = self.text(first)
        connection.setAutoCommit(False)
        self._statement.execute(self.beginning(snapshot))

    def beginning(self, snapshot: str = "") -> str:
        """Return the statements that begin the transaction, or another connection's transaction with its snapshot."""
        settings = {"statement_timeout": f"{int(self._timeout_seconds * 1000)}", **_LIMITS, **SESSION_SETTINGS}
        lines = ["SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"]
        lines += [f"SET TRANSACTION SNAPSHOT {literal(snapshot)}"] if snapshot else []
        lines += [f"SET LOCAL {name} = {literal(value)}" for name, value in settings.items()]
        return "; ".join(lines)

    def text(self, query: str) -> str | None:
        """Return a query's text; a further value is another call into the JVM. Raises JobError for wrong settings."""
        with self._asked(query) as found:
            text = found.getString(1) if found.next() else None
        return None if text is None else str(text)

    def columns(self, query: str) -> list[tuple[str, int, int]]:
        """Return a query's columns: name, precision and scale (of numbers). Raises JobError for an invalid query."""
        with self._asked(f"{query} LIMIT 0") as found:
            meta = found.getMetaData()
            count = range(1, meta.getColumnCount() + 1)
            return [(str(meta.getColumnLabel(i)), int(meta.getPrecision(i)), int(meta.getScale(i))) for i in count]

    @contextlib.contextmanager
    def _asked(self, query: str) -> Iterator[Any]:
        try:
            found = self._statement.executeQuery(query)
            yield found
            found.close()
        except Py4JJavaError as error:
            if str(state_of(error) or "").startswith(_MISTAKES):
                raise JobError(first_line(error).partition(": ")[2]) from error
            raise

    def is_outrun(self) -> bool:
        """Check whether a table that it has read has since been replaced or rewritten, compared with its snapshot."""
        return self.text(_OUTRUN) == "true"

    def export(self) -> str:
        """Return a name with which other connections get the same snapshot, as long as this look lasts."""
        return str(self.text("SELECT pg_export_snapshot()"))

    def close(self, *, broken: bool = False) -> None:
        """End the transaction and return the connection; `broken`: it must not be used again."""
        if self._give_back is None:
            return
        try:
            if not broken:
                self._statement.close()
                self._connection.rollback()
        except Py4JJavaError:
            broken = True
        finally:
            give_back, self._give_back = self._give_back, None
            give_back(self._connection, broken)


class Database:
    """A database whose connections tables share: at most the settings' number for looks, created when needed."""

    def __init__(self, spark: SparkSession, server: Server, *, log: Log) -> None:
        self._spark = spark
        self.server = server
        self._idle: list[Any] = []
        self._free = threading.BoundedSemaphore(server.connections)
        self.replicating = threading.Lock()
        if line := unverified(server):
            log(line)

    def look(self, first: str | None = None, *, snapshot: Callable[[], str] = lambda: "") -> Look:
        """Begin a look once a connection is free; a dead one is replaced. `first` is queried before the snapshot.

        `snapshot`: exports another connection's then, and returns its name.
        """
        self._free.acquire()
        connection = None
        try:
            limit, name = self.server.statement_seconds, snapshot()
            begun = partial(Look, timeout_seconds=limit, give_back=self._taken_back, first=first, snapshot=name)
            with contextlib.suppress(IndexError):  # when all are in use
                connection = self._idle.pop()
            if connection is not None:
                with contextlib.suppress(Py4JJavaError):
                    return begun(connection)
                self._discard(connection)
            connection = self.connected()
            return begun(connection)
        except BaseException:
            if connection is not None:
                self._discard(connection)
            self._free.release()
            raise

    def reader_properties(self) -> dict[str, str]:
        """Return the connection properties for a reader of a large batch, the password included."""
        return connection_properties(self.server, lambda path: read_text(path, self._spark))

    def _taken_back(self, connection: Any, broken: bool) -> None:
        if broken:
            self._discard(connection)
        else:
            self._idle.append(connection)
        self._free.release()

    def connected(self, **settings: str) -> Any:
        """Return a new connection, with further `settings` of the driver. Raises Py4JJavaError."""
        jvm: Any = self._spark._jvm
        properties = jvm.java.util.Properties()
        for name, value in {**self.reader_properties(), **settings}.items():
            properties.setProperty(name, value)
        try:
            driver = jvm.org.postgresql.Driver()
        except TypeError as error:  # py4j's answer for a missing class
            raise JobError("PostgreSQL's JDBC driver isn't on Spark's class path: give its jar with --jars") from error
        return driver.connect(self.server.url, properties)

    def _discard(self, connection: Any) -> None:
        with contextlib.suppress(Py4JJavaError):
            connection.close()


class Databases:
    """The databases of one application, each held once."""

    def __init__(self, spark: SparkSession, *, log: Log) -> None:
        self._spark = spark
        self._log = log
        self._lock = threading.Lock()
        self._known: dict[Server, Database] = {}

    def of(self, server: Server) -> Database:
        with self._lock:
            if server not in self._known:
                self._known[server] = Database(self._spark, server, log=self._log)
                self._log(
                    f"database {server.database} at {', '.join(server.hosts)}: its tables share {server.connections} "
                    "connections at most; large batches are read through further ones"
                )
            return self._known[server]


def state_of(error: Py4JJavaError) -> str | None:
    java: Any = error.java_exception
    state = java.getSQLState() if "SQL" in str(java.getClass().getName()) else None
    return None if state is None else str(state)
