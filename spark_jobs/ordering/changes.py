"""Orders the changes of a batch: one row per key, the newest, and nothing older than the known state of its key.

A snapshot's row (`__op` r) has a row's values at the time of reading, with a position that isn't its own: the slot's
beginning, or none at all in an incremental snapshot. A transaction that the snapshot didn't see may have written before
that position, and its event must win all the same. Only Debezium's writing order is certain: changes that a snapshot's
row includes precede it in the topic, or aren't in the topic at all, and changes that it lacks follow it. So it takes
the place of the change before it, and any later event is newer (docs/decisions/0021).
"""

from collections.abc import Mapping, Sequence

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.window import WindowSpec

from contract.events import CREATE, LSN, OPERATION, READ
from spark_jobs.decoding.schema import IS_DELETED, Column
from spark_jobs.ordering.memory import LATE, OFFSET, SENT_MS, is_before

# No field that becomes a column can have these names.
KEY = "event key"
STORED_AT, STORED_ROW = "stored at", "stored row"


def with_key(decoded: DataFrame, key_fields: Sequence[str]) -> DataFrame:
    """Add KEY, the key's values as one unambiguous text (a JSON array), to decoded events that fit, with a row."""
    key = key_of([f"row.{name}" for name in key_fields])
    return decoded.filter("reason IS NULL AND NOT blank AND row IS NOT NULL").withColumn(KEY, key)


def key_of(columns: Sequence[str]) -> Expression:
    return F.to_json(F.array(*map(_key_text, columns)))


def _key_text(name: str) -> Expression:
    """Return a value as text. Each byte becomes a character: JSON would make one of all that aren't UTF-8."""
    text = F.col(name).cast("string")
    return F.when(F.typeof(name) == "binary", F.decode(text.cast("binary"), "ISO-8859-1")).otherwise(text)


def without_deleted_before(events: DataFrame, deletes: DataFrame, *, ordering: str) -> DataFrame:
    """Drop the events, deletes too, that aren't newer than the remembered delete of their key.

    `deletes` has KEY and `deleted_at`, the delete's ordering value as text; further columns are allowed.
    """
    joined = events.join(F.broadcast(deletes.select(KEY, "deleted_at")), KEY, "left")
    older = F.col(f"row.{ordering}") <= F.col("deleted_at").cast(type_of(events, ordering))
    return joined.filter(~F.coalesce(older, F.lit(False))).drop("deleted_at")


def keep_newest(events: DataFrame, *, ordering: str) -> DataFrame:
    """Keep, per KEY, the event with the highest ordering value; of equal ones the later in the source.

    `_rank`, 1, stays in the result: dropping it is slow on wide tables.
    """
    return events.withColumn("_rank", _newest_first(ordering)).filter("_rank = 1")


def numbered(events: DataFrame, *, ordering: str, newer: str) -> DataFrame:
    """Add the column `newer`, the number of newer events of the same KEY: 0 for those that `keep_newest` keeps."""
    return events.withColumn(newer, _newest_first(ordering) - 1)


def without_idle_deletes(newest: DataFrame, stored: DataFrame, *, ordering: str) -> DataFrame:
    """Drop the deletes, among folded events, of rows that are newer or don't exist.

    `stored` has KEY and STORED_AT, the rows' ordering value. Merge-on-read needs this: Hudi compares a delete with the
    log's records and never with the base file's row.
    """
    rows = stored.groupBy(KEY).agg(F.max(STORED_AT).alias(STORED_AT))
    joined = newest.join(rows, KEY, "left")
    does_something = F.coalesce(F.col(STORED_AT) <= F.col(f"row.{ordering}"), F.lit(False))
    return joined.filter(~F.col("deleted") | does_something).drop(STORED_AT)


def table_rows(events: DataFrame) -> DataFrame:
    """Select the table's columns of folded events: the row, and Hudi's delete flag."""
    return events.select("row.*", F.col("deleted").alias(IS_DELETED))


def deletes(events: DataFrame, *, ordering: str) -> DataFrame:
    """Select key, ordering value (as text) and place in the topic of the deletes among folded events."""
    at = F.col(f"row.{ordering}").cast("string").alias("deleted_at")
    return events.filter("deleted").select(KEY, at, OFFSET, SENT_MS)


