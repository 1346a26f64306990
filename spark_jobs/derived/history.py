"""Keeps a history table, each version of a table's rows, and the events behind each commit (docs/decisions/0093).

It processes the table's commits one by one. Rows that aren't the newest version of their key become one; a deleted key
ends its newest version with a row of its own. For a table captured from the log, its job writes the events of each
commit next to the table: they supply the versions that a commit skips, and those of commits that have waited too long.
The history is append-only: a version holds until the next one begins, which a query computes.
"""

import hashlib
import json
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import ExitStack
from functools import reduce
from typing import Any

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from contract.events import ADDED_TYPES, DELETED, QUERIED_TYPES, READ_MS, SOURCE_TIME_MS
from contract.history import COLUMNS, COMMIT, ENDED, VALID_FROM, VERSION, column
from spark_jobs.derived import differences
from spark_jobs.options.settings import HistorySettings, Settings
from spark_jobs.ordering import changes
from spark_jobs.ordering.changes import KEY, filled, key_of
from spark_jobs.runtime.hadoop import Hadoop
from spark_jobs.runtime.metrics import CommitReport
from spark_jobs.table.commits import Carried, Timeline
from spark_jobs.table.kept_table import META_PREFIX, MadeTable, as_of, report

# Along with the row, an event is stored with whether it is a delete, and how many newer ones of its key the batch has.
_DELETED, _NEWER = "deleted", "newer"
_DIGEST_DIGITS = 32
# Stands for the instant before a table's first commit; sorts before each instant.
_NONE = "0"
# A failed write is repeated in full, so files needn't be renamed twice, which S3 can only do by copying.
_WRITTEN_ONCE = {"mapreduce.fileoutputcommitter.algorithm.version": "2"}


class CommitEvents:
    """The events behind each commit, since a commit keeps only the last of several changes of a row.

    `path` is the table's folder, sibling_path's (table_settings.py). The events' name combines the instant that the
    commit will follow with its progress. So a batch that comes again overwrites the same files completely, and no
    commit names the leftovers of a crash.
    """

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        self._hadoop = Hadoop(spark)
        self._path = path

    def put(self, events: DataFrame, *, ordering: str, after: str | None, progress: str) -> None:
        """Store a batch's settled events.

        `after`: the instant before the batch's commit, None for the table's first; `progress`: the batch's own.
        """
        numbered = changes.numbered(events, ordering=ordering, newer=_NEWER).select(_ROW, _DELETED, _NEWER)
        folder = f"{self._path}/{after or _NONE}-{_digest(progress)}"
        numbered.write.mode("overwrite").options(**_WRITTEN_ONCE).parquet(folder)

    def names(self) -> list[str]:
        return list(self._hadoop.sizes_in(self._path))

    def read(self, name: str) -> DataFrame:
        return self._spark.read.parquet(f"{self._path}/{name}")

    def forget(self, last: str, names: Iterable[str]) -> None:
        """Remove those of `names` that only the commit of `last`, or an earlier one, can name."""
        for name in names:
            if _follows(name) <= _follows(last):
                self._hadoop.delete(f"{self._path}/{name}")


def named_by(names: Sequence[str], commits: Iterable[Carried]) -> dict[str, str]:
    """Return the names that commits refer to, by the commit's instant, in the commits' order.

    A batch with the commit's progress that follows an earlier instant than the commit was never committed: skip it.
    """
    found: dict[str, str] = {}
    for commit in commits:
        end = f"-{_digest(commit.progress)}"
        its = [name for name in names if name.endswith(end) and commit.since <= _follows(name) < commit.instant]
        found |= {commit.instant: max(its)} if its else {}
    return found


def _follows(name: str) -> str:
    return name.partition("-")[0]


def _digest(progress: str) -> str:
    return hashlib.sha256(progress.encode()).hexdigest()[:_DIGEST_DIGITS]


# The row; whether it is deleted; its commit's place and its own in that commit; its values in comparison form.
_ROW, _GONE, _COMMIT, _PLACE, _STATE = "row", "gone", "commit", "place", "state"
_BEFORE_ALL = -1


