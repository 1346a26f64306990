"""Columns that change while a table is kept: nothing is lost, and impossible changes are refused before a write."""

import contextlib
import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from contract import added_columns
from contract.added_columns import AddedColumn
from local.services.postgres import ConnectionParameters
from spark_jobs.errors import SettingsError, UndescribedError
from spark_jobs.options import keys
from spark_jobs.sources.postgres.access import Databases
from tests.conftest import execute
from tests.spark_jobs.events import Event, avro
from tests.spark_jobs.lake import Lake
from tests.spark_jobs.sources.postgres.conftest import url_of

pytestmark = pytest.mark.integration
DECIMAL = {"type": "string", "logicalType": "decimal", "precision": 10, "scale": 2}


def schema(**types: Any) -> str:
    kinds = {"count": "int", "price": DECIMAL, "__op": "string", "__lsn": "long", "__deleted": "string"} | types
    return avro(kinds, {"name": "id", "type": "int"})


def event(key: int, lsn: int, **fields: Any) -> Event:
    return {"id": key, "count": 1, "price": "1.10", "__op": "u", "__lsn": lsn, "__deleted": "false"} | fields


@pytest.fixture
def stock(spark: SparkSession, tmp_path: Path) -> Lake:
    """A table with two rows."""
    file = tmp_path / "stock.avsc"
    file.write_text(schema())
    settings = {
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.streamer.schemaprovider.source.schema.file": str(file),
    }
    lake = Lake(spark, tmp_path, settings)
    lake.run(event(1, 1), event(2, 1))
    return lake


def column(lake: Lake, name: str) -> dict[int, Any]:
    return {row["id"]: row[name] for row in lake.stored()}


def added(lake: Lake) -> dict[str, AddedColumn]:
    return added_columns.decode(lake.table().progress().get(keys.ADDED_COLUMNS))


def test_a_wider_number_waits_until_the_schema_has_room_for_it_and_a_new_column_has_a_lake_name(stock: Lake) -> None:
    odd = {
        "corrupt line": "corrupt_line",
        "": "_",
        "event key": "event_key",
        "a`.b": "a_b",
        "_corrupt_record": "_corrupt_record",
    }
    first = {"Mixed Case": "a", "order": "b"} | dict.fromkeys(odd, 5)
    stock.run(event(2, 2, count=3_000_000_000), event(1, 2, count=2, **first))
    assert [entry["reason"] for entry in stock.quarantined()] == ["type: count (not int)"]
    [line] = [line for line in stock.log if "new column mixed_case" in line]
    assert line.startswith(
        "new column mixed_case string (the events' Mixed Case), from the events; older rows have null"
    )
    assert "where the source's have a DEFAULT" in line

    # The next job knows the events' own names.
    (stock.folder / "stock.avsc").write_text(schema(count="long"))
    second = {"Mixed Case": "c", "order": None} | dict.fromkeys(odd, 6)
    stock.run(event(2, 3, count=3_000_000_000, **second))
    assert column(stock, "count") == {1: 2, 2: 3_000_000_000}
    assert column(stock, "mixed_case") == {1: "a", 2: "c"}
    assert column(stock, "order") == {1: "b", 2: None}
    for name in odd.values():
        assert {key: float(value) for key, value in column(stock, name).items()} == {1: 5, 2: 6}
    # Another field with the same lake name doesn't get into that column.
    report = stock.run(event(1, 3, mixed_case="d"))
    assert (report.quarantined, column(stock, "mixed_case")) == (1, {1: "a", 2: "c"})
    # The table can't take this one.
    (stock.folder / "stock.avsc").write_text(schema(count="long", price=DECIMAL | {"precision": 12}))
    with pytest.raises(SettingsError, match=r"price \(decimal\(10,2\) in the table, decimal\(12,2\) in the file\)"):
        stock.job()


@pytest.mark.long
def test_each_commit_says_which_columns_came_later_and_by_which_commit(stock: Lake) -> None:
    assert added(stock) == {}
    stock.run(event(2, 2, colour="red"))
    assert added(stock) == {"colour": AddedColumn("colour", guessed=True)}
    (stock.folder / "stock.avsc").write_text(schema(size="int"))
    stock.run(event(2, 3, colour="red", size=1))
    brought = stock.table().last_instant()
    found = added(stock)
    assert found["size"] == AddedColumn("size")
    assert str(found["colour"].since) < str(brought)
    stock.run(event(2, 4, colour="red", size=2))
    assert added(stock) == {"colour": found["colour"], "size": AddedColumn("size", brought)}