def restore_placeholders(
    events: DataFrame, stored: DataFrame | None, columns: Sequence[str], *, ordering: str
) -> tuple[DataFrame, DataFrame]:
    """Replace each TOAST placeholder with the last known value: the key's value before it, in the order of its changes.

    `columns`: those with placeholders; `stored`: KEY, STORED_AT and `columns` of the table's rows, None without a
    table. In that order a stored row comes before an event of the same ordering value.

    Returns the events with their values restored, and those without a known value, which `placeholders` names. An event
    that a newer one of its key supersedes needs no value and is in neither.
    """
    # Only a few keys have placeholders; the rest of the batch must not wait for the sort below.
    affected = F.broadcast(events.filter(F.size("placeholders") > 0).select(KEY).distinct())
    untouched = events.join(affected, KEY, "left_anti")
    history = _resolved(_history(events.join(affected, KEY, "left_semi"), stored, affected, columns, ordering), columns)
    # An event that lacks a value can't be written, but doesn't matter once a newer one can.
    lacking = F.size("placeholders") > 0
    newer = _in_order(ordering).rowsBetween(1, Window.unboundedFollowing)
    judged = history.withColumn("_superseded", F.count_if(~lacking).over(newer) > 0).filter("_is_event")
    whole = judged.filter(~lacking).select(*untouched.columns)
    return untouched.unionByName(whole), judged.filter(lacking & ~F.col("_superseded"))


def _newest_first(ordering: str) -> Expression:
    order = (F.desc(column) for column in _order(ordering))
    return F.row_number().over(Window.partitionBy(KEY).orderBy(*order))


def _order(ordering: str) -> tuple[str, ...]:
    return (f"row.{ordering}", "tie", "block", "number")


def _in_order(ordering: str) -> WindowSpec:
    return Window.partitionBy(KEY).orderBy("_at", "_is_event", *_order(ordering)[1:])


def _history(
    events: DataFrame, stored: DataFrame | None, affected: DataFrame, columns: Sequence[str], ordering: str
) -> DataFrame:
    """Return the known states of the keys in the order of their changes; `_known_<column>` is the value so far."""
    given = []
    for name in columns:
        # A delete ends a row: its values say nothing about the next row.
        value = F.when(~F.col("deleted"), F.col(f"row.{name}"))
        is_known = F.col("deleted") | ~F.array_contains("placeholders", name)
        given.append(F.when(is_known, F.struct(value.alias("v"))).alias(f"_known_{name}"))
    history = events.select("*", F.col(f"row.{ordering}").alias("_at"), F.lit(True).alias("_is_event"), *given)
    if stored is not None:
        values = [F.struct(F.col(name).alias("v")).alias(f"_known_{name}") for name in columns]
        rows = stored.join(affected, KEY, "left_semi")
        rows = rows.select(KEY, F.col(STORED_AT).alias("_at"), F.lit(False).alias("_is_event"), *values)
        history = history.unionByName(rows, allowMissingColumns=True)
    until_now = _in_order(ordering).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    known = {f"_known_{name}": F.last(f"_known_{name}", ignorenulls=True).over(until_now) for name in columns}
    return history.withColumns(known)


