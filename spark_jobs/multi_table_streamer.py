"""Keeps many Hudi tables in one Spark application: HoodieMultiTableStreamer's equivalent in PySpark.

Each table has a thread and a pool of Spark's FAIR scheduler. Run it by spark-submit with HoodieMultiTableStreamer's own
options (docs/reference/streaming-job.md).
"""

import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from pyspark import InheritableThread
from pyspark.sql import SparkSession

from spark_jobs import table_job
from spark_jobs.errors import Log, SettingsError, log, user_message
from spark_jobs.options import command_line
from spark_jobs.options.table_list import ListedTable, TableList
from spark_jobs.runtime import session
from spark_jobs.runtime.application import stop_on_signals, watched
from spark_jobs.runtime.hadoop import read_text
from spark_jobs.runtime.row_progress import POOL
from spark_jobs.runtime.session import Turns, slots
from spark_jobs.sources.listing import SharedListing
from spark_jobs.sources.postgres.access import Databases
from spark_jobs.streamer import program, when_readable
from spark_jobs.table.kept_table import SharedParts

# Pause between attempts of a table that needs manual repair (file, schema or data).
LONGEST_PAUSE_S = 300.0


class ManyTables:
    """The tables of one application. A failing table's job doesn't affect the others."""

    def __init__(
        self, spark: SparkSession, listed: TableList, *, continuous: bool, stop: threading.Event, log: Log
    ) -> None:
        self._spark = spark
        self._listed = listed
        self._continuous = continuous
        self._shared = SharedParts(
            stop=stop,
            log=log,
            turns=Turns(listed.parallel_commits, lambda: slots(spark)),
            listing=SharedListing(many=True),
            databases=Databases(spark, log=log),
        )
        self._lock = threading.Lock()
        self._base_paths: dict[str, str] = {}
        self._failed: set[str] = set()

    def run(self) -> list[str]:
        """Run until all tables have ended; returns those that failed, which only happens without `continuous`."""
        threads = [
            InheritableThread(target=self._keep, args=(table,), name=table.full_name) for table in self._listed.tables
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sorted(self._failed)

    def _keep(self, table: ListedTable) -> None:
        def log(message: str) -> None:
            self._shared.log(f"{table.full_name}: {message}")

        # A pool of its own: with FIFO inside one pool, a busy table would hold up all others.
        self._spark.sparkContext.setLocalProperty(POOL, table.full_name)
        try:
            table_job.keep(
                table.full_name,
                replace(self._shared, log=log),
                attempt=partial(self._run, table),
                waits_out=lambda _error: self._continuous,
                longest_pause_s=LONGEST_PAUSE_S,
                metrics_namespace=self._listed.metrics_namespace,
            )
        except Exception as error:  # noqa: BLE001  (when one table's job ends, the others go on)
            log(f"error: {user_message(error)}")
            self._failed.add(table.full_name)

    def _run(self, table: ListedTable, shared: SharedParts, status: table_job.TableStatus) -> None:
        decided = self._listed.settings(table, shared.log)
        path = decided.table.base_path
        with self._lock:
            # Its file may have named another one before.
            self._base_paths = {taken: name for taken, name in self._base_paths.items() if name != table.full_name}
            owner = self._base_paths.setdefault(path, table.full_name)
        if owner != table.full_name:
            raise SettingsError(f"{path} is {owner}'s base path, too: give each table its own")
        # A session's settings apply to all of its queries, and each table's batches need their own.
        table_job.run(self._spark.newSession(), decided, shared, status)


@program
def main(arguments: Sequence[str]) -> int:
    """Run the application; return the exit code: 0, or 1 after one line on standard error."""
    given = command_line.parse_many(arguments)
    if given.target_table is not None:
        log("--target-table is not used: the tables are named by hoodie.streamer.ingestion.tablesToBeIngested")
    stop = threading.Event()
    spark = session.start(given.shared.spark_app_name or "multi-table-streamer", given.shared.spark_master, fair=True)
    stop_on_signals(spark, stop)
    listed = when_readable(lambda: TableList(given, lambda path: read_text(path, spark)), given.shared, stop)
    if listed is None:
        return 0
    tables = ManyTables(spark, listed, continuous=given.shared.continuous, stop=stop, log=log)
    with watched(spark, stop=stop, log=log, stop_file=listed.stop_file):
        failed = tables.run()
    if failed:
        log(f"error: {len(failed)} of {len(listed.tables)} tables failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
