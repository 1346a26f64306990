"""Looks up what is known of a batch's keys: the deletes that the commits remember, and the rows that the table has."""

from collections.abc import Collection, Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs import deletes_register
from spark_jobs.changes import KEY, STORED_AT, key_of
from spark_jobs.checkpoint import Checkpoint
from spark_jobs.table import HudiTable

# Keys that one look-up brings to the driver; of more, Spark looks for them.
_COLLECTED = 10_000


def remembered_deletes(
    spark: SparkSession, events: DataFrame, progress: Checkpoint, *, ordering: str, lowest: str | None
) -> DataFrame | None:
    """Return the remembered deletes that matter to keyed `events`, as a register's frame; None when none does.

    `lowest` is the events' lowest ordering value, None where it isn't known. As a rule all are newer than every
    remembered delete, and nothing has to be looked up: otherwise those that aren't are few, being late or repeated.
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


def stored_rows(
    table: HudiTable,
    columns: Mapping[str, T.DataType],
    *,
    key_fields: Sequence[str],
    ordering: str,
    usable: Collection[str] | None = None,
) -> DataFrame | None:
    """Return KEY, STORED_AT (the ordering value) and `columns` of the table's rows; None without a table.

    Of `usable` columns the table has the source's own values; None says that it has of all. Others are null.
    """
    schema = table.schema()
    if schema is None:
        return None
    known = set(schema.names) if usable is None else set(schema.names) & set(usable)
    key = key_of(key_fields)
    values = [(F.col(name) if name in known else F.lit(None).cast(kind)).alias(name) for name, kind in columns.items()]
    return table.rows().select(key.alias(KEY), F.col(ordering).alias(STORED_AT), *values)
