"""The session's own economy."""

from typing import Any

import pytest
from pyspark.sql import SparkSession


@pytest.mark.integration
def test_a_class_that_is_used_often_is_looked_up_once(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    for name in ("functions", "PythonUtils", "org"):
        assert getattr(jvm, name) is getattr(jvm, name), name
