"""PostgreSQL through its JDBC driver: connections that tables share, and looks, each of one snapshot."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from spark_jobs.errors import JobError, Log, first_line
from spark_jobs.options.jdbc_settings import Server
from spark_jobs.runtime.hadoop import read_text
from spark_jobs.sources.postgres.event_sql import SESSION_SETTINGS, literal
from spark_jobs.sources.postgres.login import connection_properties, unverified

# Waiting for a lock queued behind DDL would block other sessions; the next look retries.
_LOCK_TIMEOUT = "10s"
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
    """A read-only transaction, all of whose statements see the same snapshot; `close` ends it.

    `before`: the result of a one-text query from before that snapshot was taken.
    """

    def __init__(
        self, connection: Any, timeout_seconds: float, give_back: Callable[[Any, bool], None], first: str | None
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
        self._statement.execute(self.beginning())

    def beginning(self, snapshot: str | None = None) -> str:
        """Return the statements that begin the transaction, or another connection's transaction with its snapshot."""
        limits = {"statement_timeout": f"{int(self._timeout_seconds * 1000)}", "lock_timeout": _LOCK_TIMEOUT}
        lines = ["SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"]
        lines += [f"SET TRANSACTION SNAPSHOT {literal(snapshot)}"] if snapshot else []
        lines += [f"SET LOCAL {name} = {literal(value)}" for name, value in {**limits, **SESSION_SETTINGS}.items()]
        return "; ".join(lines)

    def text(self, query: str) -> str | None:
        """Return the text that a query returns: each further value would cost another call into the JVM.

        Raises JobError for wrong settings, and Py4JJavaError for anything else.
        """
        with self._asked(query) as found:
            text = found.getString(1) if found.next() else None
        return None if text is None else str(text)

    def columns(self, query: str) -> list[tuple[str, int, int]]:
        """Return a query's columns: names, and precision and scale where they are numbers.

        Raises JobError for an invalid query.
        """
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
        self._server = server
        self._log = log
        self._idle: list[Any] = []
        self._free = threading.BoundedSemaphore(server.connections)
        if line := unverified(server):
            log(line)

    def look(self, first: str | None = None) -> Look:
        """Begin a look, waiting until a connection is free; a connection that was left idle may be dead.

        `first` is queried before the look's snapshot is taken.
        """
        self._free.acquire()
        connection = None
        try:
            with contextlib.suppress(IndexError):  # when all are in use
                connection = self._idle.pop()
            if connection is not None:
                with contextlib.suppress(Py4JJavaError):
                    return self._begun(connection, first)
                self._discard(connection)
            connection = self._connected()
            return self._begun(connection, first)
        except BaseException:
            if connection is not None:
                self._discard(connection)
            self._free.release()
            raise

    @property
    def url(self) -> str:
        return self._server.url

    def reader_properties(self) -> dict[str, str]:
        """Return the connection properties for a reader of a large batch, the password included."""
        return connection_properties(self._server, lambda path: read_text(path, self._spark))

    def close(self) -> None:
        """Close the unused connections."""
        while self._idle:
            self._discard(self._idle.pop())

    def _begun(self, connection: Any, first: str | None) -> Look:
        return Look(connection, self._server.statement_seconds, self._taken_back, first)

    def _taken_back(self, connection: Any, broken: bool) -> None:
        if broken:
            self._discard(connection)
        else:
            self._idle.append(connection)
        self._free.release()

    def _connected(self) -> Any:
        jvm: Any = self._spark._jvm
        properties = jvm.java.util.Properties()
        for name, value in self.reader_properties().items():
            properties.setProperty(name, value)
        try:
            driver = jvm.org.postgresql.Driver()
        except TypeError as error:  # py4j's answer for a missing class
            raise JobError("PostgreSQL's JDBC driver isn't on Spark's class path: give its jar with --jars") from error
        return driver.connect(self._server.url, properties)

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
        """Return the settings' database; tables with the same settings share its connections."""
        with self._lock:
            if server not in self._known:
                self._known[server] = Database(self._spark, server, log=self._log)
                self._log(
                    f"database {server.database} at {', '.join(server.hosts)}: its tables look by {server.connections} "
                    "connections at most, and large batches are read by further ones"
                )
            return self._known[server]


def state_of(error: Py4JJavaError) -> str | None:
    """Return the SQLSTATE of a driver's error; None for another one."""
    java: Any = error.java_exception
    state = java.getSQLState() if "SQL" in str(java.getClass().getName()) else None
    return None if state is None else str(state)
