"""The rows of a load: samples of Northwind's and Pagila's, how a database sees them, and their format for COPY."""

import re
from pathlib import Path

import pytest

from contract import source
from contract.source import CONNECTOR_ROLE
from db import loading, pagila
from db.connecting import LoadError, transaction
from db.loading import LoadOptions, load
from db.outbox import SQL_FOLDER
from db.sample import ORDERS, TABLES, Row, copy_lines
from local.services.postgres import ConnectionParameters
from tests.capture.conftest import PAGILA, WITHOUT_PAGILA
from tests.conftest import ask
from tests.db.conftest import CONNECTOR_PASSWORD


def test_copy_escapes_what_copy_would_misread() -> None:
    (line,) = copy_lines([("a\tb", "c\nd\r", "\\N", None, "", "\\", 1, 2.5, "Genève")])
    assert line == "a\\tb\tc\\nd\\r\t\\\\N\t\\N\t\t\\\\\t1\t2.5\tGenève\n"


def test_the_sql_files_say_the_contracts_names() -> None:
    words = {
        word for path in SQL_FOLDER.rglob("*.sql") for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))
    }
    names = (source.SCHEMA, source.OUTBOX_TABLE, source.HEARTBEAT_TABLE, source.HEARTBEAT_PROCEDURE, source.PUBLICATION)
    assert words >= {*names, CONNECTOR_ROLE}


Tables = dict[str, list[Row]]


def tables(scale: int = 1) -> Tables:
    made: Tables = {table: [] for table in TABLES}
    chunks, totals = loading.source(LoadOptions(connector_password="x", scale=scale))
    for table, rows in chunks:
        made[table] += rows
    assert {table: len(rows) for table, rows in made.items()} == totals
    return made


def test_a_scaled_set_begins_with_the_plain_one_and_continues_from_11078() -> None:
    sample, scaled = tables(), tables(3)
    assert len(sample["orders"]) == ORDERS
    assert scaled["orders"][:829] == sample["orders"]
    assert [row[0] for row in scaled["orders"][829:]] == [str(key) for key in range(11078, 11078 + 2 * 829)]
    assert {row[0] for row in scaled["order_details"]} == {row[0] for row in scaled["orders"]}
    days = [str(row[3]) for row in scaled["orders"]]
    assert days == sorted(days)
    assert sum(row[5] is None for row in scaled["orders"]) == 3 * 20


@pytest.mark.integration
@WITHOUT_PAGILA
def test_the_real_rows_are_those_of_the_tables_that_are_here(database: ConnectionParameters) -> None:
    assert pagila.load(database, PAGILA) == "19,955 rows loaded"
    assert people_at_104(database) == {"customer": 1, "staff": 5, "store": 2}
    assert ask(database, "SELECT address || phone FROM address WHERE address_id = 104") == (
        "1913 Kamakura Place942570536750"
    )
    assert ask(database, "SELECT nextval(pg_get_serial_sequence('city', 'city_id'))") == 601
    assert pagila.load(database, PAGILA / pagila.DATA_FILE) == "19,955 rows kept"


@pytest.mark.integration
def test_rows_that_are_there_are_not_taken_for_others(database: ConnectionParameters, tmp_path: Path) -> None:
    assert pagila.load(database).endswith(" rows loaded")
    assert pagila.load(database).endswith(" rows kept")
    # Nobody can delete this address before its people have moved.
    assert people_at_104(database) == {"customer": 1, "staff": 5, "store": 2}
    (tmp_path / pagila.DATA_FILE).write_text("")
    with pytest.raises(
        LoadError, match=r"has generated rows, so the dump pagila-data\.sql \(SHA-256 .*can't be loaded"
    ):
        pagila.load(database, tmp_path)


@pytest.mark.integration
def test_what_is_no_dump_of_pagila_loads_nothing(database: ConnectionParameters, tmp_path: Path) -> None:
    dump = tmp_path / "dump.sql"
    dump.write_text(
        "COPY public.film (film_id) FROM stdin;\n1\n\\.\nINSERT INTO staff (staff_id, password) VALUES (1, 'x');"
    )
    with pytest.raises(LoadError, match="holds no rows of the table address: is it a dump of Pagila's data"):
        pagila.load(database, dump)
    assert ask(database, "SELECT to_regclass('address')") is None


def people_at_104(database: ConnectionParameters) -> dict[str, int]:
    count = "SELECT count(*) FROM {} WHERE address_id = 104"
    return {table: ask(database, count.format(table)) for table in ("customer", "staff", "store")}


def test_rows_are_told_by_their_number_or_their_dumps_content(tmp_path: Path) -> None:
    assert loading.data_set() == loading.data_set(scale=1) == "829 generated orders (--scale 1)"
    assert loading.data_set(scale=5) == "4,145 generated orders (--scale 5)"
    assert loading.data_set(empty=True) == "no rows"
    one, other = tmp_path / "a" / "dump.sql", tmp_path / "b" / "dump.sql"
    for path in (one, other):
        path.parent.mkdir()
        path.write_text("SELECT 1;")
    words = loading.data_set(dump=one)
    assert words == loading.data_set(dump=other)
    other.write_text("SELECT 2;")
    assert loading.data_set(dump=other) != words
    assert words.startswith("the dump dump.sql (SHA-256 ")


@pytest.mark.integration
def test_a_load_writes_it_down_and_a_later_one_replaces_it(database: ConnectionParameters) -> None:
    options = LoadOptions(connector_password=CONNECTOR_PASSWORD, empty=True)
    load(database, options)
    with transaction(database) as cursor:
        assert loading.recorded_data_set(cursor) == "no rows"
        loading.record_data_set(cursor, 'somebody\'s "own" words')
        assert loading.recorded_data_set(cursor) == 'somebody\'s "own" words'
        cursor.execute("COMMENT ON SCHEMA datalake IS NULL")
        assert loading.recorded_data_set(cursor) is None
    load(database, LoadOptions(connector_password=CONNECTOR_PASSWORD, replace=True))
    with transaction(database) as cursor:
        assert loading.recorded_data_set(cursor) == loading.data_set()
