"""Columns that change while a table is kept: nothing is lost, and what can't be is refused before it is written."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.errors import SettingsError
from tests.spark_jobs.conftest import Event, Lake

pytestmark = pytest.mark.integration
DECIMAL = {"type": "string", "logicalType": "decimal", "precision": 10, "scale": 2}


def schema(**types: Any) -> str:
    kinds = {"count": "int", "price": DECIMAL, "__op": "string", "__lsn": "long", "__deleted": "string"} | types
    fields = [{"name": name, "type": ["null", kind], "default": None} for name, kind in kinds.items()]
    return json.dumps({"type": "record", "name": "stock", "fields": [{"name": "id", "type": "int"}, *fields]})


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
    rows = lake.spark.read.format("hudi").load(str(lake.table_path)).select("id", name).collect()
    return {row["id"]: row[name] for row in rows}


def test_a_wider_number_waits_in_quarantine_until_the_schema_has_room_for_it(stock: Lake) -> None:
    stock.run(event(2, 2, count=3_000_000_000), event(1, 2, count=2))
    assert [entry["reason"] for entry in stock.quarantined()] == ["type: count (not int)"]
    (stock.folder / "stock.avsc").write_text(schema(count="long"))
    stock.run(event(2, 3, count=3_000_000_000))
    assert column(stock, "count") == {1: 2, 2: 3_000_000_000}


def test_a_renamed_column_is_a_new_one_and_the_old_one_keeps_what_it_had(stock: Lake) -> None:
    renamed = {key: value for key, value in event(2, 2, amount=7).items() if key != "count"}
    stock.run(renamed)
    assert column(stock, "count") == {1: 1, 2: None}
    assert column(stock, "amount") == {1: None, 2: 7}
    assert [line for line in stock.log if "new column amount" in line and "DEFAULT" in line]


def test_a_type_that_the_table_cannot_take_is_refused_at_the_start(stock: Lake) -> None:
    (stock.folder / "stock.avsc").write_text(schema(price=DECIMAL | {"precision": 12}))
    with pytest.raises(SettingsError, match=r"price \(decimal\(10,2\) in the table, decimal\(12,2\) in the file\)"):
        stock.job()
