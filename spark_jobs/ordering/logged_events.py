"""Orders the events of a log: changes in an order, which may be repeated, late, or with values left out."""

from functools import reduce
from operator import or_

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.decoding.batch_decoder import DecodedBatch
from spark_jobs.decoding.summary import Summary
from spark_jobs.decoding.topic_place import LATE
from spark_jobs.decoding.values import has_placeholder
from spark_jobs.ordering import changes, deletes_register, key_changes, snapshot_rows
from spark_jobs.ordering.batch_truncates import BatchTruncates
from spark_jobs.ordering.changes import KEY, STORED_AT
from spark_jobs.ordering.orderer import OrderedChanges, Orderer
from spark_jobs.sources.batches import Batch
from spark_jobs.table.checkpoint import Checkpoint
from spark_jobs.table.quarantine import COLUMNS

# Maximum keys that one look-up brings to the driver; Spark looks up more.
_COLLECTED = 10_000


class LoggedEvents(Orderer):
    """Gives events their places, drops those with a newer known state, and fills in TOAST placeholders."""

    remembers_deletes = True

    def __call__(self, batch: Batch, decoded: DecodedBatch, progress: Checkpoint) -> OrderedChanges:
        """Return the events with TOAST placeholders replaced, and those without a known value."""
        summary, ordering = decoded.summary, self._settings.ordering_field
        events = changes.with_key(decoded.events, self._settings.key_fields)
        truncates = BatchTruncates(self._settings.truncate, progress.truncates, summary)
        if summary.snapshot_rows:
            events = self._placed(events, summary, truncates, progress)
        events = truncates.remaining(events)
        lowest = None if summary.snapshot_rows else summary.lowest
        remembered = _remembered_deletes(self._spark, events, progress, ordering=ordering, lowest=lowest)
        if remembered is not None:
            events = changes.without_deleted_before(events, remembered, ordering=ordering)
        notes: tuple[str, ...] = ()
        if batch.has_passed:
            notes, events = self._overtaken(events), self._without_passed(events)
        if not summary.placeholders:
            return OrderedChanges(events, None, summary, notes=notes)
        types = {column.name: column.stored for column in self._decoder.columns if column.name in summary.placeholders}
        stored = self._stored_rows(types)
        if summary.deletes and self._decoder.places_snapshots:
            events = key_changes.with_moved(events, stored, list(types))
        restored, lacking = changes.restore_placeholders(events, stored, list(types), ordering=ordering)
        reason = F.concat(F.lit("placeholder: no earlier value of "), F.concat_ws(", ", "placeholders"))
        return OrderedChanges(restored, lacking.withColumn("reason", reason).select(*COLUMNS), summary, notes=notes)

    def _without_passed(self, events: DataFrame) -> DataFrame:
        """Drop late events that aren't newer than their rows: an event with its row's position is a repeated one.

        A row that a snapshot has read since has that position, too, and must stay.
        """
        stored = self._stored_rows({})
        if stored is None or not self._decoder.places_snapshots:
            return events
        late = F.col(LATE) & (F.col(f"row.{self._settings.ordering_field}") <= F.col(STORED_AT))
        joined = events.join(stored.groupBy(KEY).agg(F.max(STORED_AT).alias(STORED_AT)), KEY, "left")
        return joined.filter(~F.coalesce(late, F.lit(False))).select(*events.columns)

    def _overtaken(self, events: DataFrame) -> tuple[str, ...]:
        """Return a line if a late event is older than its row, and differs in a value that TOAST may omit.

        A placeholder between the two then got a value from before both; the table doesn't record for which rows.
        """
        columns = {column.name: column.stored for column in self._decoder.columns if has_placeholder(column)}
        stored = self._stored_rows(columns)
        if stored is None or not columns:
            return ()
        stored = stored.select(KEY, STORED_AT, F.struct(*columns).alias("stored row"))
        older = F.col(f"row.{self._settings.ordering_field}") < F.col(STORED_AT)
        differs = [
            ~F.array_contains("placeholders", name) & ~F.col(f"row.{name}").eqNullSafe(F.col(f"stored row.{name}"))
            for name in columns
        ]
        overtaken = (
            events.filter(F.col(LATE) & ~F.col("deleted")).join(stored, KEY).filter(older & reduce(or_, differs))
        )
        count = overtaken.select(KEY).distinct().count()
        if not count:
            return ()
        return (
            f"events came late or again for {count} rows that are newer and have other values: a large value that was "
            "kept back since (TOAST) may be an older one; `./lake reconcile --repair` compares and repairs",
        )

    def _placed(
        self, events: DataFrame, summary: Summary, truncates: BatchTruncates, progress: Checkpoint
    ) -> DataFrame:
        """Return the events, with snapshot rows in the places of the changes before them."""
        deleted = progress.deleted
        events, behind, emptied = truncates.places(events)
        return snapshot_rows.placed(
            events,
            self._stored_rows({}),
            deletes_register.as_frame(self._spark, deleted) if deleted else None,
            behind=behind,
            emptied=emptied,
            only_these=summary.snapshot_rows == summary.events - summary.bad - summary.marks,
        )


def _remembered_deletes(
    spark: SparkSession, events: DataFrame, progress: Checkpoint, *, ordering: str, lowest: str | None
) -> DataFrame | None:
    """Return the remembered deletes that matter to keyed `events`, as a register's frame; None without any.

    `lowest`: the events' lowest ordering value, None if unknown. Usually all are newer than every remembered delete,
    and no look-up is needed: otherwise only a few are older, being late or repeated.
    """
    newest = progress.newest_delete
    if newest is None or (lowest is not None and deletes_register.rank(lowest) > deletes_register.rank(newest)):
        return None
    value = F.col(f"row.{ordering}")
    ordering_type = events.select(value.alias("value")).schema["value"].dataType
    late = events.filter(value <= F.lit(newest).cast(ordering_type)).select(KEY).distinct()
    keys = [row[KEY] for row in late.limit(_COLLECTED + 1).collect()]
    if len(keys) > _COLLECTED:
        return deletes_register.as_frame(spark, progress.deleted)
    found = {key: progress.deleted[key] for key in keys if key in progress.deleted}
    return deletes_register.as_frame(spark, found) if found else None
