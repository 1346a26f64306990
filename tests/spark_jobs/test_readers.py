"""Spark, hudi-rs, DuckDB and Trino see the same rows of the tables that random histories leave."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from local.setup.ports import choose
from spark_jobs.options.table_settings import SyncSettings
from spark_jobs.table.glue import sync_to_glue
from tests.spark_jobs.events import glue_client
from tests.spark_jobs.fuzz import try_histories
from tests.spark_jobs.histories import PARTITIONED, History, histories, run
from tests.spark_jobs.lake import Lake
from tests.trino.server import Trino, needed, running

pytestmark = pytest.mark.trino


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("table_type", "extra"),
    [("COPY_ON_WRITE", {}), ("MERGE_ON_READ", PARTITIONED)],
    ids=["COPY_ON_WRITE", "MERGE_ON_READ-partitioned"],
)
def test_all_readers_agree_after_any_history(
    spark: SparkSession,
    tmp_path: Path,
    empty_glue: str,
    table_type: str,
    extra: dict[str, str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    port = choose(["trino"], earlier={})["trino"]
    trino = Trino(tmp_path / "trino", needed(), port=port, glue=empty_glue, s3="http://unused")

    def by_trino(lake: Lake) -> list[dict[str, Any]]:
        table = lake.settings().table
        synced = SyncSettings(
            database="datalake", table=lake.NAME, partition_fields=table.partition_fields, properties={}
        )
        sync_to_glue(spark, synced, table)
        rows = trino.ask(f"SELECT * FROM datalake.{lake.NAME}")
        glue_client(empty_glue).delete_database(Name="datalake")
        return rows

    def ran(history: History, folder: Path) -> None:
        run(spark, history, table_type, extra, folder, [by_trino])

    with running(tmp_path, trino):
        try_histories(histories(), ran, f"readers {table_type}", capsys, count=50)
