"""Where Spark's internal API differs, the ordinary way gives the same rows."""

from typing import Any

import pytest
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.runtime import query_plans
from spark_jobs.runtime.query_plans import with_fallback


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
    monkeypatch.setattr(query_plans, "_one_node", lambda made: made._jdf.noSuchMethod())
    kept = query_plans.cached(ask(spark.range(1, 4)))
    assert [row["two"] for row in kept.frame.collect()] == [2, 4, 6]
    assert query_plans._strange == {"planning", "caching"}
    kept.release()
