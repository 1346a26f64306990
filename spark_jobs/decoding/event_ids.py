"""Identifies the events of a table without a key: every event is a row, and a repeated event keeps its identity.

`__lsn` isn't enough: a COPY writes up to a page of rows as one record of PostgreSQL's log, and all of them have its
position; so do all rows of a snapshot. So the identity includes the content and, among events of equal content, the
place. Debezium writes the rows of one record one after the other: equal ones that stand apart, with events of another
position in between, are the same event, sent again.
"""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from contract.events import EVENT_ID, LSN
from spark_jobs.decoding.schema import Column

COLUMN = Column(EVENT_ID, T.StringType(), T.StringType())
_HEX_DIGITS = 32
_CONTENT, _RUN = "event content", "event run"


def identified(events: DataFrame) -> DataFrame:
    """Fill in EVENT_ID of decoded events, `<__lsn>-<digest of the content>-<place among equal ones>`.

    No event is a delete then: a deleted row's event is a row, too. Columns added later don't change an identity, since
    empty ones don't count.
    """
    position = F.col(f"row.{LSN}")
    content = F.substring(F.sha2(F.to_json("row"), 256), 1, _HEX_DIGITS)
    fits = F.col("reason").isNull() & ~F.col("blank")
    # Consecutive lines of one position: line number and place within the position grow alike.
    of_position = Window.partitionBy("origin", "block", position).orderBy("number")
    like = Window.partitionBy(_CONTENT, "origin", "block", _RUN).orderBy("number")
    numbered = (
        events.withColumn(_CONTENT, F.when(fits, F.concat_ws("-", position, content)))
        .withColumn(_RUN, F.col("number") - F.row_number().over(of_position))
        .withColumn(_RUN, F.row_number().over(like))
    )
    identity = F.when(fits, F.concat_ws("-", _CONTENT, _RUN))
    row = F.col("row").withField(EVENT_ID, identity)
    named = numbered.withColumn("row", row).withColumn("deleted", F.lit(False))
    return named.select(*events.columns)
