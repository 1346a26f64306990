"""Tables that the job reads from the database: one is added to a running pipeline, and another is read again."""

import random
import re
import threading
import time
from typing import Any

import pytest

from db.source.replication import drop_slot
from local.platform.platform import Platform
from local.services.postgres import ConnectionParameters
from tests.conftest import execute
from tests.e2e.commands import Commands, equal_tables
from tests.e2e.faults import kill
from tests.e2e.writers import Business
from tests.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900), pytest.mark.long]

NAME, ROWS = "direct", 30_000
MAKE = (
    "CREATE TABLE {0} (id int PRIMARY KEY, note text);"
    " INSERT INTO {0} SELECT i, 'n' || i FROM generate_series(1, {1}) AS i"
)
MAKING = MAKE.format("first", ROWS)
# Changes that no slot ever sends.
LOSE_CHANGES = (
    f"BEGIN; ALTER PUBLICATION cdc_{NAME} DROP TABLE first; UPDATE first SET note = 'lost' WHERE id < 5;"
    f" DELETE FROM first WHERE id = 7; INSERT INTO first VALUES ({ROWS + 1}, 'lost');"
    f" ALTER PUBLICATION cdc_{NAME} ADD TABLE first; COMMIT"
)
PATIENT = ("--timeout", "240")


@pytest.fixture(scope="module", autouse=True)
def _running(make: Commands) -> None:
    make.pipeline()
    make.replace('first_load = "connector"', 'first_load = "direct"')
    make.prepare()
    make.up()


def test_a_table_that_is_added_is_read_by_the_job(make: Commands, source: ConnectionParameters) -> None:
    execute(source, MAKE.format("second", 3_000))
    make.pipeline("--update")
    make.prepare()
    assert "added, and the job reads them: public.second" in make.up()
    execute(source, "UPDATE second SET note = 'later' WHERE id < 9; DELETE FROM second WHERE id = 9")
    assert equal_tables(make.reconcile(*PATIENT)) == {"public.first": ROWS, "public.second": 2_999}
    make.wait_until_status_is_well()


def test_a_table_is_read_again_by_the_job_also_after_a_kill(make: Commands, source: ConnectionParameters) -> None:
    execute(source, LOSE_CHANGES)
    found = make.reconcile("--table", "public.first", "--timeout", "20", status=1)
    assert "public.first  differs  1 missing, 1 extra, 4 different" in found
    said, platform = list[str](), Platform(make.platform)
    former = platform.pid("job")
    reading = threading.Thread(target=lambda: said.append(make.resnapshot("--table", "public.first")))
    reading.start()
    wait_until(lambda: platform.pid("job") not in (None, former))
    time.sleep(random.uniform(0, 10))
    kill(platform, "job")
    reading.join()
    assert re.search(r"^public\.first: .* rows read", said[0], re.MULTILINE)
    assert equal_tables(said[0]) == {"public.first": ROWS}
    make.wait_until_status_is_well()


class Later(Business):
    """Changes rows of a keyed table, and adds rows to one without a key."""

    def _transact(self, cursor: Any) -> None:
        key = self._random.randrange(3_000)
        cursor.execute(f"UPDATE third SET note = 'later' WHERE id = {key}; DELETE FROM third WHERE id = {key + 1}")
        cursor.execute("INSERT INTO log VALUES ('later')")


def test_tables_that_are_added_when_changes_are_lost_are_read_once_they_flow_again(
    make: Commands, source: ConnectionParameters
) -> None:
    execute(source, MAKE.format("third", 3_000))
    execute(source, "CREATE TABLE log (note text); INSERT INTO log SELECT 'n' || i FROM generate_series(1, 3000) AS i")
    wait_until(lambda: drop_slot(source, f"cdc_{NAME}"))
    execute(source, "UPDATE first SET note = 'missed' WHERE id < 5; DELETE FROM first WHERE id = 11")
    make.pipeline("--update")
    make.prepare()
    assert f"run `./lake resnapshot -p {NAME}`" in make.up(status=3)
    with Later(source, rate=10, seed=1, transactions=400):
        make.resnapshot()
    assert {"public.first", "public.third", "public.log"} <= equal_tables(make.reconcile(*PATIENT)).keys()
    make.wait_until_status_is_well()
