"""Orders the events of a log: changes in an order, which may be repeated, late, or with values left out."""

from dataclasses import dataclass, replace
from functools import reduce
from operator import or_

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from contract.events import LSN, OPERATION, TRUNCATE
from spark_jobs.decoding.batch_decoder import DecodedBatch
from spark_jobs.decoding.schema import IS_DELETED
from spark_jobs.decoding.summary import Summary
from spark_jobs.decoding.values import has_placeholder
from spark_jobs.options.keys import TRUNCATE_APPLY
from spark_jobs.options.table_settings import TableSettings
from spark_jobs.ordering import changes, memory
from spark_jobs.ordering.changes import KEY, STORED_AT, STORED_ROW, key_of
from spark_jobs.ordering.memory import LATE, Truncates, is_before, is_mark, rank
from spark_jobs.ordering.orderer import OrderedChanges, Orderer
from spark_jobs.ordering.read_again import differences
from spark_jobs.sources.batches import Batch
from spark_jobs.sources.postgres.first_load import LoadBatch
from spark_jobs.table.commits import Checkpoint
from spark_jobs.table.quarantine import COLUMNS

# No field that becomes a column can have these names.
_BEHIND, _AHEAD = "behind a truncate", "ahead of a truncate"


@dataclass(frozen=True)
class BatchTruncates:
    """What TRUNCATEs mean for one batch: `mode` is the table's setting, `known` comes from its commits."""

    mode: str | None
    known: Truncates
    summary: Summary

    @property
    def after(self) -> Truncates:
        """The state for the batch's commit."""
        if not self.summary.marks:
            return self.known
        summary = self.summary
        return self.known.following(summary.truncated, summary.settled, mode=self.mode, place=summary.truncate_place)

    @property
    def emptied(self) -> int | None:
        """Position up to which the table's rows go; None if no TRUNCATE came, or it was applied already."""
        return self.after.applied if self.after.applied != self.known.applied else None

    def places(self, events: DataFrame) -> tuple[DataFrame, Expression, Expression]:
        """Return the events that belong to rows, the first place that a snapshot's row may have, and if it goes.

        That place is behind the TRUNCATE that precedes the row in the source, or a known one; null is anywhere. A row
        before a known TRUNCATE goes: it is a repeated one. In a batch with a TRUNCATE all events go through one task
        for this.
        """
        applied, place = self.known.applied, self.known.place
        known = F.lit(None if applied is None else applied + 1)
        again = is_before(F.lit(place.offset), F.lit(place.sent_ms)) if place else F.lit(False)
        if self.mode != TRUNCATE_APPLY or self.summary.truncated is None:
            return self._rows(events), known, again
        at = F.when(F.col(f"row.{OPERATION}") == TRUNCATE, F.col(f"row.{LSN}"))
        in_order = Window.orderBy("tie", "block", "number")
        earlier = F.max(at).over(in_order.rowsBetween(Window.unboundedPreceding, -1)) + 1
        later = F.min(at).over(in_order.rowsBetween(1, Window.unboundedFollowing))
        events = self._rows(events.withColumns({_BEHIND: earlier, _AHEAD: later}))
        repeated = F.coalesce(F.col(_AHEAD) <= F.lit(applied), F.lit(False))
        return events, F.greatest(known, F.col(_BEHIND)), again | repeated

    def remaining(self, events: DataFrame) -> DataFrame:
        """Return the keyed events without TRUNCATEs and the events that one, of this batch or known, removed.

        Usually all events are newer than any known TRUNCATE, and nothing is checked.
        """
        events, applied = self._rows(events), self.after.applied
        if self.summary.truncated is not None:
            events = events.drop(_BEHIND, _AHEAD)
        # A repeated snapshot row has a place before the TRUNCATE, and none in `lowest`.
        looked_at, lowest = self.summary.truncated is not None or self.summary.snapshot_rows, self.summary.lowest
        if applied is None or not (looked_at or (lowest is not None and rank(lowest) <= rank(str(applied)))):
            return events
        return events.filter(F.col(f"row.{LSN}") > F.lit(applied))

    def _rows(self, events: DataFrame) -> DataFrame:
        return events.filter(~is_mark()) if self.summary.marks else events


def removals(rows: DataFrame, written: DataFrame, table: TableSettings, position: int) -> DataFrame:
    """Return deletes of the table's `rows` that a TRUNCATE has removed, except those that the batch replaces.

    `written` are the batch's rows. The result has key, partition, position and Hudi's flag of deletes.
    """
    columns = dict.fromkeys((*table.key_fields, *table.partition_fields))
    kind = rows.schema[LSN].dataType
    key = key_of(table.key_fields).alias(KEY)
    gone = rows.filter(F.col(LSN) <= F.lit(position)).select(key, *columns)
    # Without a global index a key may be in several partitions, with a row in each.
    places = () if table.global_index else table.partition_fields
    written = written.select(key, *(F.col(name).alias(f"_to_{name}") for name in places))
    same = [gone[KEY] == written[KEY], *(gone[name].eqNullSafe(written[f"_to_{name}"]) for name in places)]
    left = gone.join(written, same, "left_anti")
    return left.select(*columns, F.lit(position).cast(kind).alias(LSN), F.lit(True).alias(IS_DELETED))


