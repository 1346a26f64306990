"""Keeps many Hudi tables in one Spark application: HoodieMultiTableStreamer's equivalent in PySpark.

Run it by spark-submit with HoodieMultiTableStreamer's own options (docs/reference/streaming-job.md).
"""

import sys
import threading
from collections.abc import Sequence

from pyspark.sql import SparkSession

from spark_jobs.many_tables import ManyTables
from spark_jobs.options import command_line
from spark_jobs.options.command_line import MultiTableOptions
from spark_jobs.options.table_list import TableList
from spark_jobs.program import exit_code, log, when_readable
from spark_jobs.runtime import session
from spark_jobs.runtime.application import watched
from spark_jobs.runtime.hadoop import read_text
from spark_jobs.runtime.stopping import stop_on_signals


def main(arguments: Sequence[str]) -> int:
    """Run the application; return the exit code: 0, or 1 after one line on standard error."""
    return exit_code(lambda: _stream(arguments))


def _stream(arguments: Sequence[str]) -> int:
    given = command_line.parse_many(arguments)
    if given.names_target_table:
        log("--target-table is not used: the tables are named by hoodie.streamer.ingestion.tablesToBeIngested")
    stop = threading.Event()
    spark = session.start(given.shared.spark_app_name or "multi-table-streamer", given.shared.spark_master, fair=True)
    stop_on_signals(spark, stop)
    listed = when_readable(lambda: TableList(given, lambda path: read_text(path, spark)), given.shared, stop)
    return 0 if listed is None else _run(given, spark, listed, stop)


def _run(given: MultiTableOptions, spark: SparkSession, listed: TableList, stop: threading.Event) -> int:
    tables = ManyTables(spark, listed, continuous=given.shared.continuous, stop=stop, log=log)
    with watched(spark, stop=stop, log=log, stop_file=listed.stop_file):
        failed = tables.run()
    if failed:
        log(f"error: {len(failed)} of {len(listed.tables)} tables failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
