"""The events' record keys where a table has none of its own, and the partitions of their rows.

Every event of a table without a key is a row, and a repeated event keeps its identity. `__lsn` isn't enough: a COPY
writes up to a page of rows as one record of PostgreSQL's log, and all of them have its position; so do all rows of a
snapshot. So the identity includes the content and, among events of equal content, the place. Debezium writes the rows
of one record one after the other: equal ones that stand apart, with events of another position in between, are the
same event, sent again.
"""

import re
from collections.abc import Sequence

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from contract.events import EVENT_ID, LSN
from spark_jobs.decoding.schema import Column
from spark_jobs.decoding.wire import stored_path
from spark_jobs.options.table_settings import TableSettings

EVENT_ID_COLUMN = Column(EVENT_ID, T.StringType(), T.StringType())
_HEX_DIGITS = 32
_CONTENT, _RUN = "event content", "event run"


def identified(events: DataFrame, columns: Sequence[Column]) -> DataFrame:
    """Fill in EVENT_ID of decoded events, `<__lsn>-<digest of the content>-<place among equal ones>`.

    `columns`: the row's. No event is a delete then: a deleted row's event is a row, too. Columns added later don't
    change an identity, since empty ones don't count.
    """
    position = F.col(f"row.{LSN}")
    content = F.substring(F.sha2(_text(columns), 256), 1, _HEX_DIGITS)
    fits = F.col("reason").isNull() & ~F.col("blank")
    # Over the whole file: Spark reads a large one in blocks, and may cut between equal rows.
    lines = Window.partitionBy("origin").orderBy("block", "number")
    like = Window.partitionBy("origin", _CONTENT, _RUN).orderBy("block", "number")
    numbered = (
        events.withColumn(_CONTENT, F.when(fits, F.concat_ws("-", position, content)))
        .withColumn(_RUN, ~position.eqNullSafe(F.lag(position).over(lines)))
        .withColumn(_RUN, F.count_if(_RUN).over(lines))
        .withColumn(_RUN, F.row_number().over(like))
    )
    identity = F.when(fits, F.concat_ws("-", _CONTENT, _RUN))
    row = F.col("row").withField(EVENT_ID, identity)
    named = numbered.withColumn("row", row).withColumn("deleted", F.lit(False))
    return named.select(*events.columns)


def _text(columns: Sequence[Column]) -> Expression:
    """Return the row as JSON, in which times have milliseconds; the microseconds beyond follow, where there are any.

    By the columns' names: a column that came with events has another place once the schema file has it.
    """
    ordered = sorted((column for column in columns if column.name != EVENT_ID), key=lambda column: column.name)
    beyond = [
        F.nullif(F.unix_micros(f"row.{column.name}") % 1000, F.lit(0)).alias(column.name)
        for column in ordered
        if isinstance(column.stored, T.TimestampType)
    ]
    text = F.to_json(F.expr(f"struct({', '.join(map(stored_path, ordered))})"))
    return F.concat_ws("", text, F.nullif(F.to_json(F.struct(*beyond)), F.lit("{}"))) if beyond else text


def numbered(rows: DataFrame) -> DataFrame:
    """Fill in EVENT_ID of a table's rows, `<__lsn>-<number>`: they are read once, all at one position."""
    way = F.when(F.col("line").isNull(), F.lit("r")).otherwise(F.lit("l"))
    identity = F.when(F.col("reason").isNull(), F.concat_ws("-", F.col(f"row.{LSN}"), way, F.col("number")))
    return rows.withColumn("row", F.col("row").withField(EVENT_ID, identity))


# Folder for null in Hive, and so in Hudi, Spark and Trino: read back, this text is null.
DEFAULT = "__HIVE_DEFAULT_PARTITION__"
# Characters that org.apache.hudi.common.util.PartitionPathEncodeUtils encodes.
_ENCODED = r"""[\x01-\x1f\x7f"#%'*/:=?\\{\[\]^]"""
# Folders with such a name count as bookkeeping, or lead elsewhere; `field=` before the value prevents both.
_HIDDEN = r"^[._]"
# Limit for a name in most file systems.
_MOST_BYTES = 255


def unplaceable(table: TableSettings, columns: Sequence[Column], encoded: bool, deleted: Expression) -> Expression:
    """Return why an event's `row` can't be placed in a partition, as text; null when it can.

    `encoded`: whether folders are. `deleted`: deletes, which without a global index need their partition's values.
    """
    kinds = {column.name: column.stored for column in columns}
    reasons = []
    for name in table.partition_fields:
        value = F.col(f"row.{name}")
        shown = F.substring(value, 1, 60)
        if not table.global_index:
            absent = F.coalesce(value.cast("string"), F.lit("")) == ""
            reasons.append(F.when(deleted & absent, F.lit(f"missing: {name}, by which a delete finds its row")))
        if isinstance(kinds.get(name), T.StringType):
            bad = (value == DEFAULT) | value.contains("\0")
            prefix = len(f"{name}=") if table.hive_style else 0
            bad |= F.octet_length(F.regexp_replace(value, _ENCODED, "%00")) + prefix > _MOST_BYTES
            bad |= F.lit(False) if table.hive_style else value.rlike(_HIDDEN)
            bad |= F.lit(False) if encoded else value.rlike(_ENCODED)
            reasons.append(F.when(bad, F.concat(F.lit(f"partition: {name} can't be a folder's name: "), shown)))
    return F.coalesce(F.lit(None).cast("string"), *reasons)


def values_of(path: str) -> list[str]:
    """Return the decoded partition values of a folder's path relative to the table, `field=value/…` or `value/…`."""
    segments = [re.sub(r"^[^=]*=", "", segment) for segment in path.split("/")]
    return [re.sub("%([0-9A-Fa-f]{2})", lambda found: chr(int(found[1], 16)), segment) for segment in segments]
