"""Decides which fields that events have and the table doesn't become columns, and of which type."""

from collections.abc import Collection, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.decode import CORRUPT
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

    Numbers become double, since a fraction may follow a whole number; long where no double is that whole number.
    Objects and arrays become JSON text. Days and timestamps look like numbers and text here: whoever wants them as
    dates describes the field in the Avro file first.
    """
    only_these = F.size(F.array_except("unknown", F.array(*map(F.lit, names)))) == 0
    concerned = events.filter((F.size("unknown") > 0) & only_these).select("line")
    jvm: Any = spark._jvm
    # By way of Java: pyspark itself would pass each line through a Python process.
    texts = getattr(concerned._jdf, "as")(jvm.org.apache.spark.sql.Encoders.STRING())
    reader = spark._jsparkSession.read().option("columnNameOfCorruptRecord", CORRUPT)
    found = DataFrame(reader.json(texts), spark)
    kinds = {field.name: field.dataType for field in found.schema.fields if field.name in names}
    large = _beyond_double(found, [name for name, kind in kinds.items() if isinstance(kind, T.LongType)])
    types = {name: inferred_type(kind, fits_double=name not in large) for name, kind in kinds.items()}
    # Spark finds no type for empty texts and objects, which are values all the same.
    return T.StructType([T.StructField(name, types.get(name) or T.StringType()) for name in sorted(names)])


def _beyond_double(values: DataFrame, names: Sequence[str]) -> set[str]:
    """Return the columns of whole numbers that have one beyond 2^53, up to which each is a double."""
    if not names:
        return set()
    limit = 2**53
    beyond = [F.max((F.col(name) > limit) | (F.col(name) < -limit)).alias(name) for name in names]
    [row] = values.agg(*beyond).collect()
    return {name for name in names if row[name]}
