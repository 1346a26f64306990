"""A snapshot of a known place in the log: rows read in it, and the changes that it doesn't contain, are the table."""

import contextlib
import json
import time
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from local.services.postgres import ConnectionParameters
from spark_jobs.runtime.retry import is_outage
from spark_jobs.sources.postgres.access import Database
from spark_jobs.sources.postgres.snapshot import Snapshot, read_snapshot, snapshot_look
from tests import cases
from tests.conftest import ask, execute
from tests.spark_jobs.sources.postgres import written_log
from tests.spark_jobs.sources.postgres.conftest import Queried, server_of
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

CYCLE = 2**32


# Transaction and position of changes.
CHANGES: dict[str, tuple[int | None, int, bool]] = {
    "ended before the oldest": (899, 99, True),
    "behind the position": (899, 100, False),
    "was running": (905, 99, False),
    "ended between those that run": (906, 99, True),
    "not begun": (910, 99, False),
    "of the cycle before": (CYCLE - 1, 99, True),
    "unknown": (None, 99, False),
}


@pytest.mark.parametrize("cycle", [0, 7])
def test_which_changes_a_snapshot_contains(spark: SparkSession, cycle: int) -> None:
    base = cycle * CYCLE
    snapshot = Snapshot(begin=50, position=100, oldest=base + 900, next=base + 910, running=(base + 905,))
    given = [(name, *change[:2]) for name, change in CHANGES.items()]
    frame = spark.createDataFrame(given, "name string, transaction long, position long").coalesce(1)
    contained = read_snapshot(snapshot.to_text()).contains(F.col("transaction"), F.col("position"))
    found = {row[0]: row[1] for row in frame.select("name", contained).collect()}
    assert found == {name: is_there for name, (_, _, is_there) in CHANGES.items()}


def test_rows_and_the_changes_that_their_snapshot_lacks_are_the_table(
    spark: SparkSession, database: ConnectionParameters
) -> None:
    execute(database, written_log.TABLE)
    chance = cases.chance()
    for seed in (chance.randrange(10**9) for _ in range(4)):
        with written_log.slot(database):
            with written_log.writers(database, seed):
                time.sleep(0.2)
                look, snapshot = snapshot_look(Database(spark, server_of(database), log=lambda _line: None))
                with contextlib.closing(look):
                    time.sleep(0.1)
                    pairs = json.loads(
                        str(look.text("SELECT coalesce(json_object_agg(id, v), '{}')::text FROM public.w"))
                    )
                time.sleep(0.1)
            changes = list(written_log.changes(database))
        given = [(change.transaction, change.position) for change in changes]
        frame = spark.createDataFrame(given, "transaction long, position long").coalesce(1)
        contained = [
            row[0] for row in frame.select(snapshot.contains(F.col("transaction"), F.col("position"))).collect()
        ]
        lake = {int(key): value for key, value in pairs.items()}
        for change, is_there in zip(changes, contained, strict=True):
            if not is_there:
                assert change.position > snapshot.begin
                lake.pop(change.key, None)
                lake |= {change.key: int(str(change.values["v"]))} if change.values else {}
        assert {*contained} == {True, False}
        assert lake == {key: value for key, (value, _) in written_log.rows(database).items()}, f"seed {seed}"


def test_a_transaction_that_stays_open_is_not_waited_for_without_end(spark: SparkSession, queried: Queried) -> None:
    """The connection would be given up first, and leave PostgreSQL's process with its slot."""
    server = replace(server_of(queried.parameters), statement_seconds=1)
    with queried.transaction() as cursor:
        cursor.execute("DELETE FROM address")
        with pytest.raises(TimeoutError, match="a transaction is still open that has to end before") as raised:
            snapshot_look(Database(spark, server, log=lambda _line: None))
        assert is_outage(raised.value)
        slots = "SELECT count(*) FROM pg_replication_slots WHERE slot_name LIKE 'first_load_%'"
        wait_until(lambda: ask(queried.parameters, slots) == 0)
