"""Writes a large Hudi table with the streaming job's write options."""

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, functions

from contract.events import LSN
from contract.lake import DATABASE
from spark_jobs.options import command_line, properties, settings
from spark_jobs.table import commits
from spark_jobs.table.hudi_table import HudiTable

CONF = Path(__file__).resolve().parents[2] / "spark_jobs" / "conf"
# The lake's columns for what bench/reconcile/command.py writes.
COLUMNS = {
    "code": "concat('C', id % 9973)",
    "name": "if(id % 11 = 0, null, concat('name é ', md5(cast(id AS string))))",
    "amount": "cast((id * 7919 % 100000000) / 100.0 AS decimal(12, 2))",
    "ratio": "if(id % 13 = 0, null, id / 8D)",
    "active": "id % 3 = 0",
    "born": "date_add(date'1970-01-01', cast(id % 30000 AS int))",
    "seen": "timestamp_micros(1577836800000000 + id * 1000123)",
    "token": "regexp_replace(md5(cast(id AS string)), '(.{8})(.{4})(.{4})(.{4})(.{12})', '$1-$2-$3-$4-$5')",
    "doc": """concat('{"a": ', id, ', "b": [1.50, 2, "x"], "name": "n', id, '"}')""",
    "raw": "unhex(md5(concat('x', id)))",
    "small": "cast(id % 1000 AS int)",
    LSN: "1L",
    "_hoodie_is_deleted": "false",
}


def write_table(spark: SparkSession, path: Path, rows: int, table_type: str) -> None:
    """Write `rows` rows in two buckets; for a merge-on-read table every fiftieth again, into log files."""
    given = ["--table-type", table_type, "--target-base-path", str(path), "--target-table", f"{DATABASE}.big"]
    parsed = command_line.parse([*given, "--source-ordering-field", LSN, "--disable-compaction"])
    pairs = properties.load(str(CONF / "cdc_events.properties"), lambda name: Path(name).read_text())
    overrides = {
        "hoodie.streamer.source.dfs.root": str(path),
        "hoodie.streamer.schemaprovider.source.schema.file": "unused",
        "hoodie.datasource.write.recordkey.field": "id",
    }
    overridden = properties.parse_overrides(f"{key}={value}" for key, value in overrides.items())
    decided = settings.decide(parsed, properties.combine(pairs, overridden), lambda _line: None)
    table = HudiTable(spark, decided.table)
    table.write(_rows(spark, rows), {commits.SOURCE_KEY: "1"}, operation="upsert")
    if table_type == "MERGE_ON_READ":
        again = _rows(spark, rows).where("id % 50 = 0").withColumn(LSN, functions.lit(2).cast("long"))
        table.write(again, {commits.SOURCE_KEY: "2"}, operation="upsert")


def _rows(spark: SparkSession, rows: int) -> DataFrame:
    return spark.range(1, rows + 1).select("id", *(functions.expr(text).alias(name) for name, text in COLUMNS.items()))
