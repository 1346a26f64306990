"""The session and the job's query plans save work, and where Spark's internal API differs, the rows are the same."""

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any

import pytest
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.runtime import hadoop, query_plans, session
from spark_jobs.runtime.hadoop import Hadoop
from spark_jobs.runtime.query_plans import ReusedPlan, cached, with_fallback
from spark_jobs.runtime.session import CodegenSwitch

COMPILED = "WholeStageCodegen"


def plan(spark: SparkSession) -> str:
    return str(spark.range(3).select(F.col("id") + 1)._jdf.queryExecution().executedPlan().getClass().getSimpleName())


@pytest.mark.integration
def test_a_class_that_is_used_often_is_looked_up_once(spark: SparkSession) -> None:
    for name in session._USED_OFTEN:
        above: Any = spark._jvm
        for part in name.split("."):
            assert part in vars(above), name
            above = getattr(above, part)


@pytest.mark.integration
def test_tasks_carry_settings_without_origins_and_what_only_programs_read(spark: SparkSession) -> None:
    given_to_tasks = Hadoop(spark)
    jvm = given_to_tasks.jvm
    configuration = jvm.org.apache.hadoop.conf.Configuration(given_to_tasks.configuration)
    configuration.addResource("core-default.xml")
    configuration.addResource("yarn-default.xml")  # whether or not an earlier test has made it light
    configuration.addResource("mapred-default.xml")
    key = "fs.s3a.bucket.any.endpoint"
    given = {key: "of one bucket", "yarn.acl.enable": "true"}
    for name, value in given.items():
        configuration.set(name, value)
    before = dict(configuration.getValByRegex("."))
    assert configuration.getPropertySources(key) is not None
    given_to_tasks.configuration = configuration
    given_to_tasks.lighten()
    left = dict(configuration.getValByRegex("."))
    gone = before.keys() - left.keys()
    assert len(gone) > 500
    assert {name.partition(".")[0] for name in gone} == {"yarn", "mapreduce", "hadoop", "ha", "ipc"}
    assert left == {name: value for name, value in before.items() if name not in gone}
    assert given.items() <= left.items()
    assert {"mapreduce.input.fileinputformat.split.minsize", "mapreduce.output.fileoutputformat.compress"} <= set(left)
    assert [configuration.getPropertySources(name) for name in (key, "io.file.buffer.size")] == [None, None]
    # S3A names a bucket's own setting as the source when it copies it.
    of_bucket = jvm.org.apache.hadoop.fs.s3a.S3AUtils.propagateBucketOptions(configuration, "any")
    assert of_bucket.get("fs.s3a.endpoint") == "of one bucket"


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("dfs.namenode.handler.count", False),
        ("dfs.namenode.rpc-address", True),
        ("dfs.datanode.kerberos.principal", True),
        ("dfs.client.read.shortcircuit", True),
        ("dfs.blocksize", True),
        ("ipc.client.connect.timeout", True),
        ("hadoop.security.authentication", True),
    ],
)
def test_a_setting_that_a_client_of_hdfs_reads_stays(name: str, read: bool) -> None:
    assert (re.search(hadoop._OF_PROGRAMS, name) is None) is read


@pytest.mark.integration
def test_a_session_of_one_table_has_the_fixed_settings_and_compiles_by_itself(spark: SparkSession) -> None:
    own = spark.newSession()
    assert {key: own.conf.get(key) for key in session.FIXED} == session.FIXED
    assert own.conf.get("spark.sql.shuffle.partitions") == "2"
    compiling = CodegenSwitch(own)
    with compiling.unless(small=True):
        assert not plan(own).startswith(COMPILED)
        assert plan(spark).startswith(COMPILED)
        compiling.resume()
        assert plan(own).startswith(COMPILED)
    with pytest.raises(ZeroDivisionError), compiling.unless(small=True):
        _ = 1 / 0
    assert plan(own).startswith(COMPILED)
    with compiling.unless(small=False):
        assert plan(own).startswith(COMPILED)


