"""What a batch's decoded events mean for the table: each kind of source has its own answer."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from spark_jobs.batch_decoder import DecodedBatch
from spark_jobs.checkpoint import Checkpoint
from spark_jobs.known import stored_rows
from spark_jobs.session import Compiling
from spark_jobs.sources import Batch
from spark_jobs.summary import Summary
from spark_jobs.table import HudiTable
from spark_jobs.table_settings import TableSettings


@dataclass(frozen=True)
class Settled:
    """The events, with changes.KEY, that the table takes in; those that don't fit after all, None for none of these.

    `summary` counts the events as they are now. `idle` says that the table needs no commit: it has all of this.
    `rewrites` says that the table has rows of some of these keys, which an insert would double. `fresh` says that each
    event is a row of a key of its own, which the table hasn't. `notes` are lines for the log.
    """

    events: DataFrame
    lacking: DataFrame | None
    summary: Summary
    idle: bool = False
    rewrites: bool = False
    fresh: bool = False
    notes: tuple[str, ...] = ()


class Settles(Protocol):
    """Settles batches; `remembers_deletes` says that an event may come again, or late, after its key's delete."""

    remembers_deletes: bool

    def __call__(self, batch: Batch, decoded: DecodedBatch, progress: Checkpoint) -> Settled:
        """Return what the table takes in of a decoded batch, after the commit that `progress` is of."""

    def release(self) -> None:
        """Free what was cached for the batch: it is committed, or has failed."""


class LakeRows:
    """The rows that the table has, to be compared with events; `passed_on` columns are the source's own, None: all."""

    def __init__(self, table: HudiTable, settings: TableSettings, compiling: Compiling) -> None:
        self._table = table
        self._settings = settings
        self._compiling = compiling
        self.passed_on: Collection[str] | None = None

    def __call__(self, columns: Mapping[str, T.DataType]) -> DataFrame | None:
        """Return KEY, STORED_AT and `columns` of the rows; None without a table."""
        stored = stored_rows(
            self._table,
            columns,
            key_fields=self._settings.key_fields,
            ordering=self._settings.ordering_field,
            usable=self.passed_on,
        )
        if stored is not None:
            self._compiling.resume()  # however few events, the table may have millions of rows
        return stored
