"""Keeps a Hudi table equal to what Debezium's change events say: HoodieDeltaStreamer's equivalent in PySpark.

Run it by spark-submit with HoodieStreamer's own options (spark_jobs/README.md).
"""

import sys
import threading
from collections.abc import Callable, Sequence

from py4j.protocol import Py4JNetworkError
from pyspark.sql import SparkSession

from spark_jobs import libraries, options, properties, schema, session, settings
from spark_jobs.catalogue import Catalogue, sync_to_glue
from spark_jobs.claim import Claim
from spark_jobs.claim_store import claim_store
from spark_jobs.companions import Companions
from spark_jobs.errors import JobError, first_line
from spark_jobs.file_memory import remembering
from spark_jobs.hadoop import Hadoop, read_text
from spark_jobs.ingest import Ingest
from spark_jobs.loop import Loop
from spark_jobs.metrics import metrics_for
from spark_jobs.outages import Patience, patiently
from spark_jobs.quarantine import Quarantine
from spark_jobs.schema import Column
from spark_jobs.settings import FileSettings, Settings
from spark_jobs.signals import stop_on_signals
from spark_jobs.sources import Source
from spark_jobs.sources.json_files import JsonFiles
from spark_jobs.sources.json_kafka import JsonKafka
from spark_jobs.sources.listing import lister_for
from spark_jobs.stop_file import StopFile
from spark_jobs.table import HudiTable


def main(arguments: Sequence[str]) -> int:
    """Run the job; return the exit code: 0, or 1 after one line on standard error."""
    shipped = libraries.use_shipped(libraries.__loader__)
    try:
        given = options.parse(arguments)
        stop = threading.Event()
        spark = session.start(given.spark_app_name or f"streamer-{given.target_table}", given.spark_master)
        stop_on_signals(spark, stop)
        prepared = _prepared(given, spark, stop)
        if prepared is not None:
            run(spark, *prepared, stop)
    except Py4JNetworkError:
        log("error: Spark's JVM is gone")
        return 1
    except Exception as error:  # noqa: BLE001  (whoever runs the job gets one line, whatever it was)
        log(f"error: {error if isinstance(error, JobError) else first_line(error)}")
        return 1
    finally:
        if shipped:
            shipped.cleanup()
    return 0


def read_settings(given: options.Options, spark: SparkSession) -> Settings:
    """Read the properties that the options name and decide the settings."""
    pairs = properties.load(given.props, lambda path: read_text(path, spark)) if given.props else []
    return settings.decide(given, properties.combine(pairs, properties.parse_overrides(given.hoodie_conf)), log)


def run(spark: SparkSession, decided: Settings, columns: Sequence[Column], stop: threading.Event) -> None:
    """Bring the source's events into the table, and the table into the catalogue."""
    hadoop = Hadoop(spark)
    stores = [decided.table.base_path, *([decided.source.root] if isinstance(decided.source, FileSettings) else [])]
    table = HudiTable(spark, decided.table, look_anew=remembering(hadoop, stores, log))
    claim = Claim(claim_store(decided.claim_path, hadoop), decided.table.base_path, log=log, stop=stop)
    ingest = Ingest(
        spark,
        decided,
        columns,
        table=table,
        source=open_source(spark, decided, log),
        quarantine=Quarantine(hadoop, decided.quarantine_path),
        log=log,
        claim=claim,
    )
    companions = Companions(
        hadoop=hadoop,
        ingest=ingest,
        catalogue=_catalogue(spark, decided),
        metrics=metrics_for(decided.metrics_namespace, f"{decided.table.database}.{decided.table.name}", log),
        stop_file=StopFile(decided.stop_file, exists=hadoop.exists, stop=stop, log=log) if decided.stop_file else None,
    )
    loop = Loop(
        ingest,
        stop=stop,
        committed=companions.committed,
        idle=companions.idle,
        failed=companions.failed,
        log=log,
        max_retries=decided.max_retries,
        retry_seconds=decided.retry_seconds,
        min_interval_seconds=decided.min_interval_seconds,
    )
    companions.start()
    try:
        loop.run(continuous=decided.continuous, poll_seconds=decided.poll_seconds)
    finally:
        try:
            companions.finish()
        finally:
            claim.release()


def _prepared(
    given: options.Options, spark: SparkSession, stop: threading.Event
) -> tuple[Settings, Sequence[Column]] | None:
    """Read what the job needs to begin, in continuous mode as soon as it can be read; None when told to stop."""

    def read() -> tuple[Settings, Sequence[Column]]:
        decided = read_settings(given, spark)
        return decided, schema.parse(read_text(decided.schema_file, spark), decided.schema_file)

    if not given.continuous:
        return read()
    return patiently(
        read, patience=Patience(stop=stop, longest_seconds=given.retry_interval_seconds, log=log), stop=stop
    )


def _catalogue(spark: SparkSession, decided: Settings) -> Catalogue | None:
    sync = decided.sync
    if sync is None:
        return None
    return Catalogue(sync, sync=lambda: sync_to_glue(spark, sync, decided.table), log=log)


def log(message: str) -> None:
    """Write a line for whoever watches; commits alone go to standard output."""
    print(message, file=sys.stderr, flush=True)


def open_source(spark: SparkSession, decided: Settings, log: Callable[[str], None]) -> Source:
    """Return the source that the settings name."""
    if not isinstance(decided.source, FileSettings):
        return JsonKafka(spark, decided.source, log=log)
    lister, note = lister_for(decided.source.root, Hadoop(spark))
    if note:
        log(note)
    return JsonFiles(spark, decided.source, lister, log=log)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
