"""Assembles and runs one table's job: source, table, quarantine, claim, and listeners."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession

from spark_jobs.decoding import schema
from spark_jobs.decoding.schema import Column, with_decimal_ordering
from spark_jobs.derived.derived_table import DerivedTable
from spark_jobs.derived.history import CommitEvents, HistoryTable
from spark_jobs.errors import Log
from spark_jobs.ingest import Ingest
from spark_jobs.loop import Listeners, Loop, SweepTimeFile, TableStatus
from spark_jobs.options.jdbc_settings import JdbcSettings
from spark_jobs.options.settings import FileSettings, HistorySettings, KafkaSettings, Settings, SqlSettings
from spark_jobs.ordering.logged_events import LoggedEvents
from spark_jobs.ordering.queried_rows import QueriedRows
from spark_jobs.ordering.transform import SqlTransformer
from spark_jobs.runtime.hadoop import Hadoop, read_text, remembering
from spark_jobs.runtime.metrics import Metrics
from spark_jobs.runtime.session import Turns
from spark_jobs.sources.batches import Source
from spark_jobs.sources.files import JsonFiles
from spark_jobs.sources.kafka import JsonKafka
from spark_jobs.sources.listing import SharedListing, lister_for
from spark_jobs.sources.postgres.access import Databases
from spark_jobs.sources.postgres.source import Jdbc
from spark_jobs.table.claim import Claim, claim_store
from spark_jobs.table.glue import GlueSync, sync_to_glue
from spark_jobs.table.hudi_table import HudiTable
from spark_jobs.table.kept_table import KeptTable, MadeTable
from spark_jobs.table.quarantine import Quarantine


@dataclass(frozen=True, kw_only=True)
class SharedParts:
    """What a table's job shares with others, or outlives it."""

    log: Log
    stop: threading.Event = field(default_factory=threading.Event)
    metrics: Metrics | None = None
    turns: Turns = field(default_factory=lambda: Turns(1))
    listing: SharedListing = field(default_factory=lambda: SharedListing(max_age_seconds=0))
    databases: Databases | None = None


def build_ingest(
    spark: SparkSession, decided: Settings, columns: Sequence[Column], shared: SharedParts, claim: Claim | None = None
) -> Ingest:
    """Return the ingestion of the source's events; without a `claim` the caller must guarantee a single writer."""
    hadoop, log = Hadoop(spark), shared.log
    stores = [decided.table.base_path, *([decided.source.root] if isinstance(decided.source, FileSettings) else [])]
    table = HudiTable(spark, decided.table, look_anew=remembering(hadoop, stores, log))
    return Ingest(
        spark,
        decided,
        columns,
        table=table,
        source=_source(spark, decided, columns, table, shared),
        quarantine=Quarantine(hadoop, decided.quarantine_path),
        log=log,
        claim=claim,
        turns=shared.turns,
        transformer=_transformer(spark, decided, columns),
        commit_events=CommitEvents(spark, decided.events_path) if decided.events_path else None,
        ordering=QueriedRows if isinstance(decided.source, JdbcSettings) else LoggedEvents,
        databases=shared.databases,
    )


def build_made(spark: SparkSession, decided: Settings, shared: SharedParts, claim: Claim | None = None) -> MadeTable:
    """Return the job of a computed table; without a `claim` the caller must guarantee a single writer."""
    table = HudiTable(spark, decided.table, look_anew=remembering(Hadoop(spark), [decided.table.base_path], shared.log))
    kind = HistoryTable if isinstance(decided.source, HistorySettings) else DerivedTable
    return kind(spark, decided, table=table, log=shared.log, claim=claim, turns=shared.turns)


def columns_of(decided: Settings, spark: SparkSession) -> Sequence[Column]:
    """Read the declared columns of events; none for a table without events. Raises SettingsError."""
    if isinstance(decided.source, SqlSettings | HistorySettings):
        return ()
    return schema.parse(read_text(decided.schema_file, spark), decided.schema_file)


def run(
    spark: SparkSession, decided: Settings, columns: Sequence[Column], shared: SharedParts, status: TableStatus
) -> None:
    """Bring the source's events into the table and the catalog, until all is read or a stop is requested.

    Raises JobError when the job can't continue.
    """
    stop, log, given = shared.stop, shared.log, decided.options
    claim = Claim(claim_store(decided.claim_path, Hadoop(spark)), decided.table.base_path, log=log, stop=stop)
    kept: KeptTable
    if isinstance(decided.source, SqlSettings | HistorySettings):
        kept = build_made(spark, decided, shared, claim)
    else:
        kept = build_ingest(spark, decided, columns, shared, claim)
    looked_file = decided.source.looked_file if isinstance(decided.source, JdbcSettings) else None
    listeners = Listeners(
        kept=kept,
        glue_sync=_glue_sync(spark, decided, log),
        metrics=shared.metrics,
        status=status,
        looked_file=SweepTimeFile(Path(looked_file), log) if looked_file else None,
    )
    loop = Loop(
        kept,
        listeners,
        stop=stop,
        log=log,
        max_retries=given.max_retry_count,
        retry_seconds=given.retry_interval_seconds,
        min_interval_seconds=lambda: max(given.min_sync_interval_seconds, shared.turns.min_interval_seconds()),
    )
    try:
        loop.run(continuous=given.continuous, poll_seconds=decided.poll_seconds)
    finally:
        try:
            kept.close()
            listeners.finish()
        finally:
            claim.release()


def _source(
    spark: SparkSession, decided: Settings, columns: Sequence[Column], table: HudiTable, shared: SharedParts
) -> Source:
    """Return the settings' source for `table`."""
    log = shared.log
    if isinstance(decided.source, JdbcSettings):
        database = (shared.databases or Databases(spark, log=log)).of(decided.source.server)
        named = {column.name: column.source for column in columns}
        key = [named.get(name, name) for name in decided.table.key_fields]
        return Jdbc(spark, decided.source, database, key, log=log, newest_ms=table.newest)
    if isinstance(decided.source, KafkaSettings):
        return JsonKafka(spark, decided.source, log=log)
    if isinstance(decided.source, SqlSettings | HistorySettings):
        raise TypeError("a table that is made of others has no source of events")
    lister, note = lister_for(decided.source.root, Hadoop(spark), shared.listing)
    if note:
        log(note)
    return JsonFiles(spark, decided.source, lister, log=log)


def _transformer(spark: SparkSession, decided: Settings, columns: Sequence[Column]) -> SqlTransformer | None:
    if decided.transformer is None:
        return None
    table, path = decided.table, decided.target_schema_file
    target = columns if path == decided.schema_file else schema.parse(read_text(path, spark), path)
    return SqlTransformer(
        spark,
        decided.transformer.query,
        decided.transformer.times,
        with_decimal_ordering(target, table.ordering_field),
        tuple(dict.fromkeys((*table.key_fields, table.ordering_field, *table.partition_fields))),
    )


def _glue_sync(spark: SparkSession, decided: Settings, log: Log) -> GlueSync | None:
    sync = decided.sync
    if sync is None:
        return None
    return GlueSync(sync, sync=lambda: sync_to_glue(spark, sync, decided.table), log=log)
