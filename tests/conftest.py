"""Fixtures shared by all tests: a PostgreSQL server for the session and a fresh database for a test."""

import contextlib
import functools
import itertools
import os
import re
import shutil
import signal
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import psycopg2
import pytest
from botocore.loaders import create_loader
from psycopg2 import sql

from local.services.kafka_rights import ROLES
from local.services.postgres import ConnectionParameters, Postgres, temporary_postgres
from local.setup.ports import HOST
from tests.broker import RunningBroker, running_broker
from tests.no_network import MAY_USE_THE_NETWORK, NoNetwork

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# A shell starts background jobs with both ignored, which children inherit; tests of Ctrl-C and stops need both.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)

_numbers = itertools.count(1)
MEMORY = Path("/dev/shm")  # noqa: S108 - the folder that we make there is ours alone
ENOUGH_BYTES = 4 << 30
# What `make setup` downloads for these modules; no folder can exist below a device.
DOWNLOADED = ("local.setup.jars", "stacks.lambda_assets", "stacks.processing.jobs")
NOWHERE = Path(os.devnull) / "cache"


_SIGNS = {"lt": "<", "le": "<=", "eq": "=", "ge": ">=", "gt": ">"}
# A type as an extension makes it, with its own operators next to it.
EXTENSIONS_TYPE = f"""
    CREATE TYPE isbn;
    CREATE FUNCTION isbn_in(cstring) RETURNS isbn LANGUAGE internal IMMUTABLE STRICT AS 'textin';
    CREATE FUNCTION isbn_out(isbn) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
    CREATE TYPE isbn (INPUT = isbn_in, OUTPUT = isbn_out);
    CREATE FUNCTION isbn_cmp(isbn, isbn) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'byteacmp';
    {
    "".join(
        f"CREATE FUNCTION isbn_{name}(isbn, isbn) RETURNS bool LANGUAGE internal IMMUTABLE STRICT AS 'bytea{name}';"
        f" CREATE OPERATOR {sign} (LEFTARG = isbn, RIGHTARG = isbn, FUNCTION = isbn_{name});"
        for name, sign in _SIGNS.items()
    )
}
    CREATE OPERATOR CLASS isbn_ops DEFAULT FOR TYPE isbn USING btree AS FUNCTION 1 isbn_cmp(isbn, isbn),
    {", ".join(f"OPERATOR {number} {sign}" for number, sign in enumerate(_SIGNS.values(), 1))}"""


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        return int(listener.getsockname()[1])


def execute(parameters: Mapping[str, Any], statement: str | sql.Composable) -> None:
    """Run one statement outside a transaction block."""
    with contextlib.closing(psycopg2.connect(**parameters)) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(statement)


def ask(parameters: Mapping[str, Any], query: str) -> Any:
    """Return the first value of a query's result, None if it is empty."""
    with contextlib.closing(psycopg2.connect(**parameters)) as connection, connection.cursor() as cursor:
        cursor.execute(query)
        return (cursor.fetchone() or (None,))[0]


@contextlib.contextmanager
def fresh_database(postgres: Postgres, *, template: str = "template1") -> Iterator[ConnectionParameters]:
    """Create a database from a template; drop it, its connections and its replication slots at the end."""
    parameters = postgres.connection_parameters(f"test_{next(_numbers)}")
    name = sql.Identifier(parameters["dbname"])
    # One connection for both ends.
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


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out a module whose `pytestmark` deselects all of its tests: importing it takes longer than many tests."""
    expression = str(config.getoption("markexpr"))
    asked = {Path(argument.partition("::")[0]).resolve() for argument in config.args}
    if collection_path.suffix != ".py" or collection_path in asked or re.search(r"\bor\b|[()]", expression):
        return None
    of_all = re.findall(r"^pytestmark = .*", collection_path.read_text(encoding="utf-8"), re.MULTILINE)
    marked = set(re.findall(r"pytest\.mark\.(\w+)", " ".join(of_all)))
    return True if marked & set(re.findall(r"\bnot (\w+)", expression)) else None


@pytest.fixture(autouse=True)
def no_network(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[NoNetwork]:
    """Fail a unit test that uses a network, including loopback, even if its subject swallows the refusal.

    It doesn't find `make setup`'s downloads either, so it fails on every machine as on a fresh clone.
    """
    guard = NoNetwork()
    if not any(request.node.get_closest_marker(name) for name in MAY_USE_THE_NETWORK):
        guard.install(monkeypatch)
        for module in DOWNLOADED:
            monkeypatch.setattr(f"{module}.CACHE", NOWHERE)
    yield guard
    guard.check()


@pytest.fixture(scope="session", autouse=True)
def aws_models_are_read_once() -> Iterator[None]:
    """Share AWS's service models between all botocore sessions: each would parse 2 MB for itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("botocore.session.create_loader", functools.cache(create_loader))
        yield


@pytest.fixture(scope="session")
def postgres_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the session's server data and log: in memory if that is large enough.

    A test's database is 300 files: copying them took 112 ms of CPU on a disk, and 7 ms in memory.
    """
    if not MEMORY.is_dir() or shutil.disk_usage(MEMORY).free < ENOUGH_BYTES:
        yield tmp_path_factory.mktemp("postgres")
        return
    for left in MEMORY.glob("cdc-tests-*"):
        if not psutil.pid_exists(int(left.name.rpartition("-")[2])):  # a session was killed
            shutil.rmtree(left, ignore_errors=True)
    folder = MEMORY / f"cdc-tests-{os.getpid()}"
    folder.mkdir()
    folder.chmod(0o711)  # root's server runs as another account
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def postgres(postgres_folder: Path) -> Iterator[Postgres]:
    """A running server for the whole session; it needn't survive a crash, so it doesn't wait for the disk."""
    settings = {"fsync": "off", "full_page_writes": "off", "max_replication_slots": "20", "max_wal_size": "256MB"}
    # Each login would take the client 3 ms longer: password checks are deliberately slow.
    settings |= {"scram_iterations": "1"}
    with temporary_postgres(postgres_folder, settings=settings) as server:
        own = server.connection_parameters()
        execute(own, sql.SQL("ALTER ROLE postgres PASSWORD {}").format(sql.Literal(own["password"])))
        yield server


@pytest.fixture(scope="session")
def shared_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBroker]:
    """A broker for the whole session: each test has its own topics and groups, and sets its own rights.

    In addition to the administrator, the platform's roles may log in. The broker creates any requested topic, as MSK
    did: the worst case for a role without that right.
    """
    settings = {"auto.create.topics.enable": "true"}
    with running_broker(tmp_path_factory.mktemp("Größe"), *ROLES, settings=settings) as broker:
        yield broker


@pytest.fixture(scope="session")
def postgres_log(postgres_folder: Path) -> Path:
    """The log of the session's server."""
    return postgres_folder / "logs" / "postgres.log"


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """A headless browser for a module's tests: while it runs, their thread can't have another event loop."""
    from tests.browser.chromium import OtherMachineError, find, launched

    try:
        find()
    except OtherMachineError as error:
        pytest.skip(str(error))
    with launched() as browser:
        yield browser


@pytest.fixture
def database(postgres: Postgres) -> Iterator[ConnectionParameters]:
    """Connection parameters of an empty database that exists for one test."""
    with fresh_database(postgres) as parameters:
        yield parameters
