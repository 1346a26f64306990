"""Loaded databases: each test gets a copy of one that was loaded once."""

import contextlib
import functools
import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from psycopg2.extensions import connection as Connection

from db.loading import LoadOptions, load
from local.services.postgres import ConnectionParameters, Postgres
from tests.conftest import execute, fresh_database
from tests.db.expected import actual_outbox, expected_outbox
from tests.db.pgoutput import Event, Slot
from tests.waiting import PATIENCE_S, crowd, wait_until

# We may not distribute the real data (docs/decisions/0013): it lies next to the checkout, or where the variable says.
BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data" / "northwind" / "northwind.sql"
NORTHWIND = Path(os.environ.get("NORTHWIND_DUMP", BESIDE))
CONNECTOR_PASSWORD = "connector-Secret/1"
WITHOUT_DUMP = pytest.mark.skipif(
    not NORTHWIND.is_file(), reason=f"no Northwind dump: NORTHWIND_DUMP=FILE, or {NORTHWIND}"
)

WALK_THROUGH = (
    "INSERT INTO orders VALUES (11075, 'RICSU', 8, '1998-05-06', '1998-06-03', NULL, 2, 6.19, 'Richter Supermarkt',"
    " 'Starenweg 5', 'Genève', NULL, '1204', 'Switzerland')",
    "INSERT INTO order_details VALUES (11075, 2, 19, 10, 0.15)",
    "INSERT INTO order_details VALUES (11075, 46, 12, 30, 0.15)",
    "INSERT INTO order_details VALUES (11075, 76, 18, 2, 0.15)",
)


# Data (`generated` or `dump`) → name of a database loaded with it.
Template = Callable[[str], str]


class Shop:
    """A loaded database under test, and a slot that sees its events."""

    def __init__(self, parameters: ConnectionParameters) -> None:
        self.parameters = parameters
        self._stack = contextlib.ExitStack()
        self._admin = self.connect()
        self._admin.autocommit = True
        self._slot = Slot(self._admin, f"slot_of_{parameters['dbname']}")

    def connect(self, **changes: Any) -> Connection:
        """Open a connection that is closed with the test; `changes` replace parameters, such as user and password."""
        settings: dict[str, Any] = {**self.parameters, **changes}
        connection: Connection = psycopg2.connect(**settings, options="-c search_path=datalake")
        return self._stack.enter_context(contextlib.closing(connection))

    @functools.cached_property
    def _writer(self) -> Connection:
        return self.connect()

    def commit(self, *statements: str) -> list[Event]:
        """Commit the statements as one transaction and return the outbox events that it caused."""
        try:
            with self._writer, self._writer.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)
        finally:
            # A new session would have to read the catalogue and compile the triggers again.
            with self._writer, self._writer.cursor() as cursor:
                cursor.execute("RESET ALL")
        return self.events()

    def events(self) -> list[Event]:
        """Return the outbox events since the last call."""
        return [event for event in self._slot.events() if event.table == "datalake.cdc_events"]

    def value(self, query: str) -> Any:
        """Return the first column of the query's first row."""
        return self.values(query)[0]

    def values(self, query: str) -> list[Any]:
        """Return the first column of the query's rows."""
        with self._admin.cursor() as cursor:
            cursor.execute(query)
            return [row[0] for row in cursor.fetchall()]

    def run(self, statement: str) -> None:
        """Run one statement as the owner, in a transaction of its own."""
        with self._admin.cursor() as cursor:
            cursor.execute(statement)

    def drain(self) -> list[Event]:
        """Process the queue, as the connector does on each heartbeat, and return the outbox events that it caused."""
        self.run("CALL outbox_drain()")
        return self.events()

    def assert_consistent(self) -> None:
        """Check that the outbox holds exactly the tables' orders, and that no work is left."""
        expected, actual = expected_outbox(self._admin), actual_outbox(self._admin)
        assert actual.keys() == expected.keys()
        for order_id, row in expected.items():
            assert actual[order_id] == row, f"order {order_id}"
        assert self.value("SELECT count(*) FROM outbox_pending") == 0
        assert self.value("SELECT entries FROM outbox_lag") == 0

    def close(self) -> None:
        self._stack.close()


@pytest.fixture(scope="session")
def template(postgres: Postgres) -> Iterator[Template]:
    """Return a loaded database's name by data (`generated` or `dump`); the first request loads it."""
    with contextlib.ExitStack() as databases:
        names: dict[str, str] = {}

        def loaded(data: str) -> str:
            if data not in names:
                parameters = databases.enter_context(fresh_database(postgres))
                dump = NORTHWIND if data == "dump" else None
                load(parameters, LoadOptions(connector_password=CONNECTOR_PASSWORD, dump=dump), _quiet)
                names[data] = parameters["dbname"]
            return names[data]

        yield loaded


@pytest.fixture
def shop(postgres: Postgres, template: Template) -> Iterator[Shop]:
    """A database with generated data."""
    with shop_copy(postgres, template("generated")) as copy:
        yield copy


