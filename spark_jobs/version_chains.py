"""Puts the versions of rows that one commit had one after the other: those that it passed over, then what it left."""

from collections.abc import Collection, Sequence

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from contract.history import ENDED, VERSION
from spark_jobs.changes import KEY, key_of
from spark_jobs.same_values import comparable
from spark_jobs.superseded import DELETED, NEWER, ROW

# The row; whether it is gone; its place among its key's, which ends with 0; its values as they are compared.
_ROW, _GONE, _PLACE, _STATE = "row", "gone", "place", "state"
_BEFORE_ALL = -(1 << 62)


def chained(
    superseded: DataFrame,
    rows: DataFrame,
    newest: DataFrame | None,
    key_fields: Sequence[str],
    *,
    ordering: str,
    ignored: Collection[str],
) -> DataFrame:
    """Return the versions of the keys that have `superseded` ones (superseded.py), none like the one before it.

    `rows` are the table's after the commit, `newest` the history's newest versions of what was there before, None for
    none. The result has the columns of `rows`, ENDED and VERSION; a version that ended has a delete's own values.
    Versions that differ in `ignored` columns alone are alike.
    """
    fields = rows.schema.fields
    older, versions = _older(superseded, fields, key_fields), []
    if newest is not None:
        before = _versions(newest, fields, F.lit(_BEFORE_ALL), key_fields)
        older = _not_known(older, before, ordering)
        versions = [before.join(older.select(KEY).distinct(), KEY, "left_semi")]
    chain = _left(older, rows, key_fields).unionByName(older)
    for each in versions:
        chain = chain.unionByName(each)
    in_order = Window.partitionBy(KEY).orderBy(_PLACE)
    compared = [field for field in fields if field.name not in ignored]
    state = F.struct(*(comparable(F.col(_ROW)[field.name], field.dataType).alias(field.name) for field in compared))
    chain = chain.withColumn(_STATE, F.when(~F.col(_GONE), state))
    is_other = ~F.col(_STATE).eqNullSafe(F.lag(_STATE).over(in_order))
    kept = chain.withColumn("is other", is_other).filter(F.col("is other") & (F.col(_PLACE) > _BEFORE_ALL))
    number = (F.row_number().over(in_order) - 1).alias(VERSION)
    return kept.select(f"{_ROW}.*", F.col(_GONE).alias(ENDED), number)


def _older(superseded: DataFrame, fields: Sequence[T.StructField], key_fields: Sequence[str]) -> DataFrame:
    kind = superseded.schema[ROW].dataType
    assert isinstance(kind, T.StructType)  # noqa: S101  (an event's row)
    row = _row({name: F.col(ROW)[name] for name in kind.names}, fields)
    versions = superseded.select(
        row.alias(_ROW), F.col(DELETED).alias(_GONE), (-F.col(NEWER)).cast("long").alias(_PLACE)
    )
    return _with_key(versions, key_fields)


def _not_known(older: DataFrame, before: DataFrame, ordering: str) -> DataFrame:
    """Drop what was sent again: the version that the history has is newer."""
    known = before.select(KEY, F.col(_ROW)[ordering].alias("known"))
    is_newer = F.coalesce(F.col(_ROW)[ordering] >= F.col("known"), F.lit(True))
    return older.join(known, KEY, "left").filter(is_newer).drop("known")


def _left(older: DataFrame, rows: DataFrame, key_fields: Sequence[str]) -> DataFrame:
    """Return what the commit left of the keys: their rows, or the end."""
    key = F.first(F.struct(*(F.col(_ROW)[name].alias(name) for name in key_fields))).alias("values of key")
    now = _versions(rows, rows.schema.fields, F.lit(0), key_fields).withColumnRenamed(_ROW, "row now")
    joined = older.groupBy(KEY).agg(key).join(now.select(KEY, "row now"), KEY, "left")
    is_gone = F.col("row now").isNull()
    gone = _row({name: F.col("values of key")[name] for name in key_fields}, rows.schema.fields)
    row = F.when(is_gone, gone).otherwise(F.col("row now")).alias(_ROW)
    return joined.select(row, is_gone.alias(_GONE), F.lit(0).cast("long").alias(_PLACE), KEY)


def _versions(
    rows: DataFrame, fields: Sequence[T.StructField], place: Expression, key_fields: Sequence[str]
) -> DataFrame:
    row = _row({name: F.col(name) for name in rows.columns}, fields).alias(_ROW)
    return _with_key(rows.select(row, F.lit(False).alias(_GONE), place.cast("long").alias(_PLACE)), key_fields)


def _row(values: dict[str, Expression], fields: Sequence[T.StructField]) -> Expression:
    """Return a row of the table's columns, null where there is no value."""
    return F.struct(*(values.get(field.name, F.lit(None)).cast(field.dataType).alias(field.name) for field in fields))


def _with_key(versions: DataFrame, key_fields: Sequence[str]) -> DataFrame:
    return versions.withColumn(KEY, key_of([f"{_ROW}.{name}" for name in key_fields]))
