"""Compares a table of PostgreSQL with the same rows in a Hudi table: seconds and peak memory, by size and table type.

The comparison runs in a separate process, to measure its memory alone.
"""

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import psycopg2
import typer

from bench.reconcile.lake import write_table
from bench.spark_session import spark_session
from local.comparison.compare import Limits
from local.comparison.describe import Compared
from local.comparison.run import Sides, compare_tables
from local.look.lake import Lake
from local.services.postgres import temporary_postgres
from settings.pipeline import CapturedTableSettings

TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
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
    rows: Annotated[int, typer.Option(min=1, help="Rows of the large table; a tenth is measured, too.")] = 1_000_000,
) -> None:
    """Fill both sides, compare them, print a line each; exit 1 on differences or after more than a minute."""
    with tempfile.TemporaryDirectory(prefix="bench-reconcile-") as name:
        folder = Path(name)
        with temporary_postgres(folder / "postgres", settings={"fsync": "off"}) as postgres:
            parameters = dict(postgres.connection_parameters())
            lakes = _fill(folder, parameters, [max(rows // 10, 1), rows])
            slow = [lake for lake in lakes if _measure(folder, parameters, *lake)]
    raise typer.Exit(1 if slow else 0)


def _fill(folder: Path, parameters: dict[str, Any], sizes: list[int]) -> list[tuple[int, str]]:
    connection = psycopg2.connect(**parameters)
    with connection, connection.cursor() as cursor:
        for size in sizes:
            cursor.execute(TABLE.format(rows=size))
    connection.close()
    made = [(size, kind) for size in sizes for kind in TYPES]
    with spark_session(folder / "spark") as spark:
        for size, kind in made:
            write_table(spark, folder / f"{kind}_{size}", size, kind)
    return made


def _measure(folder: Path, parameters: dict[str, Any], rows: int, kind: str) -> bool:
    """Compare in another process and print the cost; tell whether it was too slow or found differences."""
    given = {"source": parameters, "rows": rows, "lake": (folder / f"{kind}_{rows}").as_uri(), "folder": str(folder)}
    command = [sys.executable, "-m", "bench.reconcile.command"]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    print(
        f"{kind:<14} {rows:>9,} rows  {found['seconds']:5.1f} s  peak {found['mb']:,} MB  {found['verdict']}",
        flush=True,
    )
    return bool(found["verdict"] != "equal" or found["seconds"] > LIMIT_S)


def compare_one(given: dict[str, Any]) -> dict[str, Any]:
    """Compare one table, given as JSON on standard input; return seconds, peak memory and the verdict."""
    entry = CapturedTableSettings.model_validate(
        {"source": f"public.big_{given['rows']}", "how": "log", "key": ["id"], "truncate": "stop"}
    )
    schema_file = Path(given["folder"]) / "big.avsc"
    schema_file.write_text('{"fields": []}')
    wanted = Compared(entry=entry, schema_file=schema_file, lake=Lake(base_uri=given["lake"]))
    [found] = compare_tables(Sides(given["source"], [wanted]), Limits(timeout_s=0))
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    verdict = "equal" if found.equal else found.problem or "differs"
    return {"seconds": found.seconds, "mb": megabytes, "verdict": verdict}


if __name__ == "__main__":
    print(json.dumps(compare_one(json.load(sys.stdin))))
