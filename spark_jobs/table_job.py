"""Runs one table's job: its batches, claim and listeners."""

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from spark_jobs.decoding import schema
from spark_jobs.decoding.schema import Column
from spark_jobs.derived.derived_table import DerivedTable
from spark_jobs.derived.history import HistoryTable
from spark_jobs.ingest import Ingest
from spark_jobs.loop import Listeners, Loop, SweepTimeFile, TableStatus
from spark_jobs.options.jdbc_settings import JdbcSettings
from spark_jobs.options.settings import HistorySettings, Settings, SqlSettings
from spark_jobs.runtime.hadoop import Hadoop, read_text
from spark_jobs.table.claim import Claim, claim_store
from spark_jobs.table.glue import GlueSync, sync_to_glue
from spark_jobs.table.kept_table import KeptTable, SharedParts


def columns_of(decided: Settings, spark: SparkSession) -> Sequence[Column]:
    """Read the declared columns of events; none for a table without events. Raises SettingsError."""
    if isinstance(decided.source, SqlSettings | HistorySettings):
        return ()
    return schema.parse(read_text(decided.schema_file, spark), decided.schema_file)


def run(
    spark: SparkSession, decided: Settings, columns: Sequence[Column], shared: SharedParts, status: TableStatus
) -> None:
    """Bring new data into the table and the catalog, until all is read or a stop is requested.

    Raises JobError when the job can't continue.
    """
    stop, log, given, sync = shared.stop, shared.log, decided.options, decided.sync
    claim = Claim(claim_store(decided.claim_path, Hadoop(spark)), decided.table.base_path, log=log, stop=stop)
    kept = _kept_table(spark, decided, columns, shared, claim)
    looked_file = decided.source.looked_file if isinstance(decided.source, JdbcSettings) else None
    listeners = Listeners(
        kept=kept,
        glue_sync=GlueSync(sync, sync=lambda: sync_to_glue(spark, sync, decided.table), log=log) if sync else None,
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


def _kept_table(
    spark: SparkSession, decided: Settings, columns: Sequence[Column], shared: SharedParts, claim: Claim
) -> KeptTable:
    if isinstance(decided.source, SqlSettings):
        return DerivedTable(spark, decided, shared=shared, claim=claim)
    if isinstance(decided.source, HistorySettings):
        return HistoryTable(spark, decided, shared=shared, claim=claim)
    return Ingest(spark, decided, columns, shared=shared, claim=claim)
