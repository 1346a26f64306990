"""Effects of TRUNCATEs on one batch and the table's rows: which go, and where a snapshot's rows have their place."""

from dataclasses import dataclass

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from contract.events import LSN, OPERATION, TRUNCATE
from spark_jobs.decoding.schema import IS_DELETED
from spark_jobs.decoding.summary import Summary
from spark_jobs.decoding.topic_place import isnt_behind
from spark_jobs.options.keys import TRUNCATE_APPLY
from spark_jobs.options.table_settings import TableSettings
from spark_jobs.ordering.changes import KEY, key_of
from spark_jobs.ordering.deletes_register import rank
from spark_jobs.ordering.truncates import Truncates, is_mark

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
        again = isnt_behind(F.lit(place.offset), F.lit(place.sent_ms)) if place else F.lit(False)
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
        looked_at = self.summary.truncated is not None or self.summary.snapshot_rows
        if applied is None or not (looked_at or _reaches(self.summary.lowest, applied)):
            return events
        return events.filter(F.col(f"row.{LSN}") > F.lit(applied))

    def _rows(self, events: DataFrame) -> DataFrame:
        return events.filter(~is_mark()) if self.summary.marks else events


def removals(rows: DataFrame, newest: DataFrame, table: TableSettings, position: int) -> DataFrame:
    """Return deletes of the table's `rows` that a TRUNCATE has removed, except those that the batch replaces.

    `newest` are the batch's folded events. The result has key, partition, position and Hudi's flag of deletes.
    """
    columns = dict.fromkeys((*table.key_fields, *table.partition_fields))
    kind = rows.schema[LSN].dataType
    gone = rows.filter(F.col(LSN) <= F.lit(position)).select(key_of(table.key_fields).alias(KEY), *columns)
    # Without a global index a key may be in several partitions, with a row in each.
    places = () if table.global_index else table.partition_fields
    written = newest.select(KEY, *(F.col(f"row.{name}").alias(f"_to_{name}") for name in places))
    same = [gone[KEY] == written[KEY], *(gone[name].eqNullSafe(written[f"_to_{name}"]) for name in places)]
    left = gone.join(written, same, "left_anti")
    return left.select(*columns, F.lit(position).cast(kind).alias(LSN), F.lit(True).alias(IS_DELETED))


def _reaches(lowest: str | None, position: int) -> bool:
    """Check whether a batch's lowest ordering value is at or below a position."""
    return lowest is not None and rank(lowest) <= rank(str(position))
