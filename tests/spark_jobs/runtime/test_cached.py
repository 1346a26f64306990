"""A cached frame: its plan has one node, its rows are computed once, and its memory is freed."""

from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.runtime.query_plans import cached

pytestmark = pytest.mark.integration


def stored(spark: SparkSession) -> int:
    context: Any = spark.sparkContext._jsc
    return int(context.getPersistentRDDs().size())


def test_what_is_asked_of_a_cached_frame_is_planned_without_what_made_it(spark: SparkSession) -> None:
    before = stored(spark)
    made = spark.range(5).select("id", F.expr("uuid()").alias("random"), (F.col("id") * 2).alias("double"))
    kept = cached(made)
    first, second = (kept.frame.filter("id > 1").collect() for _ in range(2))
    assert [row["double"] for row in first] == [4, 6, 8]
    assert first == second  # a random value is computed once
    plan: Any = kept.frame._jdf.queryExecution().analyzed()
    assert str(plan.nodeName()) == "InMemoryRelation"
    assert plan.children().isEmpty()
    joined = kept.frame.join(kept.frame.select("id", F.col("double").alias("again")), "id")
    assert all(row["double"] == row["again"] for row in joined.collect())
    assert stored(spark) == before + 1
    kept.release()
    assert stored(spark) == before