def events_between(commits: Sequence[DataFrame], rows: T.StructType) -> DataFrame:
    """Return the events of `commits`, oldest first, without the last one's result, as `rows` are.

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
    in_order = Window.partitionBy(KEY).orderBy(_COMMIT, _PLACE)
    chain = chain.withColumn(_STATE, F.when(~F.col(_GONE), differences.state(_ROW, compared)))
    is_other = ~F.col(_STATE).eqNullSafe(F.lag(_STATE).over(in_order))
    kept = chain.withColumn("is other", is_other).filter(F.col("is other") & (F.col(_COMMIT) > _BEFORE_ALL))
    number = (F.row_number().over(in_order) - 1).alias(VERSION)
    return kept.select(f"{_ROW}.*", F.col(_GONE).alias(ENDED), number)


def _events(events: DataFrame, fields: Sequence[T.StructField], commit: int) -> DataFrame:
    kind = events.schema[_ROW].dataType
    assert isinstance(kind, T.StructType)  # noqa: S101  (an event's row)
    row = filled({column(name): F.col(_ROW)[name] for name in kind.names}, fields)
    return events.select(
        F.struct(*row).alias(_ROW), F.col(_DELETED).alias(_GONE), *_place(F.lit(commit), -F.col(_NEWER))
    )


def _not_known(between: DataFrame, before: DataFrame, ordering: str) -> DataFrame:
    """Drop repeated events: the history, or an event before it, already has a newer version."""
    at, in_order = F.col(_ROW)[ordering], Window.partitionBy(KEY).orderBy(_COMMIT, _PLACE)
    earlier = F.max(at).over(in_order.rowsBetween(Window.unboundedPreceding, -1))
    found = between.join(before.select(KEY, at.alias("known")), KEY, "left")
    found = found.withColumn("known", F.greatest("known", earlier))
    return found.filter(F.coalesce(at >= F.col("known"), F.lit(True))).drop("known")


def _left(between: DataFrame, rows: DataFrame, key_fields: Sequence[str]) -> DataFrame:
    """Return the last commit's result for the keys: their rows, or the end."""
    key = F.first(F.struct(*(F.col(_ROW)[name].alias(name) for name in key_fields))).alias("values of key")
    last = F.max(_COMMIT).alias("last commit")
    now = _versions(rows, rows.schema.fields, 0, key_fields).withColumnRenamed(_ROW, "row now")
    joined = between.groupBy(KEY).agg(key, last).join(now.select(KEY, "row now"), KEY, "left")
    is_gone = F.col("row now").isNull()
    gone = filled({name: F.col("values of key")[name] for name in key_fields}, rows.schema.fields)
    row = F.when(is_gone, F.struct(*gone)).otherwise(F.col("row now")).alias(_ROW)
    return joined.select(row, is_gone.alias(_GONE), *_place(F.col("last commit") + 1, F.lit(0)), KEY)


def _versions(rows: DataFrame, fields: Sequence[T.StructField], commit: int, key_fields: Sequence[str]) -> DataFrame:
    row = filled({name: F.col(name) for name in rows.columns}, fields)
    versions = rows.select(F.struct(*row).alias(_ROW), F.lit(False).alias(_GONE), *_place(F.lit(commit), F.lit(0)))
    return versions.withColumn(KEY, key_of([f"{_ROW}.{name}" for name in key_fields]))


def _place(commit: Expression, place: Expression) -> tuple[Expression, Expression]:
    return commit.cast("int").alias(_COMMIT), place.cast("long").alias(_PLACE)


# Fewer commits than Hudi's cleaner keeps whole (hoodie.cleaner.commits.retained, 10 by default).
_READABLE_COMMITS = 8
# Columns about how a row travelled: reading a row again with the same values makes no new version.
_HOW_IT_CAME = frozenset((*ADDED_TYPES, *QUERIED_TYPES, DELETED))
_AGE = "age of version"


