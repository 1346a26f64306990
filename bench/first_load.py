"""Measures a first load both ways, from `./lake up` to an equal comparison: `./lake dev bench first-load`.

`job` is the direct way's job alone, without the services around it, and `floor` a plain script in its place
(bench/plain.py): both from the start of spark-submit to its end, each table after the other.

Each run has a platform and a database of its own, in a copy of this checkout, because the commands write into it. `up`
starts all services, and they share the machine with the load. Memory is what the platform's processes hold without
counting shared pages twice (PSS), and it excludes the source's server, which a user has already.
"""

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import psutil
import typer
from pyarrow import parquet

from bench import cases, results
from bench.job import children_cpu_s, execute, started, watched
from contract.events import ADDED_TYPES
from contract.source import CONNECTOR_ROLE
from local.errors import PlatformError
from local.files import BUILD, write_private
from local.platform.platform import Platform
from local.services.postgres import temporary_postgres
from local.services.spark import JOB, spark_submit
from settings.job import JobPace, JobPlaces, server, table_job
from settings.load import load_pipeline
from spark_jobs.options import keys
from spark_jobs.options.jdbc_settings import DRIVER
from spark_jobs.runtime.archive import ROOT

WAYS, ALONE = ("direct", "connector"), ("job", "floor")
NAME = "loaded"
_PASSWORD = "First/Load/1"  # noqa: S105  (of a server that lives as long as the run)
# Ignored by git, or not needed by any command; the jars are shared.
_LEFT_OUT = (".git", ".venv", ".cache", "node_modules", "build", "cdk.out", "docs", "tests", "__pycache__")
# Ten columns of mixed types; about a tenth of the names and small numbers are null.
MAKING = """
CREATE TABLE {table} (id bigint PRIMARY KEY, code varchar(20), name text, amount numeric(12, 2), active boolean,
    born date, seen timestamptz, token uuid, doc jsonb, small int);
INSERT INTO {table} SELECT g, 'C' || g % 9973, CASE WHEN g % 11 > 0 THEN 'name é ' || md5(g::text) END,
    g * 7919 % 100000000 / 100.0, g % 3 = 0, DATE '1970-01-01' + (g % 30000)::int,
    '2020-01-01 00:00Z'::timestamptz + g * INTERVAL '1.000123 s', md5(g::text)::uuid,
    jsonb_build_object('a', g, 'b', jsonb_build_array(1.50, 2, 'x'), 'name', 'n' || g),
    CASE WHEN g % 13 > 0 THEN g % 1000 END FROM generate_series(1::bigint, {rows}) AS g;
ANALYZE {table}
"""


@dataclass(frozen=True)
class Load:
    """One run: seconds until `up` ended and until the lake was equal, s of CPU, and MB at most.

    One of ALONE has no `up`, and isn't compared: `equal_s` is until it ended, and its memory isn't measured.
    """

    way: str
    rows: int
    tables: int
    equal_s: float
    cpu_s: float
    up_s: float | None = None
    megabytes: float | None = None


def main(
    *,
    rows: Annotated[list[int], typer.Option(min=1, help="Rows in all, of a run.")] = [100_000, 1_000_000],  # noqa: B006
    tables: Annotated[list[int], typer.Option(min=1, help="Over how many tables they are spread.")] = [1, 10],  # noqa: B006
    way: Annotated[list[str], typer.Option(help="A way.")] = [*WAYS, *ALONE],  # noqa: B006
    runs: Annotated[int, typer.Option(min=1, help="Runs of each, in turn.")] = 1,
) -> None:
    """Load, and print the figures so far after each run."""
    found = list[Load]()
    for count, spread, one in itertools.product(rows, tables, way * runs):
        found.append(measure(one, count, spread))
        results.show("first-load", "from `up`, or spark-submit, until the lake is equal", HEADS, rows_of(found))


HEADS = ("way", "rows", "tables", "up s", "equal s", "rows/s", "CPU s", "µs of CPU per row", "MB at most")


def rows_of(loads: Sequence[Load]) -> list[list[results.Value]]:
    """Return a row for each kind of load, with all of its runs."""
    kinds: dict[tuple[str, int, int], list[tuple[float | None, ...]]] = {}
    for one in loads:
        per_row = one.cpu_s / one.rows * 1e6
        figures = one.up_s, one.equal_s, one.rows / one.equal_s, one.cpu_s, per_row, one.megabytes
        kinds.setdefault((one.way, one.rows, one.tables), []).append(figures)
    return [
        [*kind, *([value for value in column if value is not None] or None for column in zip(*runs, strict=True))]
        for kind, runs in kinds.items()
    ]


