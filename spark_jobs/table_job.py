"""Runs one table's job: its claim, batches and catalog sync."""

from collections.abc import Sequence

from pyspark.sql import SparkSession

from spark_jobs.decoding import schema
from spark_jobs.decoding.schema import Column
from spark_jobs.derived.derived_table import DerivedTable
from spark_jobs.derived.history import HistoryTable
from spark_jobs.ingest import Ingest
from spark_jobs.loop import Loop, TableStatus
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
    log, sync = shared.log, decided.sync
    claim = Claim(claim_store(decided.claim_path, Hadoop(spark)), decided.table.base_path, log=log, stop=shared.stop)
    kept = _kept_table(spark, decided, columns, shared, claim)
    glue_sync = GlueSync(sync, sync=lambda: sync_to_glue(spark, sync, decided.table), log=log) if sync else None
    loop = Loop(kept, decided, shared, status, glue_sync=glue_sync)
    try:
        loop.run()
    finally:
        try:
            loop.finish()
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
