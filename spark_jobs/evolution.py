"""Decides which fields that events have and the table doesn't become columns, and of which type."""

from collections.abc import Collection, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.schema import inferred_type


def new_names(known: Collection[str], sets: Collection[tuple[str, ...]], *, room: int) -> list[str]:
    """Return the names that become columns: of each event's unknown fields, in `sets`, all or none.

    Names that differ by case only can't both be columns; what comes first is the same whichever order events came in,
    lower case before upper. `room` is how many columns may be added.
    """
    added: list[str] = []
    taken = {name.lower() for name in known}
    for swapped in sorted(tuple(sorted(map(str.swapcase, names))) for names in sets):
        names = [name for name in map(str.swapcase, swapped) if name not in added]
        if len(added) + len(names) <= room and not taken & {name.lower() for name in names}:
            added += names
            taken |= {name.lower() for name in names}
    return added


def infer_columns(spark: SparkSession, events: DataFrame, names: Sequence[str]) -> T.StructType:
    """Return the new columns for fields `names` as the decoded events carry them.

    Whole numbers become long, others double, objects and arrays JSON text. Days and timestamps look like numbers and
    text here: whoever wants them as dates describes the field in the Avro file first.
    """
    only_these = F.size(F.array_except("unknown", F.array(*map(F.lit, names)))) == 0
    concerned = events.filter((F.size("unknown") > 0) & only_these).select("line")
    jvm: Any = spark._jvm
    # By way of Java: pyspark itself would pass each line through a Python process.
    texts = getattr(concerned._jdf, "as")(jvm.org.apache.spark.sql.Encoders.STRING())
    found = {
        field.name: inferred_type(field.dataType)
        for field in DataFrame(spark._jsparkSession.read().json(texts), spark).schema
    }
    # Spark finds no type for empty texts and objects, which are values all the same.
    return T.StructType([T.StructField(name, found.get(name) or T.StringType()) for name in sorted(names)])
