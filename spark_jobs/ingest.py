"""One batch: read, decode, set aside what doesn't fit, keep the newest per key, write, with progress in the commit."""

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from contract import added_columns
from contract.added_columns import AddedColumn
from contract.events import PREFIX
from spark_jobs.decoding.batch_decoder import BatchDecoder, DecodedBatch
from spark_jobs.decoding.schema import Column
from spark_jobs.decoding.summary import Summary
from spark_jobs.derived.commit_events import CommitEvents
from spark_jobs.errors import QuarantineLimitError
from spark_jobs.options import keys
from spark_jobs.options.settings import Settings
from spark_jobs.options.source_settings import KafkaSettings
from spark_jobs.ordering import changes, deletes_register
from spark_jobs.ordering.batch_truncates import BatchTruncates, removals
from spark_jobs.ordering.logged_events import LoggedEvents
from spark_jobs.ordering.queried_rows import QueriedRows
from spark_jobs.ordering.settled import OrderedChanges, StoredRows, operation_for
from spark_jobs.ordering.transform import SqlTransformer
from spark_jobs.report import CommitReport
from spark_jobs.runtime.session import CodegenSwitch
from spark_jobs.runtime.turns import Turns
from spark_jobs.sources.batches import Batch, Source
from spark_jobs.sources.postgres.access import Databases
from spark_jobs.sources.postgres.source_types import SourceTypes
from spark_jobs.table import checkpoint
from spark_jobs.table.checkpoint import Checkpoint
from spark_jobs.table.claim import Claim
from spark_jobs.table.hudi_table import Commit, ForeignCommits, HudiTable
from spark_jobs.table.quarantine import COLUMNS, Quarantine

Log = Callable[[str], None]
# From so many columns on the plans of a batch are too large to wait until Python frees them.
WIDE = 200


