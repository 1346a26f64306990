"""Gives the rows of a snapshot their place in the order of changes (docs/decisions/0021).

A snapshot's row (`__op` r) has a row's values at the time of reading, with a position that isn't its own: the slot's
beginning, or none at all in an incremental snapshot. A transaction that the snapshot didn't see may have written before
that position, and its event must win all the same. Only Debezium's writing order is certain: changes that a snapshot's
row includes precede it in the topic, or aren't in the topic at all, and changes that it lacks follow it. So it takes
the place of the change before it, and any later event is newer.
"""

from collections.abc import Sequence

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from contract.events import LSN, OPERATION, READ
from spark_jobs.decoding.schema import Column
from spark_jobs.ordering.changes import KEY, STORED_AT
from spark_jobs.ordering.memory import LATE, isnt_behind

# Before every change: the place of a snapshot's row without an earlier change.
FIRST = 0


def have_places(columns: Sequence[Column], ordering: str) -> bool:
    """Check whether the table is ordered by the log's position, in which a snapshot's rows have no place of their own.

    Ordered by another field, they are treated like any event.
    """
    kinds = {column.name: column.stored for column in columns}
    return ordering == LSN and OPERATION in kinds and isinstance(kinds.get(LSN), T.NumericType)


def is_snapshot_row() -> Expression:
    """Mark the rows of a snapshot among decoded events."""
    return F.coalesce(F.col(f"row.{OPERATION}") == READ, F.lit(False))


def placed(
    events: DataFrame,
    stored: DataFrame | None,
    remembered: DataFrame | None,
    *,
    behind: Expression,
    emptied: Expression,
    only_these: bool = False,
) -> DataFrame:
    """Give each snapshot row the position of the change before it: in the batch, in the table, or a delete's.

    `stored`: KEY and STORED_AT of the table's rows; `remembered`: a register's frame of deletes, None without any;
    `only_these`: the batch has no other events. Behind a delete the place is the next one, so that a repeated delete
    can't remove the row. A row of an initial snapshot that comes late, after changes beyond its own position, keeps
    that position and loses. No row has an earlier place than `behind`, since a TRUNCATE came before.

    A row before a remembered delete in its topic is a repeated one: it gets the first place of all and loses. So does
    one that is `emptied`, as it precedes a TRUNCATE. One in a file below those already read may be repeated, too: the
    table's row stays.
    """
    first = F.greatest(F.lit(FIRST), behind)
    position = F.col(f"row.{LSN}")
    if only_these and stored is None and remembered is None:
        return _at(events, F.when(emptied, F.lit(FIRST)).otherwise(first))
    in_order = Window.partitionBy(KEY).orderBy("tie", "block", "number")
    earlier = in_order.rowsBetween(Window.unboundedPreceding, -1)
    change = F.when(~is_snapshot_row(), F.when(F.col("deleted"), position + 1).otherwise(position))
    found = events.withColumn("_before", F.max(change).over(earlier))
    known, again = [F.col("_before")], emptied
    rows = F.broadcast(events.filter(is_snapshot_row()).select(KEY).distinct())
    if stored is not None:
        newest = stored.join(rows, KEY, "left_semi").groupBy(KEY).agg(F.max(STORED_AT).alias("_stored"))
        found = found.join(newest, KEY, "left")
        known.append(F.when(~F.col(LATE), F.col("_stored")))
    if remembered is not None:
        later = in_order.rowsBetween(1, Window.unboundedFollowing)
        next_delete = F.min(F.when(~is_snapshot_row() & F.col("deleted"), position)).over(later)
        found = found.withColumn("_next_delete", next_delete).join(F.broadcast(remembered), KEY, "left")
        deleted_at = F.col("deleted_at").cast(_type_of(events))
        known.append(deleted_at + 1)
        repeated = F.coalesce(F.col("_next_delete") <= deleted_at, F.lit(False))
        again = again | repeated | isnt_behind(F.col("delete_offset"), F.col("delete_sent_ms"))
    place = F.when(again, F.lit(FIRST)).otherwise(F.greatest(first, *known))
    return _at(found, place).select(*events.columns)


def _at(events: DataFrame, place: Expression) -> DataFrame:
    """Move the snapshot's rows to their place, unless that is beyond their own position."""
    own = F.col(f"row.{LSN}")
    kind = _type_of(events)
    place = place.cast(kind)
    new = F.when(is_snapshot_row(), F.when(own < place, own).otherwise(place)).otherwise(own)
    return events.withColumn("row", F.col("row").withField(LSN, new.cast(kind)))


def _type_of(events: DataFrame) -> T.DataType:
    return events.select(F.col(f"row.{LSN}").alias("p")).schema["p"].dataType
