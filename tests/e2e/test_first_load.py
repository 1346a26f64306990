"""Tables that the job reads from the database at first, with Debezium's events behind, while all of it is killed."""

import threading
import time
from typing import Any

import pytest

from local.platform.platform import Platform
from local.services.postgres import ConnectionParameters
from tests import cases
from tests.conftest import execute
from tests.e2e.commands import Commands, equal_tables
from tests.e2e.faults import kill
from tests.e2e.writers import Business

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800), pytest.mark.long]

NAME, TABLES, ROWS, KILLS = "loaded", 10, 20_000, 30
MAKING = "".join(
    f"CREATE TABLE t{n} (id int PRIMARY KEY, v int, large text, day date, doc jsonb);"
    f" ALTER TABLE t{n} ALTER large SET STORAGE EXTERNAL; INSERT INTO t{n} SELECT i, 0, repeat(md5(i::text), 80),"
    " CASE WHEN i % 5000 = 0 THEN 'infinity' ELSE DATE '2020-01-01' + i % 900 END, jsonb_build_object('i', i)"
    f" FROM generate_series(1, {ROWS}) AS i;"
    for n in range(TABLES)
)

# As a server that ends at once: both its replication and its readers.
SESSIONS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'cdc_connector'"


class Rows(Business):
    """Changes, deletes and inserts rows of all tables, some transactions of many."""

    def _transact(self, cursor: Any) -> None:
        table, key = f"t{self._random.randrange(TABLES)}", self._random.randrange(ROWS)
        changes = (
            f"UPDATE {table} SET v = v + 1 WHERE id BETWEEN {key} AND {key + 3}",
            f"UPDATE {table} SET large = repeat('y', 3000) WHERE id = {key}",
            f"DELETE FROM {table} WHERE id = {key}",
            f"INSERT INTO {table} VALUES ({ROWS + key}, 1, 'new') ON CONFLICT DO NOTHING",
        )
        for change in self._random.choices(changes, k=self._random.randint(1, 5)):
            cursor.execute(change)


def test_first_loads_under_writers_and_kills_end_equal(make: Commands, source: ConnectionParameters) -> None:
    execute(source, "ANALYZE")
    make.pipeline()
    make.replace('first_load = "connector"', 'first_load = "direct"')
    make.prepare()
    chance, platform = cases.chance(), Platform(make.platform)
    with Rows(source, rate=50, seed=chance.randrange(10**9)):
        for _ in range(KILLS):
            starting = threading.Thread(target=make.up, kwargs={"status": None})
            starting.start()
            time.sleep(chance.uniform(3, 20))
            victim = chance.choice(("job", "connect", "sessions"))
            if victim == "sessions":
                execute(source, SESSIONS)
            elif platform.pid(victim) is not None:
                kill(platform, victim)
            starting.join()
        make.up()
    assert equal_tables(make.reconcile("--timeout", "400")).keys() == {f"public.t{n}" for n in range(TABLES)}
    make.wait_until_status_is_well()
