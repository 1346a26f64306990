"""Random histories end as `model` requires, and all readers of a table see the same rows."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.cases import long
from tests.spark_jobs.fuzz import try_histories
from tests.spark_jobs.histories import PARTITIONED, History, histories, run

pytestmark = pytest.mark.integration


@pytest.mark.parametrize(
    ("table_type", "extra"),
    [
        # In each run the one with logs, views of base files and a compaction; test_redelivery.py's are copy-on-write.
        long("COPY_ON_WRITE", {}),
        ("MERGE_ON_READ", {}),
        long("COPY_ON_WRITE", PARTITIONED),
        long("MERGE_ON_READ", PARTITIONED),
    ],
    ids=["COPY_ON_WRITE", "MERGE_ON_READ", "COPY_ON_WRITE-partitioned", "MERGE_ON_READ-partitioned"],
)
def test_any_history_ends_as_the_model_says(
    spark: SparkSession, table_type: str, extra: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    def ran(history: History, folder: Path) -> None:
        run(spark, history, table_type, extra, folder)

    try_histories(histories(), ran, f"changes {table_type}", capsys)
