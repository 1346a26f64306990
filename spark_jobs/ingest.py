"""One batch: read, decode, quarantine misfits, keep the newest per key, write, with progress in the commit."""

import gc
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from contract import added_columns
from contract import metrics as names
from contract.added_columns import AddedColumn
from contract.events import PREFIX
from spark_jobs.decoding.batch_decoder import BatchDecoder, DecodedBatch
from spark_jobs.decoding.schema import Column
from spark_jobs.decoding.summary import Summary
from spark_jobs.derived.history import CommitEvents
from spark_jobs.errors import QuarantineLimitError
from spark_jobs.options.jdbc_settings import JdbcSettings
from spark_jobs.options.settings import FileSettings, KafkaSettings, Settings
from spark_jobs.ordering import changes, memory, transform
from spark_jobs.ordering.logged_events import BatchTruncates, LoggedEvents, removals
from spark_jobs.ordering.orderer import OrderedChanges, StoredRows, operation_for
from spark_jobs.ordering.queried_rows import QueriedRows
from spark_jobs.runtime.hadoop import Hadoop
from spark_jobs.runtime.metrics import CommitReport
from spark_jobs.runtime.row_progress import COMPARED, READ, WRITTEN, RowProgress, Step
from spark_jobs.runtime.session import CodegenSwitch
from spark_jobs.sources.batches import Batch, Source
from spark_jobs.sources.files import JsonFiles
from spark_jobs.sources.kafka import JsonKafka
from spark_jobs.sources.listing import lister_for
from spark_jobs.sources.postgres.access import Databases
from spark_jobs.sources.postgres.first_load import FirstLoad, LoadBatch
from spark_jobs.sources.postgres.source import Jdbc
from spark_jobs.table import commits
from spark_jobs.table.claim import Claim
from spark_jobs.table.commits import Checkpoint
from spark_jobs.table.hudi_table import Commit
from spark_jobs.table.kept_table import KeptTable, SharedParts
from spark_jobs.table.quarantine import COLUMNS, Quarantine

# Above this many columns, query plans are large enough to be freed explicitly.
WIDE = 200


