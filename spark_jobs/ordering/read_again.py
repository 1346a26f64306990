"""Orders the rows of a table that was read again whole: what differs is written, and rows that are gone are deleted.

The snapshot contains every change that the table has had (docs/decisions/0024), so its rows replace the table's. Each
keeps the place of the row that it replaces: a change that the snapshot lacks came after that one.
"""

from collections.abc import Sequence

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from contract.events import (
    ADDED_TYPES,
    DELETE,
    DELETED,
    IS_DELETED,
    LSN,
    OPERATION,
    SOURCE_TIME_MS,
    TRANSACTION,
)
from spark_jobs.decoding import wire
from spark_jobs.decoding.schema import Column
from spark_jobs.options.table_settings import TableSettings
from spark_jobs.ordering.changes import KEY, STORED_AT, STORED_ROW, filled
from spark_jobs.ordering.orderer import StoredRows
from spark_jobs.sources.postgres.first_load import LoadBatch

# No field that becomes a column can have this name.
_STORED_KEY = "stored key"
_NUMBER = "decimal(38, 0)"


def differences(
    events: DataFrame, stored_rows: StoredRows, columns: Sequence[Column], batch: LoadBatch, *, complete: bool
) -> DataFrame | None:
    """Return those of the keyed `events` that are new or differ from the table's rows, and deletes of its other rows.

    None without a table. `columns`: the table's. `complete`: each row of the source is an event, so others are gone.
    """
    compared = [column for column in columns if column.name not in {*ADDED_TYPES, TRANSACTION}]
    stored = stored_rows.whole(compared)
    if stored is None:
        return None
    there = stored.withColumnRenamed(KEY, _STORED_KEY)
    joined = events.join(there, F.col(KEY) == F.col(_STORED_KEY), "full_outer")
    gone, new = F.isnull(KEY), F.isnull(_STORED_KEY)
    written = joined.filter(F.when(gone, F.lit(complete)).otherwise(new | ~stored_rows.are_same(compared)))
    return written.select(*_events(events, stored_rows.settings, batch, gone))


def _events(events: DataFrame, settings: TableSettings, batch: LoadBatch, gone: Expression) -> list[Expression]:
    kind = events.schema["row"].dataType
    assert isinstance(kind, T.StructType)  # noqa: S101  (decode.py makes it)
    names = dict.fromkeys((*settings.key_fields, *settings.partition_fields))
    delete = {
        **{name: F.col(STORED_ROW)[name] for name in names},
        LSN: F.col(STORED_AT),
        OPERATION: F.lit(DELETE),
        DELETED: F.lit(IS_DELETED),
        SOURCE_TIME_MS: F.lit(batch.order[SOURCE_TIME_MS]),
    }
    # In a table whose positions are text, they are compared as numbers all the same.
    place = F.greatest(F.col(f"row.{LSN}").cast(_NUMBER), F.col(STORED_AT).cast(_NUMBER)).cast(kind[LSN].dataType)
    own = {
        KEY: F.coalesce(KEY, _STORED_KEY),
        "row": F.when(gone, F.struct(*filled(delete, kind.fields))).otherwise(F.col("row").withField(LSN, place)),
        "deleted": gone,
        "blank": F.lit(False),
        "origin": F.lit(batch.relation.settings.name),
    }
    own |= {name: F.coalesce(name, wire.no_names()) for name in ("placeholders", "unknown")}
    return [own.get(name, F.col(name)).alias(name) for name in events.columns]
