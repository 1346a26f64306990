"""The events behind each commit, since a commit keeps only the last of several changes of a row.

For a table with a history, its job writes them next to the table before each commit; the history reads them from there.
Their name combines the instant that the commit will follow with its progress. So a batch that comes again overwrites
the same files completely, and no commit names the leftovers of a crash.
"""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from functools import reduce

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from contract.history import ENDED, VERSION, column
from spark_jobs.ordering import changes
from spark_jobs.ordering.changes import KEY, comparison_form, key_of
from spark_jobs.runtime.hadoop import Hadoop
from spark_jobs.table.commits import Carried

# Stored columns: the row, whether it is a delete, and how many newer ones of its key the batch has.
ROW, DELETED, NEWER = "row", "deleted", "newer"
_DIGEST_DIGITS = 32
# Stands for the instant before a table's first commit; sorts before each instant.
_NONE = "0"
# A failed write is repeated in full, so files needn't be renamed twice, which S3 can only do by copying.
_WRITTEN_ONCE = {"mapreduce.fileoutputcommitter.algorithm.version": "2"}


class CommitEvents:
    """The folder of one table: `path` is sibling_path's (table_settings.py)."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        self._hadoop = Hadoop(spark)
        self._path = path

    def put(self, events: DataFrame, *, ordering: str, after: str | None, progress: str) -> None:
        """Store a batch's settled events.

        `after`: the instant before the batch's commit, None for the table's first; `progress`: the batch's own.
        """
        numbered = changes.numbered(events, ordering=ordering, newer=NEWER).select(ROW, DELETED, NEWER)
        folder = f"{self._path}/{after or _NONE}-{_digest(progress)}"
        numbered.write.mode("overwrite").options(**_WRITTEN_ONCE).parquet(folder)

    def names(self) -> list[str]:
        """Return the names of all stored batches."""
        return list(self._hadoop.sizes_in(self._path))

    def read(self, name: str) -> DataFrame:
        """Return the events stored under a name."""
        return self._spark.read.parquet(f"{self._path}/{name}")

    def forget_before(self, instant: str, names: Iterable[str]) -> None:
        """Remove those of `names` that no commit after an instant can name."""
        for name in names:
            if _follows(name) < instant:
                self._hadoop.delete(f"{self._path}/{name}")


def named_by(names: Sequence[str], commits: Iterable[Carried]) -> dict[str, str]:
    """Return the names that commits refer to, by the commit's instant, in the commits' order.

    A batch with the commit's progress that follows an earlier instant than the commit was never committed: skip it.
    """
    found = {commit.instant: _named(names, commit) for commit in commits}
    return {instant: name for instant, name in found.items() if name is not None}


def _named(names: Iterable[str], commit: Carried) -> str | None:
    end = f"-{_digest(commit.progress)}"
    its = (name for name in names if name.endswith(end) and commit.since <= _follows(name) < commit.instant)
    return max(its, default=None)


def _follows(name: str) -> str:
    return name.partition("-")[0]


def _digest(progress: str) -> str:
    return hashlib.sha256(progress.encode()).hexdigest()[:_DIGEST_DIGITS]


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
