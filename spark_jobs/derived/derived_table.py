"""Keeps a derived table: a query over the lake's tables, fully recomputed when one of them has a new commit.

By key, rows that differ are upserted and missing rows deleted (docs/decisions/0093). Each commit carries the instants
of its input tables, and the query's digest.
"""

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.derived import differences
from spark_jobs.errors import JobError, first_line, value_error
from spark_jobs.options.settings import Settings, SqlSettings
from spark_jobs.runtime.hadoop import Hadoop
from spark_jobs.runtime.metrics import CommitReport
from spark_jobs.runtime.session import as_in_athena
from spark_jobs.table.commits import Timeline
from spark_jobs.table.kept_table import MadeTable, as_of, report

_DIGEST_DIGITS = 16


class DerivedTable(MadeTable):
    """Brings a query's result into the table; remembers the inputs of its rows between commits."""

    def __init__(self, spark: SparkSession, settings: Settings, **shared: Any) -> None:
        super().__init__(spark, settings, **shared)
        assert isinstance(settings.source, SqlSettings)  # noqa: S101  (table_job.py puts the two together)
        self._keys = settings.table.key_fields
        self._source = settings.source
        self._digest = hashlib.sha256(settings.source.query.encode()).hexdigest()[:_DIGEST_DIGITS]
        self._clock: Callable[[], float] = time.time
        hadoop = Hadoop(spark)
        # A table's properties are fixed: each look lists only its timeline again.
        self._inputs = {name: Timeline(hadoop, path) for name, path in settings.source.tables.items()}
        self._missing: tuple[str, ...] = ()

    def _go_on(self, progress: Any) -> None:
        # The instants of the tables that its rows are made of; None if they are another query's.
        self._of: Mapping[str, str] | None = None
        self._read_ms = 0  # the order of its rows
        if progress is not None:
            self._of = dict(progress["tables"]) if progress["query"] == self._digest else None
            self._read_ms = int(progress["read_ms"])

    def run_batch(self) -> CommitReport | None:
        """Commit what differs; None when nothing does, or no table that the query names has a new commit.

        Raises JobError, and writes nothing, if the result can't be the table's or the query fails for a row.
        """
        started = time.monotonic()
        if self._wanted() is None:
            return None
        with self._turn():
            # Before its turn came the tables may have had commits, and been cleaned of those before.
            if (wanted := self._wanted()) is None:
                return None
            try:
                return self._brought(wanted, started)
            except Exception as error:
                if reason := value_error(error):
                    raise JobError(f"the query fails: {reason}") from error
                raise

    def _wanted(self) -> Mapping[str, str] | None:
        """Return the newest instants; None if a table has none yet, or these are in the rows already."""
        instants = {name: timeline.last_instant() for name, timeline in self._inputs.items()}
        wanted = {name: at for name, at in instants.items() if at is not None}
        missing = tuple(name for name, at in instants.items() if at is None)
        if missing != self._missing:
            self._log(f"waits for {', '.join(missing)}: no commit yet" if missing else "the query's tables are there")
        self._missing = missing
        return None if missing or wanted == self._of else wanted

    def _brought(self, wanted: Mapping[str, str], started: float) -> CommitReport | None:
        stored = self._rows()
        rows = differences.writable(self._result(wanted), self._keys, stored.schema if stored else None)
        difference = differences.compare(rows, stored, self._keys)
        commit = None
        try:
            if difference.count:
                for name, instant in wanted.items():
                    self._inputs[name].refuse_cleaned(instant)
                # After a clock moves back, older rows must not win.
                read_ms = max(int(self._clock() * 1000), self._read_ms + 1)
                progress = json.dumps({"query": self._digest, "read_ms": read_ms, "tables": wanted}, sort_keys=True)
                commit = self._write(difference.to_write(read_ms), progress)
                self._read_ms = read_ms
        finally:
            difference.release()
        self._of = wanted
        return None if commit is None else report(commit, difference.count, len(self._inputs), started)

    def _result(self, wanted: Mapping[str, str]) -> DataFrame:
        for name, path in self._source.tables.items():
            as_of(self._spark, path, wanted[name]).createOrReplaceTempView(name)
        try:
            with as_in_athena(self._spark):
                return self._spark.sql(self._source.query)
        except (AnalysisException, ParseException) as error:
            raise JobError(f"the query can't be run: {first_line(error)}") from error
