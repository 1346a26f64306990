"""Measures memory, requests and time of many tables in one Spark application: `./lake dev bench tables`.

The application runs with spark-submit against an S3 endpoint that logs its requests, once with one table and once
with `--tables`; the difference is the cost of an idle table. No two tables have the same columns, as in a database:
code that Spark compiles for one can't be reused for another.
"""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from bench.s3_requests.server import VERBS, CountedS3, by_verb, counted_s3
from bench.tables import crowded
from bench.tables.application import application, land, line
from spark_jobs.options import keys
from spark_jobs.options.settings import Settings

IDLE_S = 30
# Poll interval of all tables together; the job's default.
POLL_S = Settings.poll_seconds
# Rounds before the counted one: the JVM compiles new code at first.
WARM_UP = 2


@dataclass(frozen=True)
class Cost:
    """Measurements with a number of tables: MB of all processes, requests per idle poll, and a round of changes."""

    tables: int
    megabytes: float
    requests: dict[str, float]
    round_seconds: float
    round_cpu_seconds: float


def main(
    *,
    tables: Annotated[int, typer.Option(min=2, help="Tables in the application.")] = 20,
    parallel: Annotated[int | None, typer.Option(min=1, help="Tables that commit at the same time.")] = None,
) -> None:
    """Print the costs of one and of many tables, then how long a change waits while others load."""
    costs = [measure(count, parallel) for count in (1, tables)]
    console = Console()
    console.print(shown(costs))
    one, many = costs
    console.print(f"An idle table more: {(many.megabytes - one.megabytes) / (tables - 1):.1f} MB")
    crowded.main()


def shown(costs: list[Cost]) -> Table:
    """Return the printed table, a row for each number of tables."""
    table = Table(
        *("tables", "MB", *VERBS, "s until all have committed", "s of CPU for it"),
        title=f"One change in each table; memory, and requests per look ({POLL_S:.0f} s) while idle",
    )
    for cost in costs:
        requests = [f"{cost.requests[verb]:.2f}" for verb in VERBS]
        figures = [f"{cost.megabytes:.0f}", *requests, f"{cost.round_seconds:.1f}", f"{cost.round_cpu_seconds:.1f}"]
        table.add_row(str(cost.tables), *figures)
    return table


def measure(tables: int, parallel: int | None) -> Cost:
    """Run the application on new tables. Raises PlatformError if it ends or takes too long."""
    shared = {keys.PARALLEL_COMMITS: str(parallel)} if parallel else {}
    with tempfile.TemporaryDirectory(prefix="bench-tables-") as name, counted_s3(Path(name)) as s3:
        _land_all(s3, tables, offset=0)
        with application(Path(name), s3, tables, shared=shared) as job:
            job.wait_for_commits(tables)
            for number in range(1, WARM_UP + 1):
                _land_all(s3, tables, offset=number)
                job.wait_for_commits((number + 1) * tables)
            time.sleep(2 * POLL_S)
            megabytes = job.megabytes()
            s3.taken()
            time.sleep(IDLE_S)
            idle = by_verb(s3.taken())
            began, cpu = time.monotonic(), job.cpu_seconds()
            _land_all(s3, tables, offset=WARM_UP + 1)
            job.wait_for_commits((WARM_UP + 2) * tables)
            seconds, cpu = time.monotonic() - began, job.cpu_seconds() - cpu
    per_look = {verb: count * POLL_S / IDLE_S for verb, count in idle.items()}
    return Cost(tables, megabytes, per_look, seconds, cpu)


def _land_all(s3: CountedS3, tables: int, *, offset: int) -> None:
    for number in range(tables):
        land(s3, number, [line(number, lsn=1000 + offset)], offset=offset)
