"""Finds the types of fields that events have and the table doesn't."""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.schema import inferred_type


def infer_columns(spark: SparkSession, lines: DataFrame, names: Sequence[str]) -> T.StructType:
    """Return the new columns for fields `names` as the lines carry them, those with nothing but nulls left out.

    Whole numbers become long, others double, objects and arrays JSON text. Days and timestamps look like numbers and
    text here: whoever wants them as dates describes the field in the Avro file first.
    """
    keys = F.json_object_keys("line")
    concerned = lines.select("line").filter(F.arrays_overlap(keys, F.array(*map(F.lit, names))))
    jvm: Any = spark._jvm
    # By way of Java: pyspark itself would pass each line through a Python process.
    texts = getattr(concerned._jdf, "as")(jvm.org.apache.spark.sql.Encoders.STRING())
    found = DataFrame(spark._jsparkSession.read().json(texts), spark).schema
    types = {field.name: inferred_type(field.dataType) for field in found.fields if field.name in names}
    return T.StructType([T.StructField(name, kind) for name, kind in sorted(types.items()) if kind is not None])