class Ingest(KeptTable):
    """Brings a source's batches into the table."""

    def __init__(
        self,
        spark: SparkSession,
        settings: Settings,
        columns: Sequence[Column],
        *,
        shared: SharedParts,
        claim: Claim | None = None,
    ) -> None:
        super().__init__(spark, settings, shared=shared, claim=claim)
        self._given = tuple(columns)
        self._decoder = BatchDecoder(spark, settings, columns, encoded=self._table.url_encodes, log=self._log)
        self._source, self._first_load = self._source_of(shared), self._first_load_of(shared)
        self._quarantine = Quarantine(Hadoop(spark), settings.quarantine_path)
        self._transformer = transform.of_settings(spark, settings, columns)
        # Stores the events of each commit, for the table's history.
        self._commit_events = CommitEvents(spark, settings.events_path) if settings.events_path else None
        self._compiling = CodegenSwitch(spark)
        self._row_progress = RowProgress(spark, shared.loads, log=self._log)
        self._stored_rows = StoredRows(self._table, settings.table, self._compiling)
        orderer = QueriedRows if isinstance(settings.source, JdbcSettings) else LoggedEvents
        self._orderer = orderer(spark, settings.table, decoder=self._decoder, stored_rows=self._stored_rows)
        self._checkpoint = Checkpoint()
        # The table's columns; None before its first commit.
        self._there: frozenset[str] | None = None

    def _source_of(self, shared: SharedParts) -> Source:
        spark, given, log = self._spark, self._settings.source, self._log
        if isinstance(given, JdbcSettings):
            database = (shared.databases or Databases(spark, log=log)).of(given.server)
            return Jdbc(spark, given, database, self._source_key, log=log, newest_ms=self._table.newest)
        if isinstance(given, KafkaSettings):
            return JsonKafka(spark, given, log=log, ends=shared.topic_ends)
        assert isinstance(given, FileSettings)  # noqa: S101  (table_job.py keeps tables made of others)
        lister, note = lister_for(given.root, Hadoop(spark), shared.listing)
        if note:
            log(note)
        return JsonFiles(spark, given, lister, log=log)

    def _first_load_of(self, shared: SharedParts) -> FirstLoad | None:
        settings = self._settings.first_load
        if settings is None:
            return None
        database = (shared.databases or Databases(self._spark, log=self._log)).of(settings.jdbc.server)
        return FirstLoad(self._spark, settings, database, self._source_key, log=self._log, say=shared.loads)

    @property
    def _source_key(self) -> list[str]:
        """The key's columns by the source's names; none of a table without a key."""
        if self._settings.table.append_only:
            return []
        named = {column.name: column.source for column in self._given}
        return [named.get(name, name) for name in self._settings.table.key_fields]

    def load(self) -> None:
        self.close()
        super().load()

    def _begin(self, *, exists: bool) -> None:
        schema, stored = None, Checkpoint()
        if exists:
            stored = commits.from_commits(self._table.commits_with_progress())
            schema = self._table.schema()
        if not stored.complete:
            self._log("the commits that carried the older deletes are gone: only those since are remembered")
        made = self._transformer.made(self._given) if self._transformer else frozenset[str]()
        self._decoder.use_table(schema, encoded=self._table.url_encodes, made=made, added=stored.columns)
        self._there = None if schema is None else frozenset(schema.names)
        if self._transformer:
            self._stored_rows.passed_on = self._transformer.passed_on(self._decoder.columns)
        self._last_instant, self._progress = self._table.last_instant(), stored.source
        stored = replace(stored, columns=added_columns.since(stored.columns, self._last_instant))
        given = self._settings.options
        ignore = self._settings.read_again or given.ignore_checkpoint
        self._checkpoint = commits.starting_from(stored, reset=given.checkpoint, ignore=ignore)
        # A load is newer than all that an earlier one contained, even if a restored server's positions are lower.
        self._decoder.snapshot = None if self.awaits_load else self._checkpoint.snapshot

    def states(self) -> Mapping[str, float]:
        states = dict[str, float]()
        if self._settings.table.truncate:
            states[names.IGNORED_TRUNCATES] = int(self._checkpoint.truncates.ignored is not None)
        if isinstance(self._source, Jdbc):
            states[names.HORIZON_AGE_SECONDS] = self._source.horizon_age_seconds
        return states

    @property
    def looked_ms(self) -> int | None:
        return self._source.looked_ms if isinstance(self._source, Jdbc) else None

    def run_batch(self) -> CommitReport | None:
        """Commit the next batch, None without any; an error comes before anything is written to the table."""
        while True:
            started = time.monotonic()
            batch = self._next_batch()
            if batch is None:
                return None
            report = self._brought(batch, started) if batch.has_lines else None
            if report is not None:
                return report
            self._checkpoint = replace(self._checkpoint, source=batch.checkpoint)

    @property
    def awaits_load(self) -> bool:
        # Where progress is ignored, all rows are read again. But where each event is a row, they can't replace those.
        again = self._checkpoint.source is None and not self._settings.table.append_only
        return self._first_load is not None and (self._last_instant is None or again)

    def _next_batch(self) -> Batch | None:
        if self._first_load and self.awaits_load and isinstance(self._source, JsonFiles):
            # What has landed is in the rows.
            return self._first_load.next_batch(self._source.passed())
        return self._source.next_batch(self._checkpoint.source)

    def close(self) -> None:
        self._source.reset()
        if self._first_load:
            self._first_load.reset()

    def _brought(self, batch: Batch, started: float) -> CommitReport | None:
        with self._turn(small=batch.is_small), self._compiling.unless(batch.is_small):
            with self._told(batch, READ):
                batch, decoded = self._decoder.decode(batch)
            try:
                with self._told(batch, READ, WRITTEN if self._last_instant is None else COMPARED):
                    return self._commit(batch, decoded, started)
            finally:
                if self._first_load:
                    self._first_load.reset()
                self._orderer.release()
                decoded.cached.release()
                if len(self._decoder.columns) > WIDE:
                    # py4j ties Java's plans into reference cycles, which Python seldom collects: 60 MB a batch with
                    # 1,600 columns.
                    gc.collect()

    def _told(self, batch: Batch, *steps: Step) -> AbstractContextManager[None]:
        """Tell a first load's progress while the block runs."""
        if not isinstance(batch, LoadBatch) or batch.is_small:
            return nullcontext()
        return self._row_progress.told(steps, batch.count)

    def _commit(self, batch: Batch, decoded: DecodedBatch, started: float) -> CommitReport | None:
        ordered = self._orderer(batch, decoded, self._checkpoint)
        unrestored, summary = ordered.lacking, ordered.summary
        bad = decoded.events.filter("reason IS NOT NULL").select(*COLUMNS)
        quarantined = summary.bad + len(batch.unreadable)
        if unrestored is not None:
            bad = bad.unionByName(unrestored)
            quarantined += unrestored.count()
        if ordered.idle and not quarantined:
            return None
        self._set_aside(batch, summary, bad, quarantined)
        findings = batch.check(summary.lines_of_origin)
        for note in (*findings.notes, *ordered.notes):
            self._log(note)
        commit, now = self._write(batch, ordered), time.time()
        written = commit.inserts + commit.updates + commit.deletes
        # A first load's rows aren't counted before they are written.
        is_first = isinstance(batch, LoadBatch) and ordered.fresh
        seen = written + quarantined if is_first else summary.events + len(batch.unreadable)
        return CommitReport(
            commit=commit.instant,
            files=batch.files,
            events=seen,
            upserts=commit.inserts + commit.updates,
            deletes=commit.deletes,
            quarantined=quarantined,
            folded=max(seen - quarantined - written, 0),
            seconds=time.monotonic() - started,
            lag_seconds=None if summary.newest_ms is None else max(now - summary.newest_ms / 1000, 0),
            missing_offsets=findings.missing_offsets,
            late_files=findings.late_files,
        )

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
        self._quarantine.write(bad, batch=batch, shifts=summary.shifts, one_per_event=kafka)

    def _write(self, batch: Batch, ordered: OrderedChanges) -> Commit:
        newest = ordered.events
        told = BatchTruncates(self._settings.table.truncate, self._checkpoint.truncates, ordered.summary)
        if not ordered.fresh:
            newest = changes.keep_newest(newest, ordering=self._settings.table.ordering_field)
        if ordered.summary.deletes or told.emptied is not None:
            newest = newest.persist()
        try:
            return self._write_newest(batch, ordered, newest, told)
        finally:
            newest.unpersist()

    def _write_newest(self, batch: Batch, ordered: OrderedChanges, newest: DataFrame, told: BatchTruncates) -> Commit:
        ordering, summary = self._settings.table.ordering_field, ordered.summary
        after, emptied, limit = told.after, told.emptied, self._settings.deletes_limit
        deleted, others = dict[str, memory.Delete](), 0
        if summary.deletes and self._orderer.remembers_deletes:
            found = changes.deletes(newest, ordering=ordering)
            deleted, others = memory.collected(found, summary.deletes, limit=limit)
        following, dropped = self._checkpoint.following(batch.checkpoint, deleted, limit=limit, truncates=after)
        if isinstance(batch, LoadBatch):
            # No row is left from before a TRUNCATE.
            following = replace(
                following, snapshot=batch.snapshot, truncates=replace(following.truncates, ignored=None)
            )
        if dropped + others:
            self._log(f"{dropped + others} oldest deletes are no longer remembered against older events")
        self._refuse_others_commits()
        if self._commit_events and summary.events:
            follows = self._last_instant
            self._commit_events.put(ordered.events, ordering=ordering, after=follows, progress=batch.checkpoint)
        rows = changes.table_rows(self._without_idle_deletes(newest) if deleted else newest)
        if self._transformer:
            rows = self._transformer(rows)
        added = self._added(rows.columns)
        following = replace(following, columns={**following.columns, **added})
        if emptied is not None:
            rows = self._emptied(rows, emptied)
        operation = operation_for(self._settings.table, ordered, is_new=self._last_instant is None, log=self._log)
        commit = self._written(rows, following.to_metadata(), operation=operation)
        self._checkpoint = replace(following, columns=added_columns.since(following.columns, commit.instant))
        self._there = frozenset(rows.columns)
        if added and self._transformer:
            self._stored_rows.passed_on = self._transformer.passed_on(self._decoder.columns)
        self._decoder.snapshot = following.snapshot
        return commit

    def _added(self, written: Collection[str]) -> dict[str, AddedColumn]:
        """Return the events' columns that the next commit adds; a query may have left some out of what is `written`.

        The first commit adds the undeclared ones: a restarted job must know their names in events.
        """
        declared = {column.name for column in self._given}
        there = declared if self._there is None else self._there
        avro = self._decoder.described
        return {
            column.name: AddedColumn(
                column.source, guessed=column.name not in {*declared, *avro}, avro=avro.get(column.name)
            )
            for column in self._decoder.columns
            if column.name not in there and column.name in written and not column.name.startswith(PREFIX)
        }

    def _emptied(self, rows: DataFrame, applied: int) -> DataFrame:
        """Return the batch's rows to write, and deletes of the table's rows that a TRUNCATE has removed."""
        self._log(f"TRUNCATE at {applied}: the rows that aren't newer go")
        if self._table.schema() is None:
            return rows
        self._compiling.resume()  # as for every read of the table
        gone = removals(self._table.rows(), rows, self._settings.table, applied)
        return rows.unionByName(gone, allowMissingColumns=True)

    def _without_idle_deletes(self, newest: DataFrame) -> DataFrame:
        if self._settings.table.table_type != "MERGE_ON_READ":
            return newest
        stored = self._stored_rows({})
        if stored is None:
            return newest.filter("NOT deleted")
        keys_of_deletes = F.broadcast(newest.filter("deleted").select(changes.KEY))
        stored = stored.join(keys_of_deletes, changes.KEY, "left_semi")
        return changes.without_idle_deletes(newest, stored, ordering=self._settings.table.ordering_field)