class Ingest:
    """Brings a source's batches into the table; holds the progress between two commits."""

    def __init__(
        self,
        spark: SparkSession,
        settings: Settings,
        columns: Sequence[Column],
        *,
        table: HudiTable,
        source: Source,
        quarantine: Quarantine,
        log: Log,
        claim: Claim | None = None,
        turns: Turns | None = None,
        transformer: SqlTransformer | None = None,
        commit_events: CommitEvents | None = None,
        settling: type[LoggedEvents] | type[QueriedRows] = LoggedEvents,
        databases: Databases | None = None,
    ) -> None:
        """`settling` makes what decides about the events of batches; `databases` are asked for new columns' types.

        `claim` makes this job the table's only writer; without one whoever calls sees to that.

        A batch is decoded and committed in one of `turns`, which many tables share.

        `commit_events` takes the events of each commit, for the table's history.
        """
        self._spark = spark
        self._settings = settings
        self._table = table
        self._given = tuple(columns)
        types = SourceTypes(spark, settings, databases, log=log)
        self._decoder = BatchDecoder(spark, settings, columns, encoded=table.url_encodes, types=types, log=log)
        self._source = source
        self._quarantine = quarantine
        self._log = log
        self._claim = claim
        self._turns = turns or Turns(1)
        self._transformer = transformer
        self._commit_events = commit_events
        self._compiling = CodegenSwitch(spark)
        self._lake_rows = StoredRows(table, settings.table, self._compiling)
        self._settles = settling(spark, settings.table, decoder=self._decoder, lake_rows=self._lake_rows)
        self._checkpoint = Checkpoint()
        # The table's columns; None before its first commit.
        self._there: frozenset[str] | None = None
        self._writer = ForeignCommits(table, settings.table.base_path, claim)
        self.last_commit: Commit | None = None

    def load(self) -> None:
        """Read the table's progress and columns: at the start, and after a failure, when a commit may be there."""
        self._source.reset()
        if self._claim:
            self._claim.acquire()
        schema, stored = None, Checkpoint()
        if self._table.recover(self._log):
            stored = checkpoint.from_commits(self._table.commits_with_progress())
            schema = self._table.schema()
        if not stored.complete:
            self._log("the commits that carried the older deletes are gone: only those since are remembered")
        made = self._transformer.made(self._given) if self._transformer else frozenset[str]()
        self._decoder.use_table(schema, encoded=self._table.url_encodes, made=made, added=stored.columns)
        self._there = None if schema is None else frozenset(schema.names)
        if self._transformer:
            self._lake_rows.passed_on = self._transformer.passed_on(self._decoder.columns)
        self._writer.note(self._table.last_instant(), stored.source)
        stored = replace(stored, columns=added_columns.since(stored.columns, self._writer.last_instant))
        settings = self._settings
        self._checkpoint = checkpoint.starting_from(
            stored, reset=settings.checkpoint, ignore=settings.ignore_checkpoint
        )

    @property
    def ignored_truncates(self) -> int | None:
        """1 while rows of an ignored TRUNCATE may be in the table, 0 while not; None where none is ignored."""
        if self._settings.table.truncate != keys.TRUNCATE_IGNORE:
            return None
        return int(self._checkpoint.truncates.ignored is not None)

    @property
    def horizon_age_seconds(self) -> float | None:
        """How long a transaction has kept a queried source's horizon where it is; None for another source."""
        return getattr(self._source, "horizon_age_seconds", None)

    @property
    def looked_ms(self) -> int | None:
        """When the last look at all rows began that the table has all of; None for another source than a database."""
        return getattr(self._source, "looked_ms", None)

    def run_batch(self) -> CommitReport | None:
        """Commit the next batch; None when there is nothing new.

        Raises QuarantineLimitError and ConcurrentWriterError before anything is written to the table.
        """
        while True:
            started = time.monotonic()
            batch = self._source.next_batch(self._checkpoint.source)
            if batch is None:
                return None
            report = self._brought(batch, started) if batch.has_lines else None
            if report is not None:
                return report
            self._checkpoint = replace(self._checkpoint, source=batch.checkpoint)

    def close(self) -> None:
        """End what the source has open."""
        self._source.reset()

    def _brought(self, batch: Batch, started: float) -> CommitReport | None:
        """Bring a batch into the table; None when the table has all of it already."""
        with self._turns.take(small=batch.is_small), self._compiling.unless(batch.is_small):
            batch, decoded = self._decoder.decode(batch)
            try:
                return self._commit(batch, decoded, started)
            finally:
                self._settles.release()
                decoded.cached.release()
                if len(self._decoder.columns) > WIDE:
                    # py4j ties Java's plans into cycles, and Python seldom looks for those: 60 MB a batch by 1,600.
                    gc.collect()

    def _commit(self, batch: Batch, decoded: DecodedBatch, started: float) -> CommitReport | None:
        settled = self._settles(batch, decoded, self._checkpoint)
        unrestored, summary = settled.lacking, settled.summary
        bad = decoded.events.filter("reason IS NOT NULL").select(*COLUMNS)
        quarantined = summary.bad + len(batch.unreadable)
        if unrestored is not None:
            bad = bad.unionByName(unrestored)
            quarantined += unrestored.count()
        if settled.idle and not quarantined:
            return None
        self._set_aside(batch, summary, bad, quarantined)
        findings = batch.check(summary.lines_of_origin)
        for note in (*findings.notes, *settled.notes):
            self._log(note)
        seen = summary.events + len(batch.unreadable)
        commit, fitting = self._write(batch, settled), seen - quarantined
        now = time.time()
        return CommitReport(
            commit=commit.instant,
            files=batch.files,
            events=seen,
            upserts=commit.inserts + commit.updates,
            deletes=commit.deletes,
            quarantined=quarantined,
            folded=max(fitting - commit.inserts - commit.updates - commit.deletes, 0),
            seconds=time.monotonic() - started,
            lag_seconds=None if summary.newest_ms is None else max(now - summary.newest_ms / 1000, 0),
            missing_offsets=findings.missing_offsets,
            late_files=findings.late_files,
        )

    def _truncates(self, summary: Summary) -> BatchTruncates:
        return BatchTruncates(self._settings.table.truncate, self._checkpoint.truncates, summary)

    def _set_aside(self, batch: Batch, summary: Summary, bad: DataFrame, count: int) -> None:
        if not count:
            return
        limit, seen = self._settings.quarantine_limit, summary.events + len(batch.unreadable)
        if count > limit:
            first = bad.select("origin", "reason").first()
            examples = [f"{batch.name_of(first['origin'])}: {first['reason']}"] if first else []
            examples += [f"{name}: {reason}" for name, reason in batch.unreadable.items()]
            example = f", such as {examples[0]}" if examples else ""
            raise QuarantineLimitError(
                f"{count} of {seen} events don't fit{example}; the limit is {limit}; nothing was committed"
            )
        for name, reason in batch.unreadable.items():
            self._log(f"{name} goes to quarantine whole: {reason}")
        self._quarantine.write_unreadable(batch)
        kafka = isinstance(self._settings.source, KafkaSettings)
        self._quarantine.write(bad, batch=batch, lines=summary.positions, one_per_event=kafka)

    def _write(self, batch: Batch, settled: OrderedChanges) -> Commit:
        newest, told = settled.events, self._truncates(settled.summary)
        if not settled.fresh:
            newest = changes.keep_newest(newest, ordering=self._settings.table.ordering_field)
        if settled.summary.deletes or told.emptied is not None:
            newest = newest.persist()
        try:
            return self._write_newest(batch, settled, newest, told)
        finally:
            newest.unpersist()

    def _write_newest(self, batch: Batch, settled: OrderedChanges, newest: DataFrame, told: BatchTruncates) -> Commit:
        ordering, summary = self._settings.table.ordering_field, settled.summary
        after, emptied, deleted = told.after, told.emptied, {}
        if summary.deletes and self._settles.remembers_deletes:
            deleted = deletes_register.collected(changes.deletes(newest, ordering=ordering))
        limit = self._settings.deletes_limit
        following, dropped = self._checkpoint.following(batch.checkpoint, deleted, limit=limit, truncates=after)
        following = replace(following, columns={**following.columns, **self._added()})
        if dropped:
            self._log(f"{dropped} oldest deletes are no longer remembered against older events")
        self._writer.check()
        if self._commit_events and summary.events:
            follows = self._writer.last_instant
            self._commit_events.put(settled.events, ordering=ordering, after=follows, progress=batch.checkpoint)
        rows = changes.table_rows(self._without_idle_deletes(newest) if deleted else newest)
        if self._transformer:
            rows = self._transformer(rows)
        if emptied is not None:
            rows = self._emptied(rows, newest, emptied)
        is_new = self._writer.last_instant is None
        operation = operation_for(self._settings.table, settled, is_new=is_new, log=self._log)
        commit = self._table.write(rows, following.to_metadata(), operation=operation)
        self._checkpoint = replace(following, columns=added_columns.since(following.columns, commit.instant))
        self._there = frozenset(rows.columns)
        self._writer.note(commit.newest, following.source)
        self.last_commit = commit
        return commit

    def _added(self) -> dict[str, AddedColumn]:
        """Return the columns that the next commit brings; not those of a query's making.

        The first commit brings those that nobody declared: a job that starts again must know what events call them.
        """
        if self._transformer:
            return {}
        declared = {column.name for column in self._given}
        there = declared if self._there is None else self._there
        avro = self._decoder.described
        return {
            column.name: AddedColumn(
                column.source, guessed=column.name not in {*declared, *avro}, avro=avro.get(column.name)
            )
            for column in self._decoder.columns
            if column.name not in there and not column.name.startswith(PREFIX)
        }

    def _emptied(self, rows: DataFrame, newest: DataFrame, applied: int) -> DataFrame:
        """Return what is written of a batch, and deletes of the table's rows that a TRUNCATE has removed."""
        self._log(f"TRUNCATE at {applied}: the rows that aren't newer go")
        if self._table.schema() is None:
            return rows
        self._compiling.resume()  # as for all that reads the table
        gone = removals(self._table.rows(), newest, self._settings.table, applied)
        return rows.unionByName(gone, allowMissingColumns=True)

    def _without_idle_deletes(self, newest: DataFrame) -> DataFrame:
        if self._settings.table.table_type != "MERGE_ON_READ":
            return newest
        stored = self._lake_rows({})
        if stored is None:
            return newest.filter("NOT deleted")
        keys_of_deletes = F.broadcast(newest.filter("deleted").select(changes.KEY))
        stored = stored.join(keys_of_deletes, changes.KEY, "left_semi")
        return changes.without_idle_deletes(newest, stored, ordering=self._settings.table.ordering_field)
