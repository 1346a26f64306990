"""Measures a first load both ways, from `./lake up` to an equal comparison: `./lake dev bench first-load`.

Each run has a platform and a database of its own, in a copy of this checkout, because the commands write into it. `up`
starts all services, and they share the machine with the load. Memory is what the platform's processes hold without
counting shared pages twice (PSS), and it excludes the source's server, which a user has already.
"""

import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import psutil
import typer
from rich.console import Console
from rich.table import Table

from bench.job import execute
from local.errors import PlatformError
from local.files import BUILD
from local.platform.platform import Platform
from local.services.postgres import temporary_postgres
from spark_jobs.runtime.archive import ROOT

WAYS = ("direct", "connector")
NAME = "loaded"
_PASSWORD = "First/Load/1"  # noqa: S105  (of a server that lives as long as the run)
# Ignored by git, or not needed by any command; the jars are shared.
_LEFT_OUT = (".git", ".venv", ".cache", "node_modules", "build", "cdk.out", "docs", "tests", "__pycache__")
_LOOK_S = 0.5
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
    """One run: seconds until `up` ended and until the lake was equal, s of CPU, and MB at most."""

    way: str
    rows: int
    tables: int
    up_s: float
    equal_s: float
    cpu_s: float
    megabytes: float


def main(
    *,
    rows: Annotated[str, typer.Option(help="Rows in all, per run.")] = "100000,1000000",
    tables: Annotated[str, typer.Option(help="Over how many tables they are spread, per run.")] = "1,10",
    ways: Annotated[str, typer.Option(help="Which ways.")] = ",".join(WAYS),
    runs: Annotated[int, typer.Option(min=1, help="Runs of each, in turn.")] = 1,
) -> None:
    """Load, and print the figures so far after each run."""
    console = Console(width=110)
    found = Table("way", "rows", "tables", "up s", "equal s", "rows/s", "CPU s", "µs of CPU per row", "MB at most")
    for count in map(int, rows.split(",")):
        for spread in map(int, tables.split(",")):
            for way in ways.split(",") * runs:
                one = measure(way, count, spread)
                figures = (f"{one.up_s:.1f}", f"{one.equal_s:.1f}", f"{count / one.equal_s:,.0f}", f"{one.cpu_s:.0f}")
                each = f"{one.cpu_s / count * 1e6:,.0f}"
                found.add_row(way, f"{count:,}", str(spread), *figures, each, f"{one.megabytes:,.0f}")
                console.print(found)


def measure(way: str, rows: int, tables: int) -> Load:
    """Load `rows` in all. Raises PlatformError when a command fails."""
    with tempfile.TemporaryDirectory(prefix="bench-first-load-") as name:
        folder = Path(name)
        with temporary_postgres(folder / "source", settings={"fsync": "off", "max_wal_size": "4GB"}) as server:
            parameters = server.connection_parameters()
            for number in range(tables):
                execute(parameters, MAKING.format(table=f"t{number}", rows=rows // tables))
            lake = _Lake(folder / "checkout", parameters)
            lake.describe(way)
            platform = Platform(lake.platform)
            try:
                with _watched(platform) as peaks:
                    began, cpu = time.monotonic(), _children_cpu_s()
                    lake.run("up", "--no-supervise", "--dsn", lake.dsn, "--pipeline", NAME)
                    up_s = time.monotonic() - began
                    said = lake.run("reconcile", "--pipeline", NAME, "--timeout", "600")
                    equal_s = time.monotonic() - began
                    cpu = _children_cpu_s() - cpu + _sum(platform, lambda one: sum(one.cpu_times()[:2]))
            finally:
                platform.remove()
    found = [int(count.replace(",", "")) for count in re.findall(r"^\S+  equal  ([\d,]+) rows", said, re.MULTILINE)]
    if sum(found) != rows // tables * tables or len(found) != tables:
        raise PlatformError(f"the comparison counts {found} rows:\n{said}")
    return Load(way, rows, tables, up_s, equal_s, cpu, max(peaks))


class _Lake:
    """The commands of a pipeline in a copy of the checkout."""

    def __init__(self, folder: Path, database: Mapping[str, Any]) -> None:
        shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*_LEFT_OUT))
        (folder / ".cache").symlink_to(ROOT / ".cache")
        self._folder = folder
        self.dsn = "postgresql://{user}@{host}:{port}/{dbname}".format_map(database)
        self.platform = folder / BUILD.name / f"platform-{NAME}"
        self._secrets = {"PGPASSWORD": database["password"], "CDC_CONNECTOR_PASSWORD": _PASSWORD}

    def describe(self, way: str) -> None:
        """Write the pipeline's file and prepare the database."""
        self.run("source", "describe", NAME, "--dsn", self.dsn)
        file = self._folder / "pipelines" / f"{NAME}.toml"
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace('first_load = "connector"', f'first_load = "{way}"'), encoding="utf-8")
        self.run("source", "prepare", NAME, "--dsn", self.dsn)

    def run(self, *arguments: str) -> str:
        """Return the output of `./lake …`. Raises PlatformError when it fails."""
        done = subprocess.run(
            [sys.executable, "-m", "cli", *arguments],
            cwd=self._folder,
            env={**os.environ, **self._secrets, "COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise PlatformError(f"./lake {arguments[0]} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout


@contextmanager
def _watched(platform: Platform) -> Iterator[list[float]]:
    """Collect the MB of a platform's processes while the block runs."""
    found, ended = [0.0], threading.Event()

    def watch() -> None:
        while not ended.wait(_LOOK_S):
            found.append(_sum(platform, lambda one: one.memory_full_info().pss) / 2**20)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join(10)


def _sum(platform: Platform, value: Any) -> float:
    total = 0.0
    for process in (one for service in platform.processes.find().values() for one in service):
        with suppress(psutil.Error):
            total += value(process)
    return total


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
