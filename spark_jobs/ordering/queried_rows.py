"""Orders queried rows: unchanged rows need no write, and rows gone from the source are deleted.

An event of such a row carries the row's state, not a change (docs/decisions/0090). Comparing the rows, and the source's
keys, with the table shows which are new, changed or gone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from contract.events import (
    CREATE,
    DELETE,
    DELETED,
    IS_DELETED,
    OPERATION,
    QUERIED_TYPES,
    READ_MS,
    SPECIALS_COLUMN,
    UPDATE,
)
from spark_jobs.decoding.batch_decoder import DecodedBatch
from spark_jobs.decoding.decode import Decoder
from spark_jobs.decoding.schema import Column
from spark_jobs.errors import JobError, SettingsError
from spark_jobs.options import keys
from spark_jobs.options.table_settings import TableSettings
from spark_jobs.ordering import changes
from spark_jobs.ordering.changes import KEY, STORED_AT, STORED_ROW, filled
from spark_jobs.ordering.orderer import OrderedChanges, Orderer
from spark_jobs.sources.batches import Batch
from spark_jobs.sources.postgres.batch import JdbcBatch
from spark_jobs.sources.postgres.relation import ALL
from spark_jobs.table.commits import Checkpoint

# No field that becomes a column can have these names.
_IS_THERE, _IS_SAME = "is there", "is same"


@dataclass(frozen=True)
class _Compared:
    """A batch's events, how many are new or changed, and whether all are new, each of a key of its own."""

    events: DataFrame
    new: int
    changed: int
    fresh: bool = False


@dataclass(frozen=True)
class _Keys:
    """The table's rows whose keys the source no longer has: the rows, their count, and the total compared."""

    gone: DataFrame
    count: int
    of: int


