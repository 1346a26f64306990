"""A role belongs to all databases of a server: concurrent changes from another one are waited for."""

import contextlib
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg2
import pytest

from db.connecting import LaterError
from db.source import plan as source_preparing
from db.source import rights
from db.source.objects import SourceObjects
from db.source.plan import prepare
from db.source.reading import ReadObjects, grant_reader
from local.services.postgres import ConnectionParameters
from tests.conftest import execute
from tests.db.source.test_preparing import PASSWORD, ROLE, connector, forget
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration

WANTED = SourceObjects(publication="cdc_shop", slot="cdc_shop", schema="cdc_shop", role=ROLE, tables=())


def capture(database: ConnectionParameters) -> None:
    prepare(database, WANTED, password=PASSWORD)


def query(database: ConnectionParameters) -> None:
    grant_reader(database, ReadObjects(role=ROLE, tables=(), queries={}), password=PASSWORD)


@pytest.fixture
def server(database: ConnectionParameters, monkeypatch: pytest.MonkeyPatch) -> Iterator[ConnectionParameters]:
    monkeypatch.setattr(source_preparing, "LOCK_TIMEOUT_S", 0.1)
    yield database
    forget(database, ROLE)


@pytest.mark.parametrize("work", [capture, query])
@pytest.mark.parametrize("change", ["CREATE ROLE {}", "ALTER ROLE {} CONNECTION LIMIT 9", "DROP ROLE {}"])
def test_a_change_of_the_role_in_another_database_is_waited_for(
    server: ConnectionParameters, change: str, work: Callable[[ConnectionParameters], None]
) -> None:
    if not change.startswith("CREATE"):
        execute(server, f"CREATE ROLE {ROLE}")
    with changing(server, change) as other, ThreadPoolExecutor(1) as pool:
        working = pool.submit(work, server)
        time.sleep(0.3)
        assert not working.done()
        other.commit()
        working.result(PATIENCE_S)
    with connector(server) as cursor:
        cursor.execute("SELECT 1")


def test_a_change_that_lasts_is_one_line(server: ConnectionParameters, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rights, "PATIENCE_S", 0.1)
    with changing(server, "CREATE ROLE {}"), pytest.raises(LaterError, match="others keep changing the same role"):
        capture(server)


@contextlib.contextmanager
def changing(server: ConnectionParameters, change: str) -> Iterator[psycopg2.extensions.connection]:
    elsewhere: dict[str, Any] = {**server, "dbname": "postgres"}
    with contextlib.closing(psycopg2.connect(**elsewhere)) as other:
        other.cursor().execute(change.format(ROLE))
        yield other
