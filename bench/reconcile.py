"""Compares a table of PostgreSQL with the same rows in a Hudi table: seconds and peak memory, by size and table type.

The comparison runs in a separate process, to measure its memory alone. The floor is PostgreSQL's own part: MD5 of each
row as text, summed, which finds that something differs but not what.
"""

import itertools
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from pyspark.sql import DataFrame, SparkSession, functions

from bench import cases, results
from bench.job import execute, spark_session
from contract.events import LSN
from contract.lake import DATABASE
from local.comparison.describe import Compared
from local.comparison.run import Sides, compare_tables
from local.look.lake import Lake
from local.services.postgres import temporary_postgres
from settings.pipeline import CapturedTableSettings
from spark_jobs.runtime.archive import ROOT
from spark_jobs.table import commits
from spark_jobs.table.hudi_table import HudiTable

TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
FLOOR = "the sum of hashes, by PostgreSQL alone"
SUM = "SELECT sum(('x' || left(md5(row::text), 16))::bit(64)::bigint::numeric) FROM big_{rows} AS row"
HEADS = ("rows", "what", "s", "MB at most")
LIMIT_S = 60
TABLE = """
CREATE TABLE big_{rows} (id bigint PRIMARY KEY, code varchar(20), name text, amount numeric(12, 2), ratio float8,
    active boolean, born date, seen timestamptz, token uuid, doc jsonb, raw bytea, small int);
INSERT INTO big_{rows} SELECT g, 'C' || g % 9973, CASE WHEN g % 11 > 0 THEN 'name é ' || md5(g::text) END,
    g * 7919 % 100000000 / 100.0, CASE WHEN g % 13 > 0 THEN g / 8.0 END, g % 3 = 0,
    DATE '1970-01-01' + (g % 30000)::int,
    '2020-01-01 00:00Z'::timestamptz + g * INTERVAL '1.000123 s', md5(g::text)::uuid,
    jsonb_build_object('a', g, 'b', jsonb_build_array(1.50, 2, 'x'), 'name', 'n' || g), decode(md5('x' || g), 'hex'),
    g % 1000 FROM generate_series(1::bigint, {rows}) AS g;
ANALYZE big_{rows}
"""


def main(
    *,
    rows: Annotated[int, typer.Option(min=1, help="Rows of the large table; a tenth is measured, too.")] = 1_000_000,
    rounds: Annotated[int, typer.Option(min=1, help="How often each is measured, in turn.")] = 5,
) -> None:
    """Fill both sides, compare them, print seconds and memory; exit 1 on differences or after more than a minute."""
    with tempfile.TemporaryDirectory(prefix="bench-reconcile-") as name:
        folder = Path(name)
        with temporary_postgres(folder / "postgres", settings={"fsync": "off"}) as postgres:
            parameters = dict(postgres.connection_parameters())
            sizes = [max(rows // 10, 1), rows]
            _fill(folder, parameters, sizes)
            turns = [*itertools.product(sizes, (FLOOR, *TYPES))]
            runs: dict[tuple[int, str], list[dict[str, Any]]] = {turn: [] for turn in turns}
            for turn in turns * rounds:
                runs[turn].append(_measure(folder, parameters, *turn))
    rows_shown = (
        [*turn, *([one[what] for one in some if what in one] or None for what in ("seconds", "mb"))]
        for turn, some in runs.items()
    )
    results.show("reconcile", "a table on both sides, equal", HEADS, rows_shown)
    is_wrong = False
    for (size, kind), one in ((turn, one) for turn, some in runs.items() for one in some):
        if one["verdict"] != "equal" or one["seconds"] > LIMIT_S:
            is_wrong = True
            print(f"{size:,} rows, {kind}: {one['verdict']} after {one['seconds']:.1f} s (limit {LIMIT_S})")
    raise typer.Exit(1 if is_wrong else 0)


def _fill(folder: Path, parameters: dict[str, Any], sizes: list[int]) -> None:
    for size in sizes:
        execute(parameters, TABLE.format(rows=size))
    with spark_session(folder / "spark") as spark:
        for size, kind in itertools.product(sizes, TYPES):
            write_table(spark, folder / f"{kind}_{size}", size, kind)


def _measure(folder: Path, parameters: dict[str, Any], rows: int, kind: str) -> dict[str, Any]:
    """Return the seconds, the verdict, and the MB at most of the comparison's process."""
    if kind == FLOOR:
        began = time.monotonic()
        execute(parameters, SUM.format(rows=rows))
        return {"seconds": time.monotonic() - began, "verdict": "equal"}
    given = {"source": parameters, "rows": rows, "lake": (folder / f"{kind}_{rows}").as_uri(), "folder": str(folder)}
    command = [sys.executable, "-m", "bench.reconcile"]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def compare_one() -> None:
    """Compare one table, given as JSON on standard input; print seconds, peak memory and the verdict."""
    given = json.load(sys.stdin)
    entry = CapturedTableSettings.model_validate(
        {"source": f"public.big_{given['rows']}", "how": "log", "key": ["id"], "truncate": "stop"}
    )
    schema_file = Path(given["folder"]) / "big.avsc"
    schema_file.write_text('{"fields": []}')
    wanted = Compared(entry=entry, schema_file=schema_file, lake=Lake(base_uri=given["lake"]))
    [found] = compare_tables(Sides(given["source"], [wanted]), timeout_s=0)
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    verdict = "equal" if found.equal else found.problem or "differs"
    print(json.dumps({"seconds": found.seconds, "mb": megabytes, "verdict": verdict}))


# The lake's columns.
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
    given += ["--source-ordering-field", LSN, "--disable-compaction"]
    given += ["--props", str(ROOT / "spark_jobs" / "conf" / "cdc_events.properties")]
    overrides = {
        "hoodie.streamer.source.dfs.root": str(path),
        "hoodie.streamer.schemaprovider.source.schema.file": "unused",
        "hoodie.datasource.write.recordkey.field": "id",
    }
    given += [part for key, value in overrides.items() for part in ("--hoodie-conf", f"{key}={value}")]
    table = HudiTable(spark, cases.table_of(given))
    table.write(_rows(spark, rows), {commits.SOURCE_KEY: "1"}, operation="upsert")
    if table_type == "MERGE_ON_READ":
        again = _rows(spark, rows).where("id % 50 = 0").withColumn(LSN, functions.lit(2).cast("long"))
        table.write(again, {commits.SOURCE_KEY: "2"}, operation="upsert")


def _rows(spark: SparkSession, rows: int) -> DataFrame:
    return spark.range(1, rows + 1).select("id", *(functions.expr(text).alias(name) for name, text in COLUMNS.items()))


if __name__ == "__main__":
    compare_one()