class QueriedRows(Orderer):
    """Compares the result of a look with the table."""

    def __init__(self, spark: SparkSession, settings: TableSettings, **parts: Any) -> None:
        """Raise SettingsError for a table in which a key may be repeated; `parts` are Orderer's."""
        super().__init__(spark, settings, **parts)
        if not settings.global_index:
            raise SettingsError(f"{keys.INDEX_TYPE}: JdbcSource needs a global index, which finds a key anywhere")

    def __call__(self, batch: Batch, decoded: DecodedBatch, progress: Checkpoint) -> OrderedChanges:  # noqa: ARG002
        """Return new or changed rows, and deletes of missing ones; JobError for too many, or rows of one key."""
        assert isinstance(batch, JdbcBatch)  # noqa: S101  (table_job.py puts the two together)
        summary = decoded.summary
        events = changes.with_key(decoded.events, self._settings.key_fields)
        fitting = summary.events - summary.bad
        if not batch.relation.is_unique:
            self._refuse_doubles(events, batch)
        compared = self._compared(events, batch, fitting)
        # A row without a key is counted, but may be in no part.
        all_fit = not summary.bad and summary.events >= batch.count
        gone = self._gone(batch, compared, all_fit=all_fit) if batch.complete else None
        result = compared.events
        if gone is not None and gone.count:
            self._refuse_too_many(gone, batch)
            result = result.unionByName(_deletes(gone.gone, result, self._settings, batch))
        self._tell(batch, compared, gone, all_fit=not summary.bad)
        batch.close()
        deletes = gone.count if gone else 0
        idle = not (compared.new or compared.changed or deletes)
        return OrderedChanges(
            result,
            None,
            replace(summary, deletes=deletes),
            idle=idle,
            rewrites=bool(compared.changed or deletes),
            fresh=compared.fresh and not deletes,
            whole_keys=decoded.whole_keys,
        )

    def _compared(self, events: DataFrame, batch: JdbcBatch, fitting: int) -> _Compared:
        if not batch.is_small and batch.condition == ALL and self._are_new(events):
            return _Compared(_with_operation(events, F.lit(CREATE)), new=fitting, changed=0, fresh=True)
        columns = self._comparable(batch)
        stored = self._stored_rows.whole(columns) if fitting else None
        if stored is None:
            return _Compared(_with_operation(events, F.lit(CREATE)), new=fitting, changed=0)
        if batch.is_small:
            stored = stored.join(F.broadcast(events.select(KEY)), KEY, "left_semi")
        is_there = F.col(STORED_AT).isNotNull()
        flags = {_IS_THERE: is_there, _IS_SAME: is_there & self._stored_rows.are_same(columns)}
        joined = events.join(stored, KEY, "left").withColumns(flags)
        operation = F.when(F.col(_IS_THERE), F.lit(UPDATE)).otherwise(F.lit(CREATE))
        flagged = self._keep(_with_operation(joined, operation).drop(STORED_AT, STORED_ROW))
        [counts] = flagged.agg(F.count_if(~F.col(_IS_THERE)), F.count_if(F.col(_IS_THERE) & ~F.col(_IS_SAME))).collect()
        others = flagged.filter(~F.col(_IS_SAME)).drop(_IS_THERE, _IS_SAME)
        return _Compared(others, new=counts[0], changed=counts[1])

    def _are_new(self, events: DataFrame) -> bool:
        """Check whether each event has its own key that the table lacks, as in a first load, from the keys alone.

        The keys are compared by hash: equal hashes only mean a full comparison. Rows that a query computes differ.
        """
        if self._stored_rows.passed_on is not None:
            return False
        found = events.select(F.xxhash64(KEY).alias(KEY), F.lit(1).alias("sent"))
        if (stored := self._stored_rows({})) is not None:
            found = found.unionAll(stored.select(F.xxhash64(KEY), F.lit(0)))
        alike = found.groupBy(KEY).agg(F.count("*").alias("rows"), F.sum("sent").alias("sent"))
        return alike.filter("sent > 0 AND rows > 1").isEmpty()

    def _comparable(self, batch: JdbcBatch) -> list[Column]:
        """Return the columns of this look's events, without those about how a row travelled."""
        sent = {column.name for column in batch.relation.columns}
        return [
            column
            for column in self._decoder.columns
            if column.name == SPECIALS_COLUMN or (column.source in sent and column.name not in QUERIED_TYPES)
        ]

    def _gone(self, batch: JdbcBatch, compared: _Compared, *, all_fit: bool) -> _Keys | None:
        """Return the table's rows that the source lacks; None when counting shows that there are none.

        Unchanged rows existed at the previous look: if the table then had exactly the source's keys and now has, with
        the new ones, as many rows as the source, the keys are the same. A row that doesn't fit may be counted in place
        of a missing one.
        """
        if all_fit and batch.lake_rows is not None and batch.lake_rows + compared.new == batch.rows:
            return None
        kinds = {column.name: column.stored for column in self._decoder.columns}
        key, names = self._settings.key_fields, (*self._settings.key_fields, *self._settings.partition_fields)
        stored = self._stored_rows({name: kinds[name] for name in dict.fromkeys(names)})
        if stored is None:
            return None
        there = batch.keys_of({column.source: column for column in self._decoder.columns if column.name in key})
        if there is None:
            gone = stored.join(self._keys(batch), KEY, "left_anti")
        else:
            # Only the key's own columns are read, and compared unchanged.
            gone = stored.drop(KEY, STORED_AT).join(there, [*key], "left_anti").withColumn(KEY, changes.key_of(key))
        gone = self._keep(gone)
        count = gone.count()
        return _Keys(gone, count=count, of=stored.count())

    def _keys(self, batch: JdbcBatch) -> DataFrame:
        key_fields = self._settings.key_fields
        columns = [column for column in self._decoder.columns if column.name in key_fields]
        decoded = Decoder(columns, required=key_fields, key=key_fields)(batch.key_lines())
        return changes.with_key(decoded, key_fields).select(KEY)

    def _refuse_doubles(self, events: DataFrame, batch: JdbcBatch) -> None:
        double = events.groupBy(KEY).count().filter("count > 1").first()
        if double is not None:
            raise JobError(
                f"{batch.relation.settings.name} has {double['count']} rows of one key: "
                f"{keys.RECORD_KEY}={','.join(self._settings.key_fields)} doesn't tell its rows apart"
            )

    def _refuse_too_many(self, gone: _Keys, batch: JdbcBatch) -> None:
        settings = batch.relation.settings
        # In a table of few rows, a single one is a large share.
        is_too_many = gone.count > max(gone.of * settings.deletes_percent / 100, 1) or not batch.rows
        if is_too_many and settings.deletes_percent < 100:
            raise JobError(
                f"{gone.count} of {gone.of} rows of {self._settings.base_path} aren't in {settings.name} any more, and "
                f"{keys.JDBC_DELETES_PERCENT} allows {settings.deletes_percent:g} % per commit: nothing was committed. "
                "A TRUNCATE, another database, or a role that sees fewer rows looks like this; if they are to go, "
                f"start once with {keys.JDBC_DELETES_PERCENT}=100"
            )

    def _tell(self, batch: JdbcBatch, compared: _Compared, gone: _Keys | None, *, all_fit: bool) -> None:
        """Report to the source how many rows the table has after the commit, and how many of the source's it lacks."""
        known = batch.lake_rows if gone is None else gone.of - gone.count
        if known is None and self._stored_rows({}) is None:
            known = 0
        if known is None:
            batch.settled(None, 0)
            return
        after = known + compared.new
        if batch.rows is None:
            batch.settled(after if batch.lake_rows is not None and all_fit else None, 0)
        else:
            batch.settled(after if after == batch.rows else None, batch.rows - after)


def _with_operation(events: DataFrame, operation: Expression) -> DataFrame:
    row = events.schema["row"].dataType
    has_operation = isinstance(row, T.StructType) and OPERATION in row.names
    return events.withColumn("row", F.col("row").withField(OPERATION, operation)) if has_operation else events


def _deletes(gone: DataFrame, events: DataFrame, settings: TableSettings, batch: JdbcBatch) -> DataFrame:
    """Return deletes of rows of the table, with the same columns as `events`."""
    names = (*settings.key_fields, *settings.partition_fields)
    given: Mapping[str, Expression] = {
        **{name: F.col(name) for name in names},
        READ_MS: F.lit(batch.read_ms),
        OPERATION: F.lit(DELETE),
        DELETED: F.lit(IS_DELETED),
    }
    row = events.schema["row"].dataType
    assert isinstance(row, T.StructType)  # noqa: S101  (decode.py makes it)
    columns = {name: F.array() for name in ("placeholders", "unknown")}
    columns |= {"deleted": F.lit(True), KEY: F.col(KEY)}
    columns |= {"blank": F.lit(False), "origin": F.lit(batch.relation.settings.name)}
    columns |= {"block": F.lit(0), "number": F.lit(-1), "tie": F.lit(0)}
    # A delete has nulls where the rows' fields may have none, and no cast makes it one of those.
    others = [field for field in events.schema.fields if field.name != "row"]
    return gone.select(*filled(columns, others), F.struct(*filled(given, row.fields)).alias("row"))
