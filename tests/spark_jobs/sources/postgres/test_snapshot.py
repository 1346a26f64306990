"""A snapshot of a known place in the log: rows read in it, and the changes that it doesn't contain, are the table."""

import contextlib
import random
import re
import threading
from collections.abc import Iterator

import psycopg2
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from local.services.postgres import ConnectionParameters
from spark_jobs.sources.postgres.access import Database
from spark_jobs.sources.postgres.snapshot import Snapshot, read_snapshot, snapshot_look
from tests.conftest import ask, execute
from tests.spark_jobs.sources.postgres.conftest import server_of

pytestmark = pytest.mark.integration

CYCLE = 2**32


@pytest.mark.parametrize(
    ("transaction", "position", "contained"),
    [
        pytest.param(899, 99, True, id="ended before the oldest"),
        pytest.param(899, 100, False, id="behind the position"),
        pytest.param(905, 99, False, id="was running"),
        pytest.param(906, 99, True, id="ended between those that run"),
        pytest.param(910, 99, False, id="not begun"),
        pytest.param(CYCLE - 1, 99, True, id="of the cycle before"),
        pytest.param(None, 99, False, id="unknown"),
    ],
)
@pytest.mark.parametrize("cycle", [0, 7])
def test_which_changes_a_snapshot_contains(
    spark: SparkSession, cycle: int, transaction: int | None, position: int, *, contained: bool
) -> None:
    base = cycle * CYCLE
    snapshot = Snapshot(begin=50, position=100, oldest=base + 900, next=base + 910, running=(base + 905,))
    known = read_snapshot(snapshot.to_text())
    column = known.contains(F.lit(transaction).cast("long"), F.lit(position).cast("long"))
    assert spark.range(1).select(column).collect() == [(contained,)]


@contextlib.contextmanager
def writers(parameters: ConnectionParameters, seed: int) -> Iterator[None]:
    """Three sessions with transactions of several changes, some of which are rolled back."""
    over = threading.Event()

    def write(number: int) -> None:
        chance = random.Random(f"{seed} {number}")
        with contextlib.closing(psycopg2.connect(**parameters)) as connection, connection.cursor() as cursor:
            while not over.is_set():
                try:
                    for _ in range(chance.randint(1, 4)):
                        key, value = chance.randint(0, 30), chance.randint(0, 10**6)
                        if chance.random() < 0.3:
                            cursor.execute("DELETE FROM w WHERE id = %s", [key])
                        else:
                            cursor.execute(
                                "INSERT INTO w VALUES (%s, %s) ON CONFLICT (id) DO UPDATE SET v = excluded.v",
                                [key, value],
                            )
                        over.wait(chance.random() / 200)
                    connection.commit() if chance.random() < 0.9 else connection.rollback()
                except psycopg2.Error:  # a deadlock
                    connection.rollback()

    threads = [threading.Thread(target=write, args=[number]) for number in range(3)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def changes(parameters: ConnectionParameters) -> Iterator[tuple[int, int, int, int | None]]:
    """Transaction, position, key and value (None: deleted) of each change of the slot, in the order of commits."""
    query = (
        "SELECT pg_wal_lsn_diff(lsn, '0/0')::bigint, xid::text::bigint, data FROM pg_logical_slot_get_binary_changes("
        "current_database(), NULL, NULL, 'proto_version', '1', 'publication_names', 'w')"
    )
    with contextlib.closing(psycopg2.connect(**parameters)) as connection, connection.cursor() as cursor:
        cursor.execute(query)
        for position, transaction, data in cursor:
            # A message of pgoutput: its kind, the relation's number, and behind N or K the new row, or the key, in
            # which each value is a text (t) with its length, or null (n).
            if (kind := bytes(data)[:1]) in (b"I", b"U", b"D"):
                key, *value = [int(text) for text in re.findall(rb"t\0\0\0.(\d+)", bytes(data)[6:], re.DOTALL)]
                yield transaction, position, key, None if kind == b"D" else value[-1]


def test_rows_and_the_changes_that_their_snapshot_lacks_are_the_table(
    spark: SparkSession, database: ConnectionParameters
) -> None:
    execute(database, "CREATE TABLE w (id int PRIMARY KEY, v int); CREATE PUBLICATION w FOR TABLE w")
    for seed in range(12):
        execute(database, "SELECT pg_create_logical_replication_slot(current_database(), 'pgoutput')")
        with writers(database, seed):
            threading.Event().wait(0.2)
            look, snapshot = snapshot_look(Database(spark, server_of(database), log=lambda _line: None))
            with contextlib.closing(look):
                threading.Event().wait(0.1)
                rows = look.text("SELECT coalesce(string_agg(concat_ws('=', id, v), ' '), '') FROM public.w")
            threading.Event().wait(0.1)
        pairs = (row.split("=") for row in str(rows).split())
        lake = {int(key): int(value) for key, value in pairs}
        found = list(changes(database))
        frame = spark.createDataFrame(found, "transaction long, position long, id int, v int").coalesce(1)
        contained = frame.select(snapshot.contains(F.col("transaction"), F.col("position"))).collect()
        for (_, _, key, value), (is_there,) in zip(found, contained, strict=True):
            if not is_there:
                lake.pop(key, None)
                lake |= {} if value is None else {key: value}
        assert all(
            at > snapshot.begin for (_, at, _, _), (is_there,) in zip(found, contained, strict=True) if not is_there
        )
        assert any(is_there for (is_there,) in contained)
        assert not all(is_there for (is_there,) in contained)
        wanted = ask(database, "SELECT coalesce(json_object_agg(id, v), '{}') FROM w")
        assert lake == {int(key): value for key, value in wanted.items()}, f"seed {seed}"
        execute(database, "SELECT pg_drop_replication_slot(current_database())")
