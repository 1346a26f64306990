import contextlib
from collections.abc import Iterator

import psycopg2
import pytest
from psycopg2.extensions import connection as Connection
from psycopg2.extensions import cursor as Cursor

from db.connecting import LoadError
from db.source.deletes import deleted_keys, horizon_lsn
from local.services.postgres import ConnectionParameters

pytestmark = pytest.mark.integration

TABLE = ("public", "Order Items")


@pytest.fixture
def connection(database: ConnectionParameters) -> Iterator[Connection]:
    with contextlib.closing(psycopg2.connect(**database)) as opened:
        opened.autocommit = True
        yield opened


@pytest.fixture
def cursor(connection: Connection) -> Iterator[Cursor]:
    with connection.cursor() as opened:
        opened.execute('CREATE TABLE "Order Items" (id INTEGER, day DATE, PRIMARY KEY (id, day))')
        opened.execute("INSERT INTO \"Order Items\" VALUES (1, '1998-05-06')")
        yield opened


def test_keys_are_compared_as_their_columns_values(cursor: Cursor) -> None:
    keys = [("1", "1998-05-06"), ("01", "May 6 1998"), ("1", "1998-05-07"), ("-2", "1998-05-06")]
    assert deleted_keys(cursor, TABLE, ("id", "day"), keys) == keys[2:]
    assert deleted_keys(cursor, TABLE, ("id", "day"), []) == []


def test_a_key_of_a_transaction_that_is_open_isnt_taken_for_deleted(
    cursor: Cursor, database: ConnectionParameters
) -> None:
    with contextlib.closing(psycopg2.connect(**database)) as writer, writer.cursor() as inserting:
        inserting.execute("INSERT INTO \"Order Items\" VALUES (2, '1998-05-06')")
        with pytest.raises(LoadError, match="a transaction is open for more than 0 s"):
            horizon_lsn(cursor, timeout_s=0.4)
        writer.commit()
    horizon_lsn(cursor, timeout_s=10)
    assert deleted_keys(cursor, TABLE, ("id", "day"), [("2", "1998-05-06")]) == []


def test_whatever_is_written_later_is_behind_the_position(cursor: Cursor) -> None:
    position = horizon_lsn(cursor, timeout_s=10)
    cursor.execute("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn")
    [(next_change,)] = cursor.fetchall()
    assert position < next_change


def test_a_column_that_isnt_there_is_named(cursor: Cursor) -> None:
    with pytest.raises(LoadError, match="Order Items has no column nothing"):
        deleted_keys(cursor, TABLE, ("nothing",), [("1",)])
