"""Keeps a history table: each version of a table's rows (docs/decisions/0093).

It processes the table's commits one by one. Rows that aren't the newest version of their key become one; a deleted key
ends its newest version with a row of its own. For a table captured from the log, the events of each commit lie next to
it (commit_events.py): they supply the versions that a commit skips, and those of commits that have waited too long. The
history is append-only: a version holds until the next one begins, which a query computes.
"""

import json
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from contract.events import ADDED_TYPES, DELETED, QUERIED_TYPES, READ_MS, SOURCE_TIME_MS
from contract.history import COLUMNS, COMMIT, ENDED, VALID_FROM, VERSION, column
from spark_jobs.derived import commit_events, differences
from spark_jobs.derived.commit_events import CommitEvents, chained, events_between
from spark_jobs.errors import JobError
from spark_jobs.options.settings import HistorySettings, Settings
from spark_jobs.ordering.changes import KEY, key_of
from spark_jobs.runtime.hadoop import Hadoop
from spark_jobs.runtime.metrics import CommitReport
from spark_jobs.table.commits import Timeline
from spark_jobs.table.hudi_table import Commit
from spark_jobs.table.kept_table import META_PREFIX, MadeTable, as_of, report

# Fewer commits than Hudi's cleaner keeps whole (hoodie.cleaner.commits.retained, 10 by default).
_READABLE_COMMITS = 8
# Columns about how a row travelled: reading a row again with the same values makes no new version.
_HOW_IT_CAME = frozenset((*ADDED_TYPES, *QUERIED_TYPES, DELETED))
_AGE = "age of version"


class HistoryTable(MadeTable):
    """Brings the versions of a table's commits into its history, one commit at a time."""

    def __init__(self, spark: SparkSession, settings: Settings, **shared: Any) -> None:
        """`shared` is KeptTable's."""
        super().__init__(spark, settings, **shared)
        assert isinstance(settings.source, HistorySettings)  # noqa: S101  (table_job.py puts the two together)
        self._path = settings.source.path
        self._keys = settings.source.key_fields
        self._of = Timeline(Hadoop(spark), self._path)
        self._events = CommitEvents(spark, settings.source.events_path)
        self._read_to = ""

    def _go_on(self, progress: str | None) -> None:
        try:
            self._read_to = "" if progress is None else str(json.loads(progress)["history_to"])
        except (ValueError, TypeError, LookupError) as error:
            raise JobError(f"the table's progress {(progress or '')[:60]!r} isn't a history's") from error

    def run_batch(self) -> CommitReport | None:
        """Append the versions of the next commit that has some; None when there is none."""
        while True:
            started = time.monotonic()
            instants = self._next()
            if not instants:
                return None
            with self._turns.take():
                found = self._brought(instants, started)
            self._read_to = instants[-1]
            if found is not None:
                return found

    def _next(self) -> tuple[str, ...]:
        """Return the next commits to take together: the last one's files are certainly whole."""
        waiting = self._of.instants_after(self._read_to)
        if not self._read_to:
            return tuple(waiting[-1:])
        return tuple(waiting[: max(len(waiting) - _READABLE_COMMITS, 0) + 1])

    def _brought(self, instants: Sequence[str], started: float) -> CommitReport | None:
        instant, stored = instants[-1], self._rows()
        schema = None if stored is None else stored.schema
        rows = as_of(self._spark, self._path, instant)
        rows = rows.select(*(F.col(name).alias(column(name)) for name in rows.columns))
        rows = differences.writable(rows, self._keys, schema, reserved=COLUMNS)
        newest = None if stored is None else self._newest(stored)
        put_away = self._events.names()
        chains = self._chains(self._named(instants, put_away), rows, newest)
        with ExitStack() as cached:
            if chains is not None:
                cached.callback(chains.unpersist)
            difference = differences.compare(rows, newest, self._keys, ignored=_HOW_IT_CAME)
            cached.callback(difference.release)
            found = difference.to_append(self._keys, ENDED).withColumn(VERSION, F.lit(0))
            is_new = not difference.is_none
            if chains is not None and not chains.isEmpty():
                found, is_new = self._without(found, chains).unionByName(chains), True
            commit = self._append(found, instant) if is_new else None
        self._events.forget_before(instant, put_away)
        return None if commit is None else report(commit, commit.inserts + commit.updates, 1, started)

    def _named(self, instants: Sequence[str], put_away: Sequence[str]) -> list[str]:
        """Return the stored events of commits, the last commit's at the end, or nothing."""
        if not put_away and len(instants) == 1:
            return []
        carried = self._of.carried(self._read_to or instants[-1], instants[-1])
        named = commit_events.named_by(put_away, carried)
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
        """Return the versions whose keys `others` lack."""
        keyed = versions.withColumn(KEY, key_of(self._keys))
        return keyed.join(others.select(key_of(self._keys).alias(KEY)).distinct(), KEY, "left_anti").drop(KEY)

    def _append(self, versions: DataFrame, instant: str) -> Commit:
        return self._write(self._dated(versions, instant), json.dumps({"history_to": instant}))

    def _newest(self, stored: DataFrame) -> DataFrame:
        """Return the newest version of each key, without ended ones."""
        newest_first = Window.partitionBy(*self._keys).orderBy(F.desc(COMMIT), F.desc(VERSION))
        numbered = stored.withColumn(_AGE, F.row_number().over(newest_first))
        newest = numbered.filter((F.col(_AGE) == 1) & ~F.col(ENDED))
        others = [name for name in newest.columns if name in (_AGE, *COLUMNS) or name.startswith(META_PREFIX)]
        return newest.drop(*others)

    def _dated(self, versions: DataFrame, instant: str) -> DataFrame:
        """Add each version's start: when the row was read or changed, else the commit's time; an ended row is empty.

        A delete has its own event's time if another event followed within the commit.
        """
        ms = self._committed_ms(instant)
        came = [F.col(name) for name in (READ_MS, SOURCE_TIME_MS) if name in versions.columns]
        begun = F.timestamp_millis(F.coalesce(*came, F.lit(ms)).cast("long"))
        kept = (*self._keys, ENDED, VERSION)
        values = [F.col(name) if name in kept else F.when(~F.col(ENDED), F.col(name)) for name in versions.columns]
        named = [value.alias(name) for name, value in zip(versions.columns, values, strict=True)]
        return versions.select(*named, begun.alias(VALID_FROM), F.lit(int(instant)).cast("long").alias(COMMIT))

    def _committed_ms(self, instant: str) -> int:
        jvm = Hadoop(self._spark).jvm
        parsed = jvm.org.apache.hudi.common.table.timeline.HoodieActiveTimeline.parseDateFromInstantTime(instant)
        return int(parsed.getTime())
