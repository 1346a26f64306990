"""The session saves work."""

from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.runtime import session
from spark_jobs.runtime.hadoop import Hadoop
from spark_jobs.runtime.session import CodegenSwitch

pytestmark = pytest.mark.integration
COMPILED = "WholeStageCodegen"


def plan(spark: SparkSession) -> str:
    return str(spark.range(3).select(F.col("id") + 1)._jdf.queryExecution().executedPlan().getClass().getSimpleName())


def test_a_class_that_is_used_often_is_looked_up_once(spark: SparkSession) -> None:
    for name in session._USED_OFTEN:
        above: Any = spark._jvm
        for part in name.split("."):
            assert part in vars(above), name
            above = getattr(above, part)


def test_tasks_carry_settings_without_where_each_is_from(spark: SparkSession) -> None:
    hadoop = Hadoop(spark)
    configuration = hadoop.jvm.org.apache.hadoop.conf.Configuration(hadoop.configuration)
    key = "fs.s3a.bucket.any.endpoint"
    configuration.set(key, "of one bucket")
    before = configuration.getValByRegex(".")
    assert len(before) > 100
    assert configuration.getPropertySources(key) is not None
    hadoop.configuration = configuration
    hadoop.forget_sources()
    assert configuration.getValByRegex(".").equals(before)
    assert [configuration.getPropertySources(name) for name in (key, "io.file.buffer.size")] == [None, None]
    # S3A names a bucket's own setting as the source when it copies it.
    of_bucket = hadoop.jvm.org.apache.hadoop.fs.s3a.S3AUtils.propagateBucketOptions(configuration, "any")
    assert of_bucket.get("fs.s3a.endpoint") == "of one bucket"


def test_a_session_of_one_table_has_the_fixed_settings_and_compiles_by_itself(spark: SparkSession) -> None:
    own = spark.newSession()
    assert {key: own.conf.get(key) for key in session._FIXED} == session._FIXED
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
