"""Puts one table's job together, and runs it: source, table, quarantine, claim, and what hears of its batches."""

import threading
from collections.abc import Callable, Sequence

from pyspark.sql import SparkSession

from spark_jobs.claim import Claim
from spark_jobs.claim_store import claim_store
from spark_jobs.file_memory import remembering
from spark_jobs.glue_sync import GlueSync, sync_to_glue
from spark_jobs.hadoop import Hadoop
from spark_jobs.ingest import Ingest
from spark_jobs.listeners import Listeners
from spark_jobs.loop import Loop
from spark_jobs.metrics import metrics_for
from spark_jobs.quarantine import Quarantine
from spark_jobs.schema import Column
from spark_jobs.settings import Settings
from spark_jobs.source_settings import FileSettings
from spark_jobs.sources import Source
from spark_jobs.sources.json_files import JsonFiles
from spark_jobs.sources.json_kafka import JsonKafka
from spark_jobs.sources.listing import lister_for
from spark_jobs.stop_file import StopFile
from spark_jobs.table import HudiTable

Log = Callable[[str], None]


def build_ingest(
    spark: SparkSession, decided: Settings, columns: Sequence[Column], *, log: Log, claim: Claim | None = None
) -> Ingest:
    """Return what brings the source's events into the table; without a `claim` the caller sees that it is alone."""
    hadoop = Hadoop(spark)
    stores = [decided.table.base_path, *([decided.source.root] if isinstance(decided.source, FileSettings) else [])]
    return Ingest(
        spark,
        decided,
        columns,
        table=HudiTable(spark, decided.table, look_anew=remembering(hadoop, stores, log)),
        source=open_source(spark, decided, log),
        quarantine=Quarantine(hadoop, decided.quarantine_path),
        log=log,
        claim=claim,
    )


def run(spark: SparkSession, decided: Settings, columns: Sequence[Column], *, stop: threading.Event, log: Log) -> None:
    """Bring the source's events into the table, and the table into the catalogue, until all is read or `stop` is set.

    Raises JobError when the job can't go on.
    """
    hadoop = Hadoop(spark)
    claim = Claim(claim_store(decided.claim_path, hadoop), decided.table.base_path, log=log, stop=stop)
    ingest = build_ingest(spark, decided, columns, log=log, claim=claim)
    listeners = Listeners(
        hadoop=hadoop,
        ingest=ingest,
        glue_sync=_glue_sync(spark, decided, log),
        metrics=metrics_for(decided.metrics_namespace, f"{decided.table.database}.{decided.table.name}", log),
        stop_file=StopFile(decided.stop_file, exists=hadoop.exists, stop=stop, log=log) if decided.stop_file else None,
    )
    loop = Loop(
        ingest,
        stop=stop,
        committed=listeners.committed,
        idle=listeners.idle,
        failed=listeners.failed,
        log=log,
        max_retries=decided.max_retries,
        retry_seconds=decided.retry_seconds,
        min_interval_seconds=decided.min_interval_seconds,
    )
    listeners.start()
    try:
        loop.run(continuous=decided.continuous, poll_seconds=decided.poll_seconds)
    finally:
        try:
            listeners.finish()
        finally:
            claim.release()


def open_source(spark: SparkSession, decided: Settings, log: Log) -> Source:
    """Return the source that the settings name."""
    if not isinstance(decided.source, FileSettings):
        return JsonKafka(spark, decided.source, log=log)
    lister, note = lister_for(decided.source.root, Hadoop(spark))
    if note:
        log(note)
    return JsonFiles(spark, decided.source, lister, log=log)


def _glue_sync(spark: SparkSession, decided: Settings, log: Log) -> GlueSync | None:
    sync = decided.sync
    if sync is None:
        return None
    return GlueSync(sync, sync=lambda: sync_to_glue(spark, sync, decided.table), log=log)