# Maximum keys that one look-up brings to the driver; Spark looks up more.
_COLLECTED = 10_000


def _without_a_value(lacking: DataFrame) -> DataFrame:
    reason = F.concat(F.lit("placeholder: no earlier value of "), F.concat_ws(", ", "placeholders"))
    return lacking.withColumn("reason", reason).select(*COLUMNS)


class LoggedEvents(Orderer):
    """Gives events their places, drops those with a newer known state, and fills in TOAST placeholders."""

    remembers_deletes = True

    def __call__(self, batch: Batch, decoded: DecodedBatch, progress: Checkpoint) -> OrderedChanges:
        """Return the events with TOAST placeholders replaced, and those without a known value."""
        summary, ordering = decoded.summary, self._settings.ordering_field
        events = changes.with_key(decoded.events, self._settings.key_fields)
        if isinstance(batch, LoadBatch):
            return self._loaded(batch, events, decoded)
        truncates = BatchTruncates(self._settings.truncate, progress.truncates, summary)
        if summary.snapshot_rows:
            events, behind, emptied = truncates.places(events)
            events = changes.placed(
                events,
                self._stored_rows({}),
                memory.as_frame(self._spark, progress.deleted) if progress.deleted else None,
                behind=behind,
                emptied=emptied,
                only_these=summary.snapshot_rows == summary.events - summary.bad - summary.marks,
            )
        events = truncates.remaining(events)
        lowest = None if summary.snapshot_rows else summary.lowest
        remembered = self._remembered_deletes(events, progress, lowest)
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
            events = changes.with_moved(events, stored, list(types))
        restored, lacking = changes.restore_placeholders(events, stored, list(types), ordering=ordering)
        return OrderedChanges(restored, _without_a_value(lacking), summary, notes=notes)

    def _loaded(self, batch: LoadBatch, events: DataFrame, decoded: DecodedBatch) -> OrderedChanges:
        summary, has_all = decoded.summary, F.size("placeholders") == 0
        lacking = _without_a_value(events.filter(~has_all)) if summary.placeholders else None
        # A row that doesn't fit is in the source, too, but its key isn't known.
        found = differences(events, self._stored_rows, self._decoder.columns, batch, complete=not summary.bad)
        if found is None:
            return OrderedChanges(events.filter(has_all), lacking, summary, fresh=True, whole_keys=decoded.whole_keys)
        found = self._keep(found)
        gone = found.filter("deleted").count()
        note = f"{summary.bad} rows don't fit, so rows that the source no longer has stay"
        notes = (note,) if summary.bad else ()
        summary = replace(summary, deletes=gone)
        return OrderedChanges(found.filter(has_all), lacking, summary, rewrites=True, notes=notes)

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
        columns = [column for column in self._decoder.columns if has_placeholder(column)]
        stored = self._stored_rows.whole(columns) if columns else None
        if stored is None:
            return ()
        older = F.col(f"row.{self._settings.ordering_field}") < F.col(STORED_AT)
        differs = [
            ~F.array_contains("placeholders", name) & ~F.col("row")[name].eqNullSafe(F.col(STORED_ROW)[name])
            for name in (column.name for column in columns)
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

    def _remembered_deletes(self, events: DataFrame, progress: Checkpoint, lowest: str | None) -> DataFrame | None:
        """Return the remembered deletes that matter to keyed `events`, as a register's frame; None without any.

        `lowest`: the events' lowest ordering value, None if unknown. Usually all are newer than every remembered
        delete, and no look-up is needed: otherwise only a few are older, being late or repeated.
        """
        newest = progress.newest_delete
        if newest is None or (lowest is not None and memory.rank(lowest) > memory.rank(newest)):
            return None
        ordering = self._settings.ordering_field
        bound = F.lit(newest).cast(changes.type_of(events, ordering))
        late = events.filter(F.col(f"row.{ordering}") <= bound).select(KEY).distinct()
        keys = [row[KEY] for row in late.limit(_COLLECTED + 1).collect()]
        if len(keys) > _COLLECTED:
            return memory.as_frame(self._spark, progress.deleted)
        found = {key: progress.deleted[key] for key in keys if key in progress.deleted}
        return memory.as_frame(self._spark, found) if found else None
