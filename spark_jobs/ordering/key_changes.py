"""Follows rows whose key changed, which Debezium sends as a delete of the old key and an insert of the new one.

The insert has a placeholder for each large value that the update left alone (TOAST), and its new key has no earlier
value: only the old key has. Both events have the update's position in the log, which links them.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from contract.events import CREATE, LSN, OPERATION
from spark_jobs.ordering.changes import KEY, restore_placeholders

_PLACE = (KEY, "tie", "block", "number")
# No field that becomes a column can have these names.
_OLD, _AT, _DELETE, _OWN = "old key", "moved at", "its delete", "own place"


def with_moved(
    events: DataFrame, stored: DataFrame | None, columns: Sequence[str], *, ordering: str = LSN
) -> DataFrame:
    """Return the keyed `events`; placeholders of moved rows get the values of their old key.

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
    restored, _ = restore_placeholders(known, stored, columns, ordering=ordering)
    found = restored.filter(F.col(_OWN).isNotNull()).withColumns({name: F.col(_OWN)[name] for name in _PLACE})
    # Few rows; otherwise each later use would plan and compute all of this again.
    found = found.select(*events.columns).localCheckpoint()
    return events.join(found.select(*_PLACE), list(_PLACE), "left_anti").select(*events.columns).unionByName(found)