@pytest.mark.long
def test_a_column_that_came_with_events_keeps_its_type_even_if_the_file_has_another(stock: Lake) -> None:
    stock.run(event(2, 2, size=7, **{"Unit Cost": "1.50"}))
    cost = {"name": "unit_cost", "type": ["null", DECIMAL], "source.name": "Unit Cost"}
    described = json.loads(schema(size="int"))
    described["fields"].append(cost)
    (stock.folder / "stock.avsc").write_text(json.dumps(described))
    assert stock.run(event(1, 3, size=8, **{"Unit Cost": "2.25"})).quarantined == 0
    assert column(stock, "size") == {1: 8.0, 2: 7.0}
    assert column(stock, "unit_cost") == {1: "2.25", 2: "1.50"}
    assert [line for line in stock.log if line.startswith("size (double in the table, int in the file): it came with")]


ADDED = """CREATE TABLE stock (id int, at timestamp, born date, "Unit Cost" numeric(10,2), nr bigint, gone date);
ALTER TABLE stock DROP COLUMN gone"""
# As Debezium sends them.
NEW = {"at": 1795176000500000, "born": 19782, "Unit Cost": "NAN", "nr": 2**53 + 1, "gone": 19782}
MADE = {"at": "timestamp", "born": "date", "unit_cost": "decimal(10,2)", "nr": "bigint", "gone": "double"}


def asking(database: ConnectionParameters) -> dict[str, str]:
    return {
        keys.NEW_COLUMN_TYPES: keys.TYPES_OF_SOURCE,
        keys.JDBC_URL: url_of(database),
        keys.JDBC_USER: str(database["user"]),
        keys.JDBC_PASSWORD_VARIABLE: "CDC_TEST_PASSWORD",
        keys.JDBC_TABLE: "public.stock",
        f"{keys.JDBC_PREFIX}connections": "1",
    }


def test_a_new_column_has_the_type_that_the_sources_catalogue_says(
    stock: Lake, database: ConnectionParameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute(database, ADDED)
    monkeypatch.setenv("CDC_TEST_PASSWORD", str(database["password"]))
    stock.extra = {**stock.extra, **asking(database)}
    stock.databases = Databases(stock.spark, log=stock.log.append)
    catalogue = stock.settings().catalogue
    assert catalogue is not None
    assert catalogue.server is not None
    # Another table has the only connection, and waits for the turn that this one has.
    with contextlib.closing(stock.databases.of(catalogue.server).look()):
        assert stock.run(event(2, 2, **NEW)).quarantined == 0
    # The next job knows how events have them, even without the database.
    stock.extra = {**stock.extra, keys.JDBC_URL: "jdbc:postgresql://127.0.0.1:1/none"}
    assert stock.run(event(1, 2, **NEW | {"Unit Cost": "1.50"})).quarantined == 0
    rows = stock.frame()
    assert {name: rows.schema[name].dataType.simpleString() for name in MADE} == MADE
    assert column(stock, "born") == dict.fromkeys((1, 2), date(2024, 2, 29))
    assert column(stock, "nr") == dict.fromkeys((1, 2), 2**53 + 1)
    assert column(stock, "unit_cost") == {1: Decimal("1.50"), 2: None}
    assert column(stock, "__specials") == {1: None, 2: '{"unit_cost":"NaN"}'}
    assert [value.isoformat() for value in column(stock, "at").values()] == ["2026-11-20T12:00:00.500000+00:00"] * 2
    assert [line for line in stock.log if "column gone is guessed by its values: the source has no such" in line]


@pytest.mark.long
def test_without_a_database_the_table_waits_until_its_schema_file_has_the_column(stock: Lake) -> None:
    stock.extra = {**stock.extra, keys.NEW_COLUMN_TYPES: keys.TYPES_OF_SOURCE}
    stock.land(event(2, 2, born=19782), event(1, 2))
    with pytest.raises(UndescribedError, match=r"stock\.avsc lacks born, which events have: the table waits"):
        stock.job().run_batch()
    assert stock.commits() == 1
    (stock.folder / "stock.avsc").write_text(schema(born={"type": "int", "connect.name": "io.debezium.time.Date"}))
    stock.run()
    assert column(stock, "born") == {1: None, 2: date(2024, 2, 29)}
    assert column(stock, "__lsn") == {1: 2, 2: 2}