def _resolved(history: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Fill the rows' placeholders with the known values; `placeholders` names those without, none for a delete."""
    row = F.col("row")
    for name in columns:
        value = F.when(F.array_contains("placeholders", name), F.col(f"_known_{name}.v"))
        row = row.withField(name, value.otherwise(F.col(f"row.{name}")))
    found = [F.when(F.col(f"_known_{name}.v").isNotNull(), F.lit(name)) for name in columns]
    lacking = F.array_except("placeholders", F.array(*found))
    none = F.array().cast("array<string>")
    return history.withColumns({"row": row, "placeholders": F.when(~F.col("deleted"), lacking).otherwise(none)})


def filled(values: Mapping[str, Expression], fields: Sequence[T.StructField]) -> list[Expression]:
    """Return columns of the `fields`' names and types, null where there is no value."""
    return [values.get(field.name, F.lit(None)).cast(field.dataType).alias(field.name) for field in fields]


def comparison_form(value: Expression, kind: T.DataType) -> Expression:
    """Return a form in which different values differ: -0 equals 0, but is another value."""
    return value.cast("string") if isinstance(kind, T.DoubleType | T.FloatType) else value


_PLACE = (KEY, "tie", "block", "number")
# No field that becomes a column can have these names.
_OLD, _AT, _DELETE, _OWN = "old key", "moved at", "its delete", "own place"


def with_moved(events: DataFrame, stored: DataFrame | None, columns: Sequence[str]) -> DataFrame:
    """Return the keyed `events`; placeholders of moved rows get the values of their old key.

    Debezium sends a changed key as a delete of the old one and an insert of the new one. The insert has a placeholder
    for each large value that the update left alone (TOAST), and its new key has no earlier value: only the old key has.
    Both events have the update's position in the log, which links them.

    `stored` and `columns` are restore_placeholders's. Placeholders remain where the old key has no value either: for a
    row that moves twice in a batch, or one whose delete came in another batch.
    """
    deletes = events.filter("deleted").select(
        F.col(KEY).alias(_OLD), F.col(f"row.{LSN}").alias(_AT), F.struct("tie", "block", "number").alias(_DELETE)
    )
    # After a crash of the connector both may be repeated.
    deletes = deletes.groupBy(_OLD, _AT).agg(F.min(_DELETE).alias(_DELETE))
    lacking = events.filter((F.size("placeholders") > 0) & (F.col(f"row.{OPERATION}") == CREATE))
    is_moved = (F.col(f"row.{LSN}") == F.col(_AT)) & (F.col(KEY) != F.col(_OLD))
    moved = lacking.join(F.broadcast(deletes), is_moved)
    if moved.isEmpty():
        return events
    # Among the old key's changes, right before its delete.
    place = {KEY: F.col(_OLD), "tie": F.col(_DELETE)["tie"], "block": F.col(_DELETE)["block"]}
    guests = moved.withColumn(_OWN, F.struct(*_PLACE)).withColumns({**place, "number": F.col(_DELETE)["number"] - 1})
    guests = guests.select(*events.columns, _OWN)
    known = events.unionByName(guests, allowMissingColumns=True)
    restored, _ = restore_placeholders(known, stored, columns, ordering=LSN)
    found = restored.filter(F.col(_OWN).isNotNull()).withColumns({name: F.col(_OWN)[name] for name in _PLACE})
    # Few rows; otherwise each later use would plan and compute all of this again.
    found = found.select(*events.columns).localCheckpoint()
    return events.join(found.select(*_PLACE), list(_PLACE), "left_anti").select(*events.columns).unionByName(found)


# Before every change: the place of a snapshot's row without an earlier change.
FIRST = 0


def have_places(columns: Sequence[Column], ordering: str) -> bool:
    """Check whether the table is ordered by the log's position, in which snapshot rows have no place of their own."""
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
    can't remove the row. Where the batch has later changes that the table's row already contains, the place is the
    first one's. A row of an initial snapshot that comes late, after changes beyond its own position, keeps that
    position and loses. No row has an earlier place than `behind`, since a TRUNCATE came before.

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
    later = in_order.rowsBetween(1, Window.unboundedFollowing)
    change = F.when(~is_snapshot_row(), F.when(F.col("deleted"), position + 1).otherwise(position))
    following = F.min(F.when(~is_snapshot_row(), position)).over(later)
    found = events.withColumns({"_before": F.max(change).over(earlier), "_next": following})
    known, again = [F.col("_before")], emptied
    rows = F.broadcast(events.filter(is_snapshot_row()).select(KEY).distinct())
    if stored is not None:
        newest = stored.join(rows, KEY, "left_semi").groupBy(KEY).agg(F.max(STORED_AT).alias("_stored"))
        found = found.join(newest, KEY, "left")
        known.append(F.when(~F.col(LATE) & F.col("_stored").isNotNull(), F.least("_stored", "_next")))
    if remembered is not None:
        next_delete = F.min(F.when(~is_snapshot_row() & F.col("deleted"), position)).over(later)
        found = found.withColumn("_next_delete", next_delete).join(F.broadcast(remembered), KEY, "left")
        deleted_at = F.col("deleted_at").cast(type_of(events, LSN))
        known.append(deleted_at + 1)
        repeated = F.coalesce(F.col("_next_delete") <= deleted_at, F.lit(False))
        again = again | repeated | is_before(F.col("delete_offset"), F.col("delete_sent_ms"))
    place = F.when(again, F.lit(FIRST)).otherwise(F.greatest(first, *known))
    return _at(found, place).select(*events.columns)


def _at(events: DataFrame, place: Expression) -> DataFrame:
    """Move the snapshot's rows to their place, unless that is beyond their own position."""
    own = F.col(f"row.{LSN}")
    kind = type_of(events, LSN)
    place = place.cast(kind)
    new = F.when(is_snapshot_row(), F.when(own < place, own).otherwise(place)).otherwise(own)
    return events.withColumn("row", F.col("row").withField(LSN, new.cast(kind)))


def type_of(events: DataFrame, field: str) -> T.DataType:
    """Return the type of a field of the events' rows."""
    return events.select(F.col(f"row.{field}").alias("p")).schema["p"].dataType