@pytest.fixture(params=["generated", pytest.param("dump", marks=[WITHOUT_DUMP, pytest.mark.long])])
def any_shop(request: pytest.FixtureRequest, postgres: Postgres, template: Template) -> Iterator[Shop]:
    """A database with each of the data sets."""
    with shop_copy(postgres, template(request.param)) as copy:
        yield copy


@pytest.fixture
def left_consistent(request: pytest.FixtureRequest) -> Iterator[None]:
    """Check at a test's end that the outbox of its database is as the tables say."""
    [name] = {"shop", "any_shop"} & {*request.fixturenames}
    shop: Shop = request.getfixturevalue(name)
    yield
    shop.assert_consistent()


@contextlib.contextmanager
def shop_copy(postgres: Postgres, template: str) -> Iterator[Shop]:
    """Copy a loaded database and drop the copy at the end."""
    with fresh_database(postgres, template=template) as parameters:
        shop = Shop(parameters)
        try:
            yield shop
        finally:
            shop.close()


def forget(database: ConnectionParameters, role: str) -> None:
    """Drop a role, which all databases of the server share."""
    with contextlib.suppress(psycopg2.errors.UndefinedObject):
        execute(database, f"DROP OWNED BY {role}")
        execute(database, f"DROP ROLE {role}")


@contextlib.contextmanager
def role_of(database: ConnectionParameters, name: str) -> Iterator[ConnectionParameters]:
    """Create a role that logs in; afterwards the administrator has what it owned."""
    execute(database, f"CREATE ROLE {name} LOGIN PASSWORD 'its'")
    try:
        yield {**database, "user": name, "password": "its"}
    finally:
        execute(database, f"REASSIGN OWNED BY {name} TO postgres")
        forget(database, name)


class Session:
    """A connection whose statements run in their own thread, so that one may wait for another session."""

    def __init__(self, shop: Shop, isolation: str = "READ COMMITTED") -> None:
        self._shop = shop
        self._connection = shop.connect()
        self._connection.set_session(isolation_level=isolation)
        self._pid = self._connection.info.backend_pid
        self._thread = ThreadPoolExecutor(max_workers=1)

    def run(self, *statements: str) -> None:
        """Run the statements and wait for them."""
        self.start(*statements).result(PATIENCE_S)

    def start(self, *statements: str) -> "Future[None]":
        return self._thread.submit(self._execute, statements)

    def start_and_settle(self, *statements: str) -> "Future[None]":
        """Start the statements and return once they wait for another session's lock, or have ended."""
        future = self.start(*statements)
        blocked = f"SELECT cardinality(pg_blocking_pids({self._pid})) > 0"
        wait_until(lambda: future.done() or self._shop.value(blocked), "it waits or ends")
        return future

    def start_and_block(self, *statements: str) -> "Future[None]":
        """Start the statements and return once they wait for another session's lock."""
        future = self.start_and_settle(*statements)
        assert not future.done(), f"it didn't wait: {future.exception()}"
        return future

    def close(self) -> None:
        """Stop running statements and end the thread; the connection belongs to the shop."""
        self._connection.cancel()
        self._thread.shutdown()

    def _execute(self, statements: tuple[str, ...]) -> None:
        with self._connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)


Sessions = Callable[..., Session]


@pytest.fixture
def sessions(shop: Shop) -> Iterator[Sessions]:
    """Open sessions by isolation level; their transactions begin with their first statement."""
    with contextlib.ExitStack() as stack:
        yield lambda *isolation: stack.enter_context(contextlib.closing(Session(shop, *isolation)))


@dataclass
class Writers:
    """What sessions have done: transactions that were committed, and errors that ended a session."""

    done: int = 0
    failures: list[BaseException] = field(default_factory=list)

    def wait_for_more(self, transactions: int) -> None:
        wanted = self.done + transactions
        wait_until(lambda: self.done >= wanted or self.failures, "the writers go on")


@contextlib.contextmanager
def writers_at_work(
    shop: Shop,
    statements: Callable[[int, int], list[str]],
    *,
    deadlocks: bool = False,
    count: int = 3,
    pause_s: float = 0.02,
) -> Iterator[Writers]:
    """Run transactions in `count` sessions, one after the other, until the block ends.

    `statements`: those of a transaction, by the session's number and its turn; its `deadlocks` may be its own.
    A slow machine takes longer for a transaction, so pauses are longer there: as many moments are left without writers.
    """
    writers, stop, pause_s = Writers(), threading.Event(), pause_s * crowd()

    def work(number: int, connection: Connection) -> None:
        for turn in itertools.count(1):
            if stop.is_set():
                return
            try:
                with connection, connection.cursor() as cursor:
                    for statement in statements(number, turn):
                        cursor.execute(statement)
                writers.done += 1
            except psycopg2.Error as error:
                if not (deadlocks and isinstance(error, psycopg2.errors.DeadlockDetected)):
                    writers.failures.append(error)
                    return
            time.sleep(pause_s)

    threads = [threading.Thread(target=work, args=(number, shop.connect())) for number in range(count)]
    for thread in threads:
        thread.start()
    writers.wait_for_more(5)
    try:
        yield writers
        writers.wait_for_more(5)
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _quiet(step: str, done: int, total: int) -> None:
    assert 0 <= done <= total, step
