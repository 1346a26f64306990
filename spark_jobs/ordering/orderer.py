"""What a batch's decoded events mean for the table, and the operation that writes them."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import and_
from typing import cast

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.decoding.batch_decoder import BatchDecoder, DecodedBatch
from spark_jobs.decoding.schema import Column
from spark_jobs.decoding.summary import Summary
from spark_jobs.errors import Log
from spark_jobs.options.table_settings import TableSettings
from spark_jobs.ordering.changes import KEY, STORED_AT, STORED_ROW, comparison_form, key_of
from spark_jobs.runtime.session import CodegenSwitch
from spark_jobs.sources.batches import Batch
from spark_jobs.table.commits import Checkpoint
from spark_jobs.table.hudi_table import HudiTable, is_bucketed


@dataclass(frozen=True)
class OrderedChanges:
    """The events for the table, with changes.KEY; and those that don't fit after all, None without any.

    `summary` counts the events as they are now. `idle`: the table already has everything and needs no commit.
    `rewrites`: the table has rows of some of these keys, which an insert would duplicate. `fresh`: each event is a row
    of its own key, which the table lacks. `whole_keys`: no part of a key is empty. `notes` are lines for the log.
    """

    events: DataFrame
    lacking: DataFrame | None
    summary: Summary
    idle: bool = False
    rewrites: bool = False
    fresh: bool = False
    whole_keys: bool = False
    notes: tuple[str, ...] = ()


@dataclass(eq=False)
class StoredRows:
    """The table's rows, for comparison with events; `passed_on` columns are the source's own, None: all."""

    table: HudiTable
    settings: TableSettings
    compiling: CodegenSwitch
    passed_on: Collection[str] | None = field(default=None, init=False)

    def __call__(self, columns: Mapping[str, T.DataType]) -> DataFrame | None:
        """Return KEY, STORED_AT (the ordering value) and `columns`, null if not passed on; None without a table."""
        schema = self.table.schema()
        if schema is None:
            return None
        passed = schema.names if self.passed_on is None else self.passed_on
        kinds = {one.name: one.dataType for one in schema.fields if one.name in passed}
        key = key_of(self.settings.key_fields).alias(KEY)
        values = [_as(kind, name, kinds.get(name)).alias(name) for name, kind in columns.items()]
        stored = self.table.rows().select(key, F.col(self.settings.ordering_field).alias(STORED_AT), *values)
        self.compiling.resume()  # the table may have millions of rows, even for few events
        return stored

    def whole(self, columns: Sequence[Column]) -> DataFrame | None:
        """Return KEY, STORED_AT and the `columns` as STORED_ROW; None without a table."""
        stored = self({column.name: column.stored for column in columns})
        row = F.struct(*(column.name for column in columns)).alias(STORED_ROW)
        return None if stored is None else stored.select(KEY, STORED_AT, row)

    def are_same(self, columns: Sequence[Column]) -> Expression:
        """Tell whether an event has STORED_ROW's values; never where a query computes some, which the source lacks."""
        pairs = ([comparison_form(F.col(row)[c.name], c.stored) for row in (STORED_ROW, "row")] for c in columns)
        return reduce(and_, (one.eqNullSafe(other) for one, other in pairs)) & F.lit(self.passed_on is None)


def _as(kind: T.DataType, name: str, there: T.DataType | None) -> Expression:
    """Return a stored column, null if it isn't `there`; as a text where numbers have become texts.

    Spark compares a text with a number as numbers: 007 would be 7, and a text that is no number null.
    """
    if there is None:
        return F.lit(None).cast(kind)
    return F.col(name).cast(kind) if isinstance(kind, T.StringType) and there != kind else F.col(name)


class Orderer(ABC):
    """Decides which events of a batch the table takes."""

    # Whether an event may be repeated, or late, after its key's delete.
    remembers_deletes = False

    def __init__(
        self, spark: SparkSession, settings: TableSettings, *, decoder: BatchDecoder, stored_rows: StoredRows
    ) -> None:
        self._spark = spark
        self._settings = settings
        self._decoder = decoder
        self._stored_rows = stored_rows
        self._kept: list[DataFrame] = []

    @abstractmethod
    def __call__(self, batch: Batch, decoded: DecodedBatch, progress: Checkpoint) -> OrderedChanges:
        """Return the table's changes from a decoded batch, after the commit with `progress`."""

    def _keep(self, frame: DataFrame) -> DataFrame:
        self._kept.append(frame.persist())
        return self._kept[-1]

    def release(self) -> None:
        """Free the batch's cached data, after its commit or failure."""
        for frame in self._kept:
            frame.unpersist()
        self._kept = []


def operation_for(settings: TableSettings, ordered: OrderedChanges, *, is_new: bool, log: Log) -> str:
    """Return the operation that writes a batch; `log` gets a line when it isn't the settings'."""
    wanted, summary = settings.operation, ordered.summary
    bucketed = is_bucketed(settings)
    if wanted == "upsert" and ordered.fresh and not summary.deletes:
        # All keys are new, so skip upsert's lookup. But each task would have a file open in each folder, and a bucket
        # index's buckets can be filled in bulk only once.
        slow = settings.partition_fields or (bucketed and not is_new) or not _keys_are_alike(settings, ordered)
        return wanted if slow else "bulk_insert"
    if wanted != "upsert" and (summary.deletes or summary.truncated is not None):
        log(f"{wanted} can't delete: this batch has deletes and is written by upsert")
        return "upsert"
    if wanted != "upsert" and ordered.rewrites:
        log(f"{wanted} would double rows: this batch has changed ones and is written by upsert")
        return "upsert"
    if wanted == "bulk_insert" and bucketed and not is_new:
        # Each would add a second file to the buckets, after which Hudi can't write to the table any more.
        log("bulk_insert fills a bucket index only once: this batch is written by insert")
        return "insert"
    return wanted


def _keys_are_alike(settings: TableSettings, ordered: OrderedChanges) -> bool:
    """Tell whether a bulk insert writes the keys that an upsert looks for.

    Hudi's row writer cuts an instant, writes an array's address for bytes, and refuses an empty part (tried with 0.15).
    """
    row = cast(T.StructType, ordered.events.schema["row"].dataType)
    kinds = [row[name].dataType for name in settings.key_fields]
    may_be_empty = len(kinds) > 1 and not ordered.whole_keys
    unlike = (T.TimestampType, T.BinaryType, *((T.StringType,) if may_be_empty else ()))
    return not any(isinstance(kind, unlike) for kind in kinds)
