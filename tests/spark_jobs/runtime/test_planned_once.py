"""A query's plan comes from the first frame, and answers for each frame's own rows."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.runtime.query_plans import ReusedPlan
from spark_jobs.runtime.session import CodegenSwitch

pytestmark = pytest.mark.integration


def test_a_plan_is_made_once_for_the_same_columns_compiled_and_interpreted(spark: SparkSession) -> None:
    planned = []

    def doubled(frame: DataFrame) -> DataFrame:
        planned.append(frame.columns)
        return frame.select("*", (F.col("id") * 2).alias("two")).filter("two > 2").select("two", "name")

    ask = ReusedPlan(doubled)

    def answer(first: int) -> list[tuple[int, str]]:
        frame = spark.range(first, first + 3).select("id", F.concat(F.lit("n"), "id").alias("name")).coalesce(1)
        return [(row["two"], row["name"]) for row in ask(frame.select("*", F.lit("x").alias("more"))).collect()]

    expected = {0: [(4, "n2")], 10: [(20, "n10"), (22, "n11"), (24, "n12")]}
    assert {first: answer(first) for first in expected} == expected
    assert len(planned) == 1
    with CodegenSwitch(spark).unless(small=True):
        assert {first: answer(first) for first in expected} == expected
    assert len(planned) == 2
    assert answer(10) == expected[10]
    assert [row["two"] for row in ask(spark.range(2, 3).withColumn("name", F.lit(None).cast("string"))).collect()] == [
        4
    ]
    assert planned == [["id", "name", "more"], ["id", "name", "more"], ["id", "name"]]


def test_what_is_in_one_task_is_grouped_without_a_shuffle(spark: SparkSession) -> None:
    ask = ReusedPlan(lambda frame: frame.select("id", (F.col("id") % 2).alias("odd")))

    def plan(frame: DataFrame) -> str:
        grouped = ask(frame).groupBy("odd").count()
        assert {row["odd"]: row["count"] for row in grouped.collect()} == {0: 5, 1: 5}
        return str(grouped._jdf.queryExecution().executedPlan().toString())

    for _ in range(2):
        assert "Exchange" in plan(spark.range(10).repartition(2))
        assert "Exchange" not in plan(spark.range(10).coalesce(1))


def test_a_plan_is_of_its_frames_session_whichever_thread_asks(spark: SparkSession) -> None:
    own = spark.newSession()
    ask = ReusedPlan(lambda frame: frame.select((F.col("id") * 2).alias("two")))

    def answer() -> list[int]:
        return [row["two"] for row in ask(own.range(1, 3)).collect()]

    for _ in range(2):
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(answer).result() == [2, 4]
