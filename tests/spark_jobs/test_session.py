"""The session's own economy."""

from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs import session
from spark_jobs.session import Compiling

pytestmark = pytest.mark.integration
COMPILED = "WholeStageCodegen"


def plan(spark: SparkSession) -> str:
    return str(spark.range(3).select(F.col("id") + 1)._jdf.queryExecution().executedPlan().getClass().getSimpleName())


def test_a_class_that_is_used_often_is_looked_up_once(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    for name in ("functions", "PythonUtils", "org"):
        assert getattr(jvm, name) is getattr(jvm, name), name


def test_a_session_of_one_table_has_the_fixed_settings_and_compiles_by_itself(spark: SparkSession) -> None:
    own = spark.newSession()
    assert {key: own.conf.get(key) for key in session._FIXED} == session._FIXED
    assert own.conf.get("spark.sql.shuffle.partitions") == "2"
    compiling = Compiling(own)
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
