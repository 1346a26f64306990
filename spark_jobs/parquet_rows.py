"""Writes a Hudi table as Parquet files, as Spark reads it: run by spark-submit with a path, a folder and columns."""

import json
import sys

from spark_jobs.runtime import session


def main(path: str, folder: str, columns: str) -> None:
    """Write the columns, a JSON list of names, of the table at `path`."""
    spark = session.start("rows", None)
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    names = [f"`{name.replace('`', '``')}`" for name in json.loads(columns)]
    spark.read.format("hudi").load(path).select(*names).write.parquet(folder)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
