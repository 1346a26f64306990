"""The rental shop's rows: generated with what the walk-through changes, or of Pagila's own dump."""

from pathlib import Path

import pytest

from db import pagila
from db.dump import read_rows
from db.errors import LoadError
from db.sample import FOLDER
from local.services.postgres import ConnectionParameters
from tests.capture.conftest import PAGILA, WITHOUT_PAGILA
from tests.conftest import ask


def test_the_sample_has_what_the_walk_through_changes() -> None:
    rows = read_rows(FOLDER / "pagila.sql", pagila.DUMP, known_by="address")
    assert {table: len(rows[table]) for table in ("address", "city", "country")} == {
        "address": 603,
        "city": 600,
        "country": 109,
    }
    assert next(row[1] for row in rows["address"] if row[0] == "104") == "1913 Kamakura Place"


@pytest.mark.integration
def test_nobody_can_delete_address_104_before_its_people_have_moved(database: ConnectionParameters) -> None:
    assert pagila.load(database).new
    assert people_at_104(database) == {"customer": 1, "staff": 5, "store": 2}


@pytest.mark.integration
@WITHOUT_PAGILA
def test_the_real_rows_are_those_of_the_tables_that_are_here(database: ConnectionParameters) -> None:
    assert pagila.load(database, PAGILA) == pagila.Loaded(rows=19_955, new=True)
    assert people_at_104(database) == {"customer": 1, "staff": 5, "store": 2}
    assert ask(database, "SELECT address || phone FROM address WHERE address_id = 104") == (
        "1913 Kamakura Place942570536750"
    )
    assert ask(database, "SELECT nextval(pg_get_serial_sequence('city', 'city_id'))") == 601
    assert pagila.load(database, PAGILA / pagila.DATA_FILE) == pagila.Loaded(rows=19_955, new=False)


@pytest.mark.integration
def test_rows_that_are_there_are_not_taken_for_others(database: ConnectionParameters, tmp_path: Path) -> None:
    pagila.load(database)
    assert not pagila.load(database).new
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
