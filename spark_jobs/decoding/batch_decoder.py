"""Decodes batches by the table's columns, and adds columns for new fields in events."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from py4j.protocol import Py4JNetworkError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from contract.added_columns import AddedColumn
from contract.events import LSN, OPERATION, OPERATIONS, READ, SETTLED, SOURCE_TIME_MS, SPECIALS_COLUMN, TRUNCATE
from spark_jobs.decoding import decode, row_keys, wire
from spark_jobs.decoding.decode import Decoder, Reasons
from spark_jobs.decoding.new_columns import described_columns, infer_columns, new_columns, source_types
from spark_jobs.decoding.schema import Column, column_of, extend, refused_changes, with_decimal_ordering
from spark_jobs.decoding.summary import NOTHING, Summary, summarise
from spark_jobs.errors import JobError, Log, SettingsError
from spark_jobs.options import keys
from spark_jobs.options.settings import Settings
from spark_jobs.ordering.changes import have_places
from spark_jobs.runtime.query_plans import CachedFrame, cached
from spark_jobs.runtime.retry import may_be_a_value
from spark_jobs.sources.batches import Batch
from spark_jobs.sources.postgres.batch import RelationBatch
from spark_jobs.sources.postgres.first_load import LoadBatch
from spark_jobs.sources.postgres.snapshot import Snapshot


@dataclass(frozen=True)
class DecodedBatch:
    """A decoded batch, cached but for a first load's rows, with the counts of its first pass.

    `whole_keys`: no part of a key is empty, as the database has said.
    """

    cached: CachedFrame
    summary: Summary
    whole_keys: bool = False

    @property
    def events(self) -> DataFrame:
        return self.cached.frame


class BatchDecoder:
    """Knows the table's columns: those that the schema file declares, and those that came with events."""

    def __init__(
        self,
        spark: SparkSession,
        settings: Settings,
        given: Sequence[Column],
        *,
        encoded: bool,
        log: Log,
    ) -> None:
        """`given`: the schema file's columns; `encoded`: whether partition values are.

        Raises SettingsError when the schema file lacks a field that the settings name.
        """
        self._spark = spark
        self._settings = settings
        self._given = tuple(given)
        if settings.table.append_only:
            self._given = (*self._given, row_keys.EVENT_ID_COLUMN)
        self._declared = with_decimal_ordering(self._given, settings.table.ordering_field)
        # The Avro fields of columns that the catalogue described when they came, by name.
        self.described: dict[str, Any] = {}
        self._log = log
        # The table's first rows, if they came from the database: events that it contains are passed over.
        self.snapshot: Snapshot | None = None
        # The batch whose failing lines were searched without success: one search per batch is enough.
        self._searched: str | None = None
        self._check_fields()
        # Created with the first batch: an idle table needs none, and a stored table's columns may differ.
        self._decoder: Decoder | None = None
        # The fields of ordinary lines in their order, where it isn't the columns', and of the last batch of odd ones.
        self._order: tuple[str, ...] = ()
        self._seen_order: tuple[str, ...] = ()
        self._use(self._declared, encoded=encoded)

    @property
    def places_snapshots(self) -> bool:
        """Whether a snapshot's rows take the place of the change before them."""
        table = self._settings.table
        return not table.append_only and have_places(self.columns, table.ordering_field)

    def use_table(
        self,
        stored: T.StructType | None,
        *,
        encoded: bool,
        made: Collection[str] = (),
        added: Mapping[str, AddedColumn] | None = None,
    ) -> None:
        """Decode by the stored table's columns; None when there is no table yet.

        `added`: columns that it got later. `made`: columns that a query computes and no event has. Raises SettingsError
        for a column whose type was changed to an incompatible one.
        """
        columns = self._declared
        if stored is not None:
            added = added or {}
            carried = T.StructType([field for field in stored.fields if field.name not in made])
            self.described = {name: column.avro for name, column in added.items() if column.avro is not None}
            declared = self._without_earlier(self._declare(stored), stored, added)
            if refused := refused_changes(declared, stored):
                raise SettingsError(
                    f"{self._settings.schema_file}: {', '.join(refused.values())}: Hudi can't change that in place; a"
                    " new lake_table can have it (docs/reference/source-changes.md)"
                )
            fields = {name: column.field for name, column in added.items()}
            columns = extend(declared, carried, fields, _columns_of(self.described))
        if columns != self.columns or encoded != self._encoded:
            self._use(columns, encoded=encoded)
        if self._settings.table.truncate and not self.places_snapshots:
            raise SettingsError(f"{keys.TRUNCATE} needs a table whose {LSN} is a number")

    @property
    def _has_source_time(self) -> bool:
        return any(column.name == SOURCE_TIME_MS for column in self.columns)

    def decode(self, batch: Batch) -> tuple[Batch, DecodedBatch]:
        """Decode a batch, without the parts that turned out to be unreadable."""
        while True:
            try:
                return batch, self._typed(batch) or self._decode_lines(batch, self._lines(batch), {})
            except (JobError, Py4JNetworkError):
                raise
            except Exception as error:
                readable, failed = batch.without_unreadable(), error
                if readable is None and (batch.checkpoint == self._searched or not may_be_a_value(error)):
                    raise
            if readable is None:
                return batch, self._decode_the_rest(batch, failed)
            batch = readable

    def _decode_the_rest(self, batch: Batch, error: Exception) -> DecodedBatch:
        lines = cached(self._lines(batch))
        try:
            lines.frame.count()  # the lines are read: later failures come from decoding
            decoder = self._new_decoder(growing=self._room() > 0)
            failing = decode.failing_lines(lines.frame, decoder)
            if not failing:
                self._searched = batch.checkpoint
                raise error
            for (origin, _, _), reason in failing.items():
                self._log(f"a line of {batch.name_of(origin)} goes to quarantine: {reason}")
            return self._decode_lines(batch, lines.frame, failing)
        finally:
            lines.release()

    def _check_fields(self) -> None:
        known = {column.name for column in self._declared}
        table = self._settings.table
        needed = (LSN,) if table.append_only else (OPERATION,) if table.truncate else ()
        for name in (*needed, *table.key_fields, table.ordering_field, *table.partition_fields):
            if name not in known:
                raise SettingsError(f"{self._settings.schema_file} has no field {name}, which the settings name")

    def _declare(self, stored: T.StructType) -> tuple[Column, ...]:
        """Return the declared columns; in a table already ordered by text, the ordering field stays text."""
        ordering = self._settings.table.ordering_field
        if ordering in stored.names and isinstance(stored[ordering].dataType, T.StringType):
            self._declared = self._given
        return self._declared

    def _without_earlier(
        self, declared: tuple[Column, ...], stored: T.StructType, added: Mapping[str, AddedColumn]
    ) -> tuple[Column, ...]:
        earlier = {name for name, column in added.items() if column.guessed or column.avro is not None}
        kept = {name: said for name, said in refused_changes(declared, stored).items() if name in earlier}
        for said in kept.values():
            self._log(f"{said}: it came with events, and stays as it came; a new lake_table can have the file's type")
        return tuple(column for column in declared if column.name not in kept)

    def _lines(self, batch: Batch) -> DataFrame:
        # In one task: no later step needs a shuffle then.
        return batch.lines().coalesce(1) if batch.is_small else batch.lines()

    def _decode_lines(self, batch: Batch, lines: DataFrame, failing: Reasons) -> DecodedBatch:
        decoded = self._decoded(batch, lines, self._usual_decoder(), failing)
        if not decoded.summary.unknown:
            return decoded
        try:
            unusable = self._grow(batch, decoded)
        finally:
            decoded.cached.release()
        return self._decoded(batch, lines, self._new_decoder(growing=False, unusable=unusable), failing)

    def _decoded(self, batch: Batch, lines: DataFrame, decoder: Decoder, failing: Reasons) -> DecodedBatch:
        if failing:
            return self._summarised(batch, self._without_contained(decode.decode_lines(lines, decoder, failing)))
        first = self._summarised(batch, self._without_contained(decoder.ordinary(lines)))
        if not first.summary.bad:
            return first
        try:
            odd = first.events.filter("reason IS NOT NULL").select(*decode.LINE_COLUMNS)
            if decoder is self._decoder and self._learns_order(first.summary, odd):
                return self._decoded(batch, lines, self._usual_decoder(), failing)
            rest = self._without_contained(decoder(odd))
            events = first.events.filter("reason IS NULL").unionByName(rest)
            return self._summarised(batch, events.coalesce(1) if batch.is_small else events)
        finally:
            first.cached.release()

    def _learns_order(self, summary: Summary, odd: DataFrame) -> bool:
        """Take over the order of fields that most lines have: at once, and later if two batches in a row have it."""
        if summary.bad * 2 <= summary.events:
            return False
        order = decode.longest_names(odd)
        learns = order != self._order and (not self._order or order == self._seen_order)
        self._seen_order = order
        if learns:
            self._order, self._decoder = order, None
        return learns

    def _without_contained(self, events: DataFrame) -> DataFrame:
        if self.snapshot is None:
            return events
        # They stay as lines, which are counted.
        at = F.col(f"row.{LSN}")
        # A row that the connector had sent before has no transaction, and its reading's position; if it was read while
        # changes went on, it has only the time, by the connector's clock.
        time = F.col(f"row.{SOURCE_TIME_MS}") if self._has_source_time else F.lit(None)
        sent = F.coalesce(at < self.snapshot.position, time < self.snapshot.taken_ms)
        read = F.coalesce((F.col(f"row.{OPERATION}") == READ) & sent, F.lit(False))
        contained = read | self.snapshot.contains(F.col("transaction"), at)
        empty = {"row": F.lit(None), "reason": F.lit(None), "deleted": F.lit(False)}
        empty |= dict.fromkeys(("placeholders", "unknown"), wire.no_names())
        passed = {name: F.when(contained, value).otherwise(F.col(name)) for name, value in empty.items()}
        return events.select(*(passed.get(name, F.col(name)).alias(name) for name in events.columns))

    def _usual_decoder(self) -> Decoder:
        if self._decoder is None:
            self._decoder = self._new_decoder(growing=self._room() > 0)
        return self._decoder

    def _grow(self, batch: Batch, decoded: DecodedBatch) -> Collection[str]:
        known = [column.name for column in self.columns]
        names, unusable = new_columns(known, decoded.summary.unknown, room=self._room())
        if not names:
            return unusable
        kinds = source_types(self._spark, batch, names, self._settings, log=self._log)
        described = described_columns(kinds, names, specials=SPECIALS_COLUMN in known)
        self.described |= described
        inferred = T.StructType()
        if len(kinds) < len(names):
            found = infer_columns(self._spark, decoded.events, names)
            inferred = T.StructType([field for field in found.fields if field.name not in described])
        fields = {name: field for field, name in names.items()}
        columns = extend((*self.columns, *_columns_of(described).values()), inferred, fields)
        for column in columns[len(known) :]:
            called = f" (the events' {column.source})" if column.source != column.name else ""
            self._log(
                f"new column {column.name} {column.stored.simpleString()}{called}, from the events; older rows have"
                " null: where the source's have a DEFAULT, `./lake reconcile` names them and `./lake resnapshot` brings"
                " it"
            )
        self._use(columns, encoded=self._encoded)
        return unusable

    def _typed(self, batch: Batch) -> DecodedBatch | None:
        found = batch.rows_of(self.columns) if isinstance(batch, RelationBatch) else None
        if found is None:
            return None
        events, odd = found
        if isinstance(batch, LoadBatch) and not self._settings.table.partition_fields:
            return replace(self._trusted(batch, events, odd), whole_keys=odd is None)
        if self._settings.table.partition_fields:
            unplaceable = row_keys.unplaceable(self._settings.table, self.columns, self._encoded, F.lit(False))
            events = events.withColumn("reason", unplaceable)
        if odd is not None:
            events = events.unionByName(self._usual_decoder()(odd))
        decoded = self._summarised(batch, events)
        # A row that fits no partition has no line that could go to quarantine.
        if not decoded.summary.bad or decoded.events.filter("reason IS NOT NULL AND line IS NULL").isEmpty():
            return replace(decoded, whole_keys=odd is None)
        decoded.cached.release()
        return None

    def _trusted(self, batch: LoadBatch, events: DataFrame, odd: DataFrame | None) -> DecodedBatch:
        """Take rows as they are read, each of which fits: no pass that caches them, and `events` is an estimate."""
        if self._settings.table.append_only:
            events = row_keys.numbered(events)
        decoded = DecodedBatch(CachedFrame(events, events), NOTHING)
        if odd is not None:
            lines = self._summarised(batch, self._usual_decoder()(odd))
            decoded = DecodedBatch(lines.cached.with_more(events), lines.summary)
        events_ms = int(batch.metadata[SOURCE_TIME_MS])
        summary = replace(decoded.summary, events=decoded.summary.events + batch.count, newest_ms=events_ms)
        return replace(decoded, summary=summary)

    def _summarised(self, batch: Batch, events: DataFrame) -> DecodedBatch:
        table = self._settings.table
        if table.append_only:
            is_loaded = isinstance(batch, LoadBatch)
            events = row_keys.numbered(events) if is_loaded else row_keys.identified(events, self.columns)
        kept = cached(events, small=batch.is_small)
        try:
            summary = summarise(
                kept.frame,
                ordering=table.ordering_field,
                has_source_time=self._has_source_time,
                has_snapshot_rows=self.places_snapshots,
                has_marks=table.truncate is not None,
            )
        except Exception:
            kept.release()
            raise
        return DecodedBatch(kept, summary)

    def _use(self, columns: tuple[Column, ...], *, encoded: bool) -> None:
        # The table's, after the last decoded batch.
        self.columns = columns
        self._encoded = encoded
        self._decoder = None
        self._order = self._seen_order = ()

    def _new_decoder(self, *, growing: bool, unusable: Collection[str] = ()) -> Decoder:
        table = self._settings.table
        unplaceable = partial(row_keys.unplaceable, table, self.columns, self._encoded)
        key = () if table.append_only else table.key_fields
        truncates = (TRUNCATE,) if table.append_only or table.truncate else ()
        return Decoder(
            self.columns,
            required=tuple(dict.fromkeys((*(key or (LSN,)), table.ordering_field))),
            key=key,
            not_of_snapshots=table.ordering_field if self.places_snapshots else None,
            unplaceable=unplaceable if table.partition_fields else None,
            refusal=None if growing else f"beyond the new columns a table may have ({keys.NEW_COLUMNS_LIMIT})",
            unusable=unusable,
            operations=(*OPERATIONS, *truncates, *((SETTLED,) if table.truncate else ())),
            has_marks=table.truncate is not None,
            order=self._order,
        )

    def _room(self) -> int:
        return max(self._settings.new_columns_limit - (len(self.columns) - len(self._declared)), 0)


def _columns_of(fields: Mapping[str, Any]) -> dict[str, Column]:
    return {name: column_of(field, "the source's catalogue") for name, field in fields.items()}