class HistoryTable(MadeTable):
    """Brings the versions of a table's commits into its history, one commit at a time."""

    def __init__(self, spark: SparkSession, settings: Settings, **shared: Any) -> None:
        super().__init__(spark, settings, **shared)
        assert isinstance(settings.source, HistorySettings)  # noqa: S101  (table_job.py puts the two together)
        self._path = settings.source.path
        self._keys = settings.source.key_fields
        self._of = Timeline(Hadoop(spark), self._path)
        self._events = CommitEvents(spark, settings.source.events_path)
        self._read_to = ""

    def _go_on(self, progress: Any) -> None:
        self._read_to = "" if progress is None else str(progress["history_to"])

    def run_batch(self) -> CommitReport | None:
        """Append the versions of the next commit that has some; None when there is none."""
        while True:
            started = time.monotonic()
            instants = self._next()
            if not instants:
                return None
            with self._turn():
                # Before its turn came the table may have had commits, and been cleaned of those before.
                instants = self._next() or instants
                found = self._brought(instants, started)
            self._read_to = instants[-1]
            if found is not None:
                return found

    def _next(self) -> tuple[str, ...]:
        """Return the next commits to take together: the last one's files are certainly whole."""
        waiting = self._of.instants_after(self._read_to)
        if not self._read_to:
            return tuple(waiting[-1:])
        whole = self._of.first_whole() if waiting else ""
        gone = sum(instant < whole for instant in waiting)
        return tuple(waiting[: max(len(waiting) - _READABLE_COMMITS, gone) + 1])

    def _brought(self, instants: Sequence[str], started: float) -> CommitReport | None:
        instant, stored = instants[-1], self._rows()
        schema = None if stored is None else stored.schema
        rows = as_of(self._spark, self._path, instant)
        rows = rows.select(*(F.col(name).alias(column(name)) for name in rows.columns))
        rows = differences.writable(rows, self._keys, schema, reserved=COLUMNS)
        newest = None if stored is None else self._newest(stored)
        put_away = self._events.names()
        named = self._named(instants, put_away)
        chains = self._chains(named, rows, newest)
        with ExitStack() as cached:
            if chains is not None:
                cached.callback(chains.unpersist)
            difference = differences.compare(rows, newest, self._keys, ignored=_HOW_IT_CAME)
            cached.callback(difference.release)
            found = difference.to_append(self._keys, ENDED).withColumn(VERSION, F.lit(0))
            is_new = difference.count > 0
            if chains is not None and not chains.isEmpty():
                found, is_new = self._without(found, chains).unionByName(chains), True
            self._of.refuse_cleaned(instant)
            commit = self._write(self._dated(found, instant), json.dumps({"history_to": instant})) if is_new else None
        if named:
            self._events.forget(named[-1], put_away)
        return None if commit is None else report(commit, commit.inserts + commit.updates, 1, started)

    def _named(self, instants: Sequence[str], put_away: Sequence[str]) -> list[str]:
        if not put_away and len(instants) == 1:
            return []
        carried = self._of.carried(self._read_to or instants[-1], instants[-1])
        named = named_by(put_away, carried)
        if lacking := sum(commit.instant not in named for commit in carried if commit.instant != instants[-1]):
            self._log(f"skipped {lacking} commits whose files may be gone")
        return list(named.values())

    def _chains(self, named: Sequence[str], rows: DataFrame, newest: DataFrame | None) -> DataFrame | None:
        """Return, cached, the versions of rows with several since the newest ones; None without any."""
        if not named:
            return None
        between = events_between([self._events.read(name) for name in named], rows.schema)
        if between.isEmpty():
            return None
        ordering = column(self._of.ordering_field())
        return chained(between, rows, newest, self._keys, ordering=ordering, ignored=_HOW_IT_CAME).persist()

    def _without(self, versions: DataFrame, others: DataFrame) -> DataFrame:
        keyed = versions.withColumn(KEY, key_of(self._keys))
        return keyed.join(others.select(key_of(self._keys).alias(KEY)).distinct(), KEY, "left_anti").drop(KEY)

    def _newest(self, stored: DataFrame) -> DataFrame:
        newest_first = Window.partitionBy(*self._keys).orderBy(F.desc(COMMIT), F.desc(VERSION))
        numbered = stored.withColumn(_AGE, F.row_number().over(newest_first))
        newest = numbered.filter((F.col(_AGE) == 1) & ~F.col(ENDED))
        others = [name for name in newest.columns if name in (_AGE, *COLUMNS) or name.startswith(META_PREFIX)]
        return newest.drop(*others)

    def _dated(self, versions: DataFrame, instant: str) -> DataFrame:
        """Add each version's start: when the row was read or changed, else the commit's time; an ended row is empty.

        A delete has its own event's time if another event followed within the commit.
        """
        timeline = Hadoop(self._spark).jvm.org.apache.hudi.common.table.timeline.HoodieActiveTimeline
        ms = int(timeline.parseDateFromInstantTime(instant).getTime())
        came = [F.col(name) for name in (READ_MS, SOURCE_TIME_MS) if name in versions.columns]
        begun = F.timestamp_millis(F.coalesce(*came, F.lit(ms)).cast("long"))
        kept = (*self._keys, ENDED, VERSION)
        values = [F.col(name) if name in kept else F.when(~F.col(ENDED), F.col(name)) for name in versions.columns]
        named = [value.alias(name) for name, value in zip(versions.columns, values, strict=True)]
        return versions.select(*named, begun.alias(VALID_FROM), F.lit(int(instant)).cast("long").alias(COMMIT))
