"""Orders the changes of a batch: one row per key, the newest, and no event older than a remembered delete."""

from collections.abc import Mapping, Sequence

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.schema import IS_DELETED

KEY = "_event_key"


def with_key(decoded: DataFrame, key_fields: Sequence[str]) -> DataFrame:
    """Add KEY, the key's values as one unambiguous text (a JSON array), to decoded lines that are events and fit."""
    values = [F.col(f"row.{name}").cast("string") for name in key_fields]
    return decoded.filter("reason IS NULL AND NOT blank").withColumn(KEY, F.to_json(F.array(*values)))


def without_deleted_before(events: DataFrame, tombstones: DataFrame, *, ordering: str) -> DataFrame:
    """Drop the events that aren't newer than the remembered delete of their key.

    `tombstones` has KEY and `deleted_at`, the delete's ordering value as text.
    """
    value = F.col(f"row.{ordering}")
    ordering_type = events.select(value.alias("value")).schema["value"].dataType
    joined = events.join(F.broadcast(tombstones), KEY, "left")
    older = value <= F.col("deleted_at").cast(ordering_type)
    resurrects = F.coalesce(older & ~F.col("deleted"), F.lit(False))
    return joined.filter(~resurrects).drop("deleted_at")


def keep_newest(events: DataFrame, *, ordering: str) -> DataFrame:
    """Keep, per KEY, the event with the highest ordering value; of equal ones the later in the source."""
    newest_first = Window.partitionBy(KEY).orderBy(*_newest_first(ordering))
    ranked = events.withColumn("_rank", F.row_number().over(newest_first))
    return ranked.filter(F.col("_rank") == 1).drop("_rank")


def table_rows(events: DataFrame) -> DataFrame:
    """Select the table's columns of folded events: the row, and Hudi's flag for deletes."""
    return events.select("row.*", F.col("deleted").alias(IS_DELETED))


def deletes(events: DataFrame, *, ordering: str) -> DataFrame:
    """Select key and ordering value, as text, of the deletes among folded events."""
    return events.filter("deleted").select(KEY, F.col(f"row.{ordering}").cast("string").alias("deleted_at"))


def _newest_first(ordering: str) -> list[Expression]:
    return [F.desc(f"row.{ordering}"), F.desc("tie"), F.desc("block"), F.desc("number")]


def restore_placeholders(
    events: DataFrame, stored: DataFrame | None, columns: Mapping[str, T.DataType], *, ordering: str
) -> DataFrame:
    """Put the last known value in place of each TOAST placeholder: an earlier event's of this batch, else the table's.

    `columns` are those that placeholders came for, `stored` is KEY and `columns` of the table's rows, None without a
    table. `placeholders` keeps the columns that no value was found for; deletes need none.
    """
    if stored is None:
        absent = events.select(KEY).limit(0)
        stored = absent.select(KEY, *(F.lit(None).cast(kind).alias(name) for name, kind in columns.items()))
    before = stored.select(KEY, F.struct(*columns).alias("_stored"))
    # Only a few keys have placeholders; the rest of the batch must not wait for the sort below.
    affected = events.filter(F.size("placeholders") > 0).select(KEY).distinct()
    untouched = events.join(F.broadcast(affected), KEY, "left_anti")
    history = events.join(F.broadcast(affected), KEY, "left_semi").join(before, KEY, "left")
    window = Window.partitionBy(KEY).orderBy(f"row.{ordering}", "tie", "block", "number")
    for name in columns:
        given = F.when(~F.array_contains("placeholders", name), F.struct(F.col(f"row.{name}").alias("value")))
        known = F.last(given, ignorenulls=True).over(window.rowsBetween(Window.unboundedPreceding, Window.currentRow))
        value = F.coalesce(known["value"], F.when(known.isNull(), F.col(f"_stored.{name}")))
        history = history.withColumn(f"_restored_{name}", value)
    for name in columns:
        missing = F.array_contains("placeholders", name) & F.col(f"_restored_{name}").isNotNull()
        history = history.withColumn(
            "placeholders", F.when(missing, F.array_remove("placeholders", name)).otherwise(F.col("placeholders"))
        ).withColumn("row", F.col("row").withField(name, F.col(f"_restored_{name}")))
    history = history.withColumn("placeholders", F.when(~F.col("deleted"), F.col("placeholders")).otherwise(F.array()))
    return untouched.unionByName(history.select(*untouched.columns))
