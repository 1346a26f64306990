"""Puts one table's job together, and runs it: source, table, quarantine, claim, and what hears of its batches."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from spark_jobs import schema
from spark_jobs.claim import Claim
from spark_jobs.claim_store import claim_store
from spark_jobs.commit_events import CommitEvents
from spark_jobs.derived_table import DerivedTable
from spark_jobs.file_memory import remembering
from spark_jobs.glue_sync import GlueSync
from spark_jobs.glue_tool import sync_to_glue
from spark_jobs.hadoop import Hadoop, read_text
from spark_jobs.history_table import HistoryTable
from spark_jobs.ingest import Ingest
from spark_jobs.jdbc_settings import JdbcSettings
from spark_jobs.listeners import Listeners
from spark_jobs.logged_events import LoggedEvents
from spark_jobs.looked_file import LookedFile
from spark_jobs.loop import Loop
from spark_jobs.metrics import Metrics
from spark_jobs.quarantine import Quarantine
from spark_jobs.queried_rows import QueriedRows
from spark_jobs.schema import Column, with_decimal_ordering
from spark_jobs.settings import Settings
from spark_jobs.source_settings import FileSettings, HistorySettings, KafkaSettings, SqlSettings
from spark_jobs.sources import Source
from spark_jobs.sources.jdbc.access import Databases
from spark_jobs.sources.jdbc.source import Jdbc
from spark_jobs.sources.json_files import JsonFiles
from spark_jobs.sources.json_kafka import JsonKafka
from spark_jobs.sources.listing import S3Lister, lister_for
from spark_jobs.sources.shared_listing import SharedListing
from spark_jobs.table import HudiTable
from spark_jobs.table_status import TableStatus
from spark_jobs.transform import SqlTransformer
from spark_jobs.turns import Turns

Log = Callable[[str], None]


def build_ingest(
    spark: SparkSession,
    decided: Settings,
    columns: Sequence[Column],
    *,
    log: Log,
    claim: Claim | None = None,
    turns: Turns | None = None,
    listing: SharedListing | None = None,
    databases: Databases | None = None,
) -> Ingest:
    """Return what brings the source's events into the table; without a `claim` the caller sees that it is alone."""
    hadoop = Hadoop(spark)
    stores = [decided.table.base_path, *([decided.source.root] if isinstance(decided.source, FileSettings) else [])]
    table = HudiTable(spark, decided.table, look_anew=remembering(hadoop, stores, log))
    return Ingest(
        spark,
        decided,
        columns,
        table=table,
        source=open_source(spark, decided, columns, log, table, listing=listing, databases=databases),
        quarantine=Quarantine(hadoop, decided.quarantine_path),
        log=log,
        claim=claim,
        turns=turns,
        transformer=_transformer(spark, decided, columns),
        commit_events=CommitEvents(spark, decided.events_path) if decided.events_path else None,
        settling=QueriedRows if isinstance(decided.source, JdbcSettings) else LoggedEvents,
        databases=databases,
    )


def build_kept(
    spark: SparkSession, decided: Settings, *, log: Log, claim: Claim | None = None, turns: Turns | None = None
) -> DerivedTable | HistoryTable:
    """Return what keeps a table that is made of others; without a `claim` the caller sees that it is alone."""
    look_anew = remembering(Hadoop(spark), [decided.table.base_path], log)
    table = HudiTable(spark, decided.table, look_anew=look_anew)
    kind = HistoryTable if isinstance(decided.source, HistorySettings) else DerivedTable
    return kind(spark, decided, table=table, log=log, claim=claim, turns=turns)


def columns_of(decided: Settings, spark: SparkSession) -> Sequence[Column]:
    """Read the columns that events are declared to have; where none come, there are none. Raises SettingsError."""
    if isinstance(decided.source, SqlSettings | HistorySettings):
        return ()
    return schema.parse(read_text(decided.schema_file, spark), decided.schema_file)


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What a table's job shares with others, or outlives it."""

    stop: threading.Event
    log: Log
    metrics: Metrics | None
    turns: Turns | None = None
    listing: SharedListing | None = None
    databases: Databases | None = None
    status: TableStatus | None = None


def run(spark: SparkSession, decided: Settings, columns: Sequence[Column], around: Surroundings) -> None:
    """Bring the source's events into the table, and the table into the catalogue, until all is read or told to stop.

    Raises JobError when the job can't go on.
    """
    hadoop, stop, log = Hadoop(spark), around.stop, around.log
    claim = Claim(claim_store(decided.claim_path, hadoop), decided.table.base_path, log=log, stop=stop)
    kept: Ingest | DerivedTable | HistoryTable
    if isinstance(decided.source, SqlSettings | HistorySettings):
        kept = build_kept(spark, decided, log=log, claim=claim, turns=around.turns)
    else:
        kept = build_ingest(
            spark,
            decided,
            columns,
            log=log,
            claim=claim,
            turns=around.turns,
            listing=around.listing,
            databases=around.databases,
        )
    listeners = Listeners(
        kept=kept,
        glue_sync=_glue_sync(spark, decided, log),
        metrics=around.metrics,
        status=around.status,
        looked_file=_looked_file(decided, kept, log),
    )
    loop = Loop(
        kept,
        stop=stop,
        committed=listeners.committed,
        idle=listeners.idle,
        failed=listeners.failed,
        log=log,
        max_retries=decided.max_retries,
        retry_seconds=decided.retry_seconds,
        min_interval_seconds=decided.min_interval_seconds,
    )
    try:
        loop.run(continuous=decided.continuous, poll_seconds=decided.poll_seconds)
    finally:
        try:
            kept.close()
            listeners.finish()
        finally:
            claim.release()


def open_source(
    spark: SparkSession,
    decided: Settings,
    columns: Sequence[Column],
    log: Log,
    table: HudiTable,
    *,
    listing: SharedListing | None = None,
    databases: Databases | None = None,
) -> Source:
    """Return the source that the settings name, of what is brought into `table`.

    Its folder on S3 is looked at with those of `listing`'s others, its database by the connections of `databases`.
    """
    if isinstance(decided.source, JdbcSettings):
        database = (databases or Databases(spark, log=log)).of(decided.source.server)
        named = {column.name: column.source for column in columns}
        key = [named.get(name, name) for name in decided.table.key_fields]
        return Jdbc(spark, decided.source, database, key, log=log, newest_ms=table.newest)
    if isinstance(decided.source, KafkaSettings):
        return JsonKafka(spark, decided.source, log=log)
    if isinstance(decided.source, SqlSettings | HistorySettings):
        raise TypeError("a table that is made of others has no source of events")
    lister, note = lister_for(decided.source.root, Hadoop(spark), listing.lister if listing else S3Lister)
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


def _looked_file(decided: Settings, kept: Ingest | DerivedTable | HistoryTable, log: Log) -> LookedFile | None:
    path = decided.source.looked_file if isinstance(decided.source, JdbcSettings) else None
    if path is None or not isinstance(kept, Ingest):
        return None
    return LookedFile(path, looked_ms=lambda: kept.looked_ms, log=log)


def _glue_sync(spark: SparkSession, decided: Settings, log: Log) -> GlueSync | None:
    sync = decided.sync
    if sync is None:
        return None
    return GlueSync(sync, sync=lambda: sync_to_glue(spark, sync, decided.table), log=log)
