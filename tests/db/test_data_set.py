"""What a database says of the rows that it was loaded with."""

import os
from pathlib import Path

import pytest

from db import data_set
from db.errors import LoadError
from db.loading import LoadOptions, load, transaction
from local.services.postgres import ConnectionParameters
from tests.db.conftest import CONNECTOR_PASSWORD


def test_generated_orders_are_told_by_their_number() -> None:
    assert data_set.describe() == data_set.describe(scale=1) == "829 generated orders (--scale 1)"
    assert data_set.describe(scale=5) == "4,145 generated orders (--scale 5)"
    assert data_set.describe(empty=True) == "no rows"


def test_a_dump_is_told_by_its_content(tmp_path: Path) -> None:
    one, other = tmp_path / "a" / "dump.sql", tmp_path / "b" / "dump.sql"
    for path in (one, other):
        path.parent.mkdir()
        path.write_text("SELECT 1;")
    words = data_set.describe(dump=one)
    assert words == data_set.describe(dump=other)
    other.write_text("SELECT 2;")
    assert data_set.describe(dump=other) != words
    assert words.startswith("the dump dump.sql (SHA-256 ")


def test_a_dump_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("nowhere", "pipe"):
        with pytest.raises(LoadError, match=f"cannot read {tmp_path / name}: "):
            data_set.describe(dump=tmp_path / name)


@pytest.mark.integration
def test_a_load_writes_it_down_and_a_later_one_replaces_it(database: ConnectionParameters) -> None:
    options = LoadOptions(connector_password=CONNECTOR_PASSWORD, empty=True)
    load(database, options, lambda *_: None)
    with transaction(database) as cursor:
        assert data_set.noted(cursor) == "no rows"
        data_set.note(cursor, 'somebody\'s "own" words')
        assert data_set.noted(cursor) == 'somebody\'s "own" words'
        cursor.execute("COMMENT ON SCHEMA datalake IS NULL")
        assert data_set.noted(cursor) is None
    load(database, LoadOptions(connector_password=CONNECTOR_PASSWORD, replace=True), lambda *_: None)
    with transaction(database) as cursor:
        assert data_set.noted(cursor) == data_set.describe()