@pytest.mark.integration
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


@pytest.mark.integration
def test_what_is_in_one_task_is_grouped_without_a_shuffle(spark: SparkSession) -> None:
    ask = ReusedPlan(lambda frame: frame.select("id", (F.col("id") % 2).alias("odd")))

    def plan(frame: DataFrame) -> str:
        grouped = ask(frame).groupBy("odd").count()
        assert {row["odd"]: row["count"] for row in grouped.collect()} == {0: 5, 1: 5}
        return str(grouped._jdf.queryExecution().executedPlan().toString())

    for _ in range(2):
        assert "Exchange" in plan(spark.range(10).repartition(2))
        assert "Exchange" not in plan(spark.range(10).coalesce(1))


@pytest.mark.integration
def test_a_plan_is_of_its_frames_session_whichever_thread_asks(spark: SparkSession) -> None:
    own = spark.newSession()
    ask = ReusedPlan(lambda frame: frame.select((F.col("id") * 2).alias("two")))

    def answer() -> list[int]:
        return [row["two"] for row in ask(own.range(1, 3)).collect()]

    for _ in range(2):
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(answer).result() == [2, 4]


def stored(spark: SparkSession) -> int:
    context: Any = spark.sparkContext._jsc
    return int(context.getPersistentRDDs().size())


@pytest.mark.integration
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


@pytest.mark.integration
@pytest.mark.parametrize("small", [False, True])
def test_only_tasks_on_a_large_cached_frame_carry_what_made_it(spark: SparkSession, small: bool) -> None:
    kept = cached(spark.range(5).select((F.col("id") * 2).alias("double")), small=small)
    assert kept.frame.count() == 5
    jvm: Any = spark._jvm
    rows: Any = kept.frame._jdf.queryExecution().analyzed().cacheBuilder().cachedColumnBuffers()
    assert ("ParallelCollectionRDD" not in str(rows.toDebugString())) is small
    jvm.org.apache.spark.SparkEnv.get().blockManager().removeRdd(rows.id())
    with pytest.raises(Py4JJavaError, match="Checkpoint block") if small else nullcontext():
        assert kept.frame.count() == 5
    kept.release()


@pytest.fixture(autouse=True)
def _nothing_is_strange(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_plans, "_strange", set())


@pytest.mark.parametrize("error", [Py4JError("Method copy([]) does not exist"), TypeError("'JavaPackage'")])
def test_what_isnt_there_is_tried_once_and_said_once(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    tried = []

    def inner() -> str:
        tried.append(1)
        raise error

    assert [with_fallback("planning", inner, lambda: "ordinary") for _ in range(2)] == ["ordinary"] * 2
    assert len(tried) == 1
    assert capsys.readouterr().err.splitlines() == [f"planning is slower: this Spark lacks an internal API: {error}"]
    assert with_fallback("caching", lambda: "inner", lambda: "ordinary") == "inner"


@pytest.mark.integration
def test_what_fails_in_java_is_raised(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    with pytest.raises(Py4JJavaError, match="NoSuchElementException"):
        with_fallback("planning", lambda: jvm.java.util.Optional.empty().get(), lambda: 0)


@pytest.mark.integration
def test_another_spark_gives_the_same_rows(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = query_plans.ReusedPlan(lambda frame: frame.select((F.col("id") * 2).alias("two")))
    monkeypatch.setattr(query_plans, "_of_rows", lambda _spark, rows, _columns: rows.noSuchMethod())
    monkeypatch.setattr(query_plans, "_one_node", lambda made, _small: made._jdf.noSuchMethod())
    kept = query_plans.cached(ask(spark.range(1, 4)))
    assert [row["two"] for row in kept.frame.collect()] == [2, 4, 6]
    assert query_plans._strange == {"planning", "caching"}
    kept.release()