def measure(way: str, rows: int, tables: int) -> Load:
    """Load `rows` in all. Raises PlatformError when a command fails."""
    with tempfile.TemporaryDirectory(prefix="bench-first-load-") as name:
        folder = Path(name)
        with temporary_postgres(folder / "source", settings={"fsync": "off", "max_wal_size": "4GB"}) as server:
            parameters = server.connection_parameters()
            for number in range(tables):
                execute(parameters, MAKING.format(table=f"t{number}", rows=rows // tables))
            lake = _Lake(folder / "checkout", parameters)
            lake.describe("direct" if way in ALONE else way)
            if way in ALONE:
                return _alone(way, rows, tables, lake, parameters)
            platform = Platform(lake.platform)
            try:
                peaks = [0.0]
                with watched(lambda: peaks.append(_sum(platform, lambda one: one.memory_full_info().pss) / 2**20)):
                    began, cpu = time.monotonic(), children_cpu_s()
                    lake.run("up", "--no-supervise", "--dsn", lake.dsn, "--pipeline", NAME)
                    up_s = time.monotonic() - began
                    said = lake.run("reconcile", "--pipeline", NAME, "--timeout", "600")
                    equal_s = time.monotonic() - began
                    cpu = children_cpu_s() - cpu + _sum(platform, lambda one: sum(one.cpu_times()[:2]))
            finally:
                platform.remove()
    check(compared(said), rows, tables, said)
    return Load(way, rows, tables, equal_s, cpu, up_s, max(peaks))


def compared(said: str) -> list[int]:
    """Return the numbers of rows that a comparison's output says are equal."""
    return [int(count.replace(",", "")) for count in re.findall(r"^\S+  equal  ([\d,]+) rows", said, re.MULTILINE)]


def check(found: Sequence[int], rows: int, tables: int, said: str) -> None:
    """Raise PlatformError unless each table has been found, with all of its rows."""
    if list(found) != [rows // tables] * tables:
        raise PlatformError(f"{rows} rows in {tables} tables were found as {found}:\n{said}")


def _alone(way: str, rows: int, tables: int, lake: "_Lake", database: Mapping[str, Any]) -> Load:
    """Run the job, or the plain script, for each table. Raises PlatformError when it fails."""
    execute(database, f"SELECT pg_create_logical_replication_slot('cdc_{NAME}', 'pgoutput')")
    before, began = children_cpu_s(), time.monotonic()
    for number in range(tables):
        arguments = lake.job_arguments(number, database)
        if way == "floor":
            arguments = [str(lake.plain(number, arguments, rows // tables))]
        argv, environment = spark_submit(
            arguments,
            work_folder=lake.folder / BUILD.name / "work",
            log_file=lake.folder / BUILD.name / "spark.log",
            program=JOB if way == "job" else cases.PLAIN,
        )
        with started(argv, environment, folder=lake.folder) as running:
            running.run_to_its_end(way)
    equal_s, cpu_s = time.monotonic() - began, children_cpu_s() - before
    check([lake.stored(number) for number in range(tables)], rows, tables, f"{way} alone")
    return Load(way, rows, tables, equal_s, cpu_s)


class _Lake:
    """The commands of a pipeline in a copy of the checkout."""

    def __init__(self, folder: Path, database: Mapping[str, Any]) -> None:
        shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*_LEFT_OUT))
        (folder / ".cache").symlink_to(ROOT / ".cache")
        self.folder = folder
        self.dsn = "postgresql://{user}@{host}:{port}/{dbname}".format_map(database)
        self.platform = folder / BUILD.name / f"platform-{NAME}"
        self._secrets = {"PGPASSWORD": database["password"], "CDC_CONNECTOR_PASSWORD": _PASSWORD}

    def describe(self, way: str) -> None:
        """Write the pipeline's file and prepare the database."""
        self.run("source", "describe", NAME, "--dsn", self.dsn)
        file = self.folder / "pipelines" / f"{NAME}.toml"
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace('first_load = "connector"', f'first_load = "{way}"'), encoding="utf-8")
        self.run("source", "prepare", NAME, "--dsn", self.dsn)

    def run(self, *arguments: str) -> str:
        """Return the output of `./lake …`. Raises PlatformError when it fails."""
        done = subprocess.run(
            [sys.executable, "-m", "cli", *arguments],
            cwd=self.folder,
            env={**os.environ, **self._secrets, "COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise PlatformError(f"./lake {arguments[0]} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def job_arguments(self, number: int, database: Mapping[str, Any]) -> list[str]:
        """Return the options of the job that reads a table, without the services: to end when it has."""
        password = self.folder / "password"
        write_private(password, f"{_PASSWORD}\n")
        login = {keys.JDBC_PASSWORD_FILE: str(password)}
        host, port, name = (str(database[key]) for key in ("host", "port", "dbname"))
        (self.folder / BUILD.name / "landing" / f"{NAME}.public.t{number}").mkdir(parents=True, exist_ok=True)
        places = JobPlaces(
            landing=str(self.folder / BUILD.name / "landing"),
            lake=str(self.folder / BUILD.name / "lake"),
            schemas=str(self.folder / "pipelines"),
            shared_properties=str(ROOT / "spark_jobs" / "conf" / "lean.properties"),
            database="lake",
            source=server(host=host, port=port, database=name, user=CONNECTOR_ROLE, password=login),
        )
        pipeline = load_pipeline(NAME, self.folder / "pipelines")
        return cases.run_once(table_job(pipeline, pipeline.tables[number], places, JobPace()))

    def plain(self, number: int, arguments: Sequence[str], rows: int) -> Path:
        """Write what the plain script needs: the job's connection and table options."""
        every, table = cases.decided(arguments)
        ranges = {"partitionColumn": "id", "lowerBound": "0", "upperBound": str(rows), "numPartitions": "2"}
        login = {"url": every[keys.JDBC_URL], "user": CONNECTOR_ROLE, "password": _PASSWORD, "driver": DRIVER}
        written = {
            "jdbc": login | ranges | {"dbtable": f"t{number}", "fetchsize": "10000"},
            # What each row of the lake has, too: a quarter of the script's CPU.
            "added": {**ADDED_TYPES},
            **cases.plain_writing(table, "bulk_insert"),
        }
        path = self.folder / f"plain-{number}.json"
        write_private(path, json.dumps(written))
        return path

    def stored(self, number: int) -> int:
        """Return the rows in a table's files."""
        files = (self.folder / BUILD.name / "lake" / f"{NAME}_t{number}").glob("*.parquet")
        return sum(parquet.read_metadata(file).num_rows for file in files)


def _sum(platform: Platform, value: Any) -> float:
    total = 0.0
    for process in (one for service in platform.processes.find().values() for one in service):
        with suppress(psutil.Error):
            total += value(process)
    return total
