"""Arranges the versions of rows in order: first those from the events of commits, then what the last commit left."""

from collections.abc import Collection, Sequence
from functools import reduce

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from contract.history import ENDED, VERSION, column
from spark_jobs.derived.commit_events import DELETED, NEWER, ROW
from spark_jobs.ordering.changes import KEY, comparison_form, key_of

# The row; whether it is deleted; its commit's place and its own in that commit; its values in comparison form.
_ROW, _GONE, _COMMIT, _PLACE, _STATE = "row", "gone", "commit", "place", "state"
_BEFORE_ALL = -1


def events_between(commits: Sequence[DataFrame], rows: T.StructType) -> DataFrame:
    """Return the events of `commits` (commit_events.py), oldest first, without the last one's result, as `rows` are.

    The result of earlier commits is in their newest events.
    """
    given = [_events(events, rows.fields, number) for number, events in enumerate(commits)]
    given[-1] = given[-1].filter(F.col(_PLACE) < 0)
    return reduce(DataFrame.unionByName, given)


def chained(
    between: DataFrame,
    rows: DataFrame,
    newest: DataFrame | None,
    key_fields: Sequence[str],
    *,
    ordering: str,
    ignored: Collection[str],
) -> DataFrame:
    """Return the versions of the keys that have events in `between` (`events_between`), none equal to the one before.

    `rows`: the table's after the last commit; `newest`: the history's newest versions before that, None for none. The
    result has the columns of `rows`, ENDED and VERSION; a version that ended has a delete's own values. Versions that
    differ only in `ignored` columns are equal.
    """
    fields, between = rows.schema.fields, between.withColumn(KEY, key_of([f"{_ROW}.{name}" for name in key_fields]))
    chain = between
    if newest is not None:
        before = _versions(newest, fields, _BEFORE_ALL, key_fields)
        between = _not_known(between, before, ordering)
        chain = before.join(between.select(KEY).distinct(), KEY, "left_semi").unionByName(between)
    chain = chain.unionByName(_left(between, rows, key_fields))
    compared = [field for field in fields if field.name not in ignored]
    state = F.struct(
        *(comparison_form(F.col(_ROW)[field.name], field.dataType).alias(field.name) for field in compared)
    )
    in_order = Window.partitionBy(KEY).orderBy(_COMMIT, _PLACE)
    chain = chain.withColumn(_STATE, F.when(~F.col(_GONE), state))
    is_other = ~F.col(_STATE).eqNullSafe(F.lag(_STATE).over(in_order))
    kept = chain.withColumn("is other", is_other).filter(F.col("is other") & (F.col(_COMMIT) > _BEFORE_ALL))
    number = (F.row_number().over(in_order) - 1).alias(VERSION)
    return kept.select(f"{_ROW}.*", F.col(_GONE).alias(ENDED), number)


def _events(events: DataFrame, fields: Sequence[T.StructField], commit: int) -> DataFrame:
    kind = events.schema[ROW].dataType
    assert isinstance(kind, T.StructType)  # noqa: S101  (an event's row)
    row = _row({column(name): F.col(ROW)[name] for name in kind.names}, fields)
    return events.select(row.alias(_ROW), F.col(DELETED).alias(_GONE), *_place(F.lit(commit), -F.col(NEWER)))


def _not_known(between: DataFrame, before: DataFrame, ordering: str) -> DataFrame:
    """Drop repeated events: the history already has a newer version."""
    known = before.select(KEY, F.col(_ROW)[ordering].alias("known"))
    is_newer = F.coalesce(F.col(_ROW)[ordering] >= F.col("known"), F.lit(True))
    return between.join(known, KEY, "left").filter(is_newer).drop("known")


def _left(between: DataFrame, rows: DataFrame, key_fields: Sequence[str]) -> DataFrame:
    """Return the last commit's result for the keys: their rows, or the end."""
    key = F.first(F.struct(*(F.col(_ROW)[name].alias(name) for name in key_fields))).alias("values of key")
    last = F.max(_COMMIT).alias("last commit")
    now = _versions(rows, rows.schema.fields, 0, key_fields).withColumnRenamed(_ROW, "row now")
    joined = between.groupBy(KEY).agg(key, last).join(now.select(KEY, "row now"), KEY, "left")
    is_gone = F.col("row now").isNull()
    gone = _row({name: F.col("values of key")[name] for name in key_fields}, rows.schema.fields)
    row = F.when(is_gone, gone).otherwise(F.col("row now")).alias(_ROW)
    return joined.select(row, is_gone.alias(_GONE), *_place(F.col("last commit") + 1, F.lit(0)), KEY)


def _versions(rows: DataFrame, fields: Sequence[T.StructField], commit: int, key_fields: Sequence[str]) -> DataFrame:
    row = _row({name: F.col(name) for name in rows.columns}, fields).alias(_ROW)
    versions = rows.select(row, F.lit(False).alias(_GONE), *_place(F.lit(commit), F.lit(0)))
    return versions.withColumn(KEY, key_of([f"{_ROW}.{name}" for name in key_fields]))


def _place(commit: Expression, place: Expression) -> tuple[Expression, Expression]:
    return commit.cast("int").alias(_COMMIT), place.cast("long").alias(_PLACE)


def _row(values: dict[str, Expression], fields: Sequence[T.StructField]) -> Expression:
    """Return a row of the table's columns, null where there is no value."""
    return F.struct(*(values.get(field.name, F.lit(None)).cast(field.dataType).alias(field.name) for field in fields))
