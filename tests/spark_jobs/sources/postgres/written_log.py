"""Random writers of a table `public.w`, and what a replication slot says of it, with nothing between."""

import contextlib
import random
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import psycopg2
from psycopg2.extras import LogicalReplicationConnection

from tests.conftest import ask, execute
from tests.waiting import wait_until

COLUMNS = ("id", "v", "large")
# Its large values are kept apart, and an update that leaves one as it is doesn't send it.
TABLE = """CREATE TABLE w (id int PRIMARY KEY, v int, large text); ALTER TABLE w ALTER large SET STORAGE EXTERNAL;
    CREATE PUBLICATION w FOR TABLE w"""
LARGE = "md5(random()::text) || repeat('x', 3000)"


@dataclass(frozen=True)
class Change:
    """A change of a committed transaction: None for a deleted row, a column that isn't sent is missing."""

    transaction: int
    position: int
    key: int
    values: Mapping[str, str | None] | None


@contextlib.contextmanager
def slot(parameters: Mapping[str, Any]) -> Iterator[None]:
    """A slot of the database's name."""
    execute(parameters, "SELECT pg_create_logical_replication_slot(current_database(), 'pgoutput')")
    try:
        yield
    finally:
        execute(parameters, "SELECT pg_drop_replication_slot(current_database())")


@contextlib.contextmanager
def reader(parameters: Mapping[str, Any]) -> Iterator[Callable[[], None]]:
    """Read the slot as a connector does; what it yields changes the table and stores the position behind that."""
    connecting: dict[str, Any] = {**parameters, "connection_factory": LogicalReplicationConnection}
    with contextlib.closing(psycopg2.connect(**connecting)) as connection, connection.cursor() as cursor:
        options = {"proto_version": "1", "publication_names": "w"}
        cursor.start_replication(slot_name=parameters["dbname"], options=options)
        confirmed = "SELECT (confirmed_flush_lsn - '0/0'::pg_lsn)::bigint FROM pg_replication_slots WHERE active"

        def store() -> None:
            execute(parameters, "UPDATE w SET v = v + 1")
            position = int(ask(parameters, "SELECT (pg_current_wal_lsn() - '0/0'::pg_lsn)::bigint"))
            cursor.send_feedback(flush_lsn=position, force=True)
            wait_until(lambda: ask(parameters, confirmed) >= position)

        yield store
    # The server notices a moment later that it has gone.
    idle = "SELECT NOT active FROM pg_replication_slots WHERE slot_name = current_database()"
    wait_until(lambda: ask(parameters, idle))


@contextlib.contextmanager
def writers(parameters: Mapping[str, Any], seed: int) -> Iterator[None]:
    """Three sessions with transactions of several changes, some of which are rolled back."""
    over = threading.Event()

    def write(number: int) -> None:
        chance = random.Random(f"{seed} {number}")
        with contextlib.closing(psycopg2.connect(**parameters)) as connection, connection.cursor() as cursor:
            while not over.is_set():
                try:
                    for _ in range(chance.randint(1, 4)):
                        cursor.execute(_statement(chance), [chance.randint(0, 30)])
                        over.wait(chance.random() / 50)
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


def _statement(chance: random.Random) -> str:
    value = chance.randint(0, 10**6)
    return chance.choice(
        [
            f"UPDATE w SET v = {value} WHERE id = %s",
            f"UPDATE w SET large = {LARGE} WHERE id = %s",
            "DELETE FROM w WHERE id = %s",
            f"INSERT INTO w VALUES (%s, {value}, {LARGE}) ON CONFLICT DO NOTHING",
            f"INSERT INTO w VALUES (%s, {value}, {LARGE}) ON CONFLICT (id) DO UPDATE SET v = excluded.v",
        ]
    )


def changes(parameters: Mapping[str, Any]) -> Iterator[Change]:
    """Take the slot's changes, in the order of commits."""
    query = (
        "SELECT xid::text::bigint, pg_wal_lsn_diff(lsn, '0/0')::bigint, data FROM pg_logical_slot_get_binary_changes("
        "current_database(), NULL, NULL, 'proto_version', '1', 'publication_names', 'w')"
    )
    with contextlib.closing(psycopg2.connect(**parameters)) as connection, connection.cursor() as cursor:
        cursor.execute(query)
        for transaction, position, data in cursor:
            message = bytes(data)
            if message[:1] in (b"I", b"U", b"D"):
                row = _last_tuple(message)
                yield Change(transaction, position, int(str(row["id"])), None if message[:1] == b"D" else row)


def _last_tuple(message: bytes) -> dict[str, str | None]:
    """Return the new row of one of pgoutput's messages, or the deleted row's key (PostgreSQL, "Logical Replication
    Message Formats"): behind the kind and the relation's number, tuples of values that are text, null or not sent."""
    place, row = 5, dict[str, str | None]()
    while place < len(message):
        (count,) = struct.unpack_from(">H", message, place + 1)
        place, row = place + 3, {}
        for name in COLUMNS[:count]:
            kind, place = message[place : place + 1], place + 1
            if kind == b"t":
                (size,) = struct.unpack_from(">I", message, place)
                row[name], place = message[place + 4 : place + 4 + size].decode(), place + 4 + size
            elif kind == b"n":
                row[name] = None
    return row


def rows(parameters: Mapping[str, Any], table: str = "w") -> dict[int, tuple[int, str]]:
    found = ask(parameters, f"SELECT coalesce(json_agg(json_build_array(id, v, large)), '[]') FROM {table}")
    return {key: (value, large) for key, value, large in found}
