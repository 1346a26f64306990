"""The result of Hudi's sync tool in Glue (moto)."""

import time
from typing import Any

import pytest
from moto.glue.responses import GlueResponse
from pyspark.sql import SparkSession

from spark_jobs.table.glue import sync_to_glue
from tests.spark_jobs.events import event, glue_table
from tests.spark_jobs.lake import Lake


@pytest.fixture(name="slow_updates")
def _slow_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Glue with a slow UpdateTable: an update that isn't awaited loses to the next."""
    update = GlueResponse.update_table

    def slow(response: GlueResponse) -> Any:
        time.sleep(0.5)
        return update(response)

    monkeypatch.setattr(GlueResponse, "update_table", slow)


@pytest.mark.integration
@pytest.mark.usefixtures("slow_updates")
def test_glue_learns_table_columns_types_and_partitions(spark: SparkSession, lake: Lake, empty_glue: str) -> None:
    lake.conf = "cdc_events_partitioned.properties"
    lake.arguments = ("--enable-sync",)

    def synced() -> bool:
        decided = lake.settings()
        assert decided.sync is not None
        return sync_to_glue(spark, decided.sync, decided.table)

    def types() -> dict[str, str]:
        columns = glue_table(empty_glue)["StorageDescriptor"]["Columns"]
        return {column["Name"]: column["Type"] for column in columns}

    assert synced() is False  # nothing there yet: no error
    lake.run(event(1, 10, "c", customer_id="A"))
    # As tables of before were synced.
    lake.extra = {"hoodie.datasource.hive_sync.support_timestamp": "false"}
    assert synced()
    assert types()["updated_at"] == "bigint"
    lake.extra = {}
    lake.run(event(2, 20, "c", customer_id="B", note="new"))
    for _ in range(2):
        assert synced()
        named = ("order_date", "order_items", "note", "__lsn", "updated_at")
        assert [types()[name] for name in named] == ["date", "string", "string", "bigint", "timestamp"]
    table = glue_table(empty_glue)
    assert [key["Name"] for key in table["PartitionKeys"]] == ["customer_id", "order_id"]
    assert table["partitions"] == [("A", "1"), ("B", "2")]
    assert table["Parameters"]["athena_enable_native_hudi_connector_implementation"] == "true"
