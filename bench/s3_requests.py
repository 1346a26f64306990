"""Measures one small commit of the streaming job: S3 requests, time and CPU, by layout: `./lake dev bench requests`.

The job runs continuously with spark-submit, as on EMR, against an S3 endpoint that logs its requests. One object with
changes of two orders is landed at a time, the next one after the job has polled in vain.
"""

import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from bench.application import land, line
from bench.job import VERBS, CountedS3, Request, RunningJob, by_verb, counted_s3, running
from contract.lake import DATABASE
from contract.source import OUTBOX_TABLE
from spark_jobs.options import keys, submit
from spark_jobs.runtime.archive import ROOT

LAYOUTS = {"default": "cdc_events.properties", "customer_id/order_id": "cdc_events_partitioned.properties"}
# Long enough to tell the job's polls from a commit's requests.
POLL_S = 1.0
# From landing to the commit, and of all the job's processes.
SECONDS, CPU_S = "s", "CPU s"


def main(
    *,
    commits: Annotated[int, typer.Option(min=3, help="Commits per layout, the first load not counted.")] = 30,
    orders: Annotated[int, typer.Option(min=2, help="Orders in the table; as many folders where each has one.")] = 20,
) -> None:
    """Print requests, seconds and CPU seconds per commit, in thirds of the run, to show growth."""
    title = "S3 requests per commit, on average; median seconds and CPU seconds"
    table = Table("layout", "commits", *VERBS, "all", SECONDS, CPU_S, title=title)
    for layout, properties in LAYOUTS.items():
        counted = measure(properties, commits=commits, orders=orders)
        for first, last in thirds(commits):
            part = counted[first:last]
            means = [statistics.mean(one[verb] for one in part) for verb in VERBS]
            label = f"{first + 1} to {last}"
            times = [f"{statistics.median(one[column] for one in part):.2f}" for column in (SECONDS, CPU_S)]
            table.add_row(layout, label, *(f"{mean:.1f}" for mean in means), f"{sum(means):.1f}", *times)
    Console().print(table)


def thirds(count: int) -> list[tuple[int, int]]:
    """Return the bounds of three parts of a sequence, as slices take them."""
    return [(count * part // 3, count * (part + 1) // 3) for part in range(3)]


def measure(properties: str, *, commits: int, orders: int) -> list[dict[str, float]]:
    """Run the job; return each commit's figures, after the first load. Raises PlatformError if it fails."""
    table = submit.TableJob(
        landing="s3a://landing/cdc",
        table_path=f"s3a://lake/{OUTBOX_TABLE}",
        database=DATABASE,
        table=OUTBOX_TABLE,
        schema_file=str(ROOT / "pipelines" / "orders" / "cdc_events.avsc"),
        properties_file=str(ROOT / "spark_jobs" / "conf" / properties),
        sync_interval_seconds=0,
        configuration={keys.POLL_INTERVAL: str(POLL_S)},
    )
    with tempfile.TemporaryDirectory(prefix="bench-s3-") as folder, counted_s3(Path(folder)) as s3:
        _land(s3, range(orders), offset=0)
        with running(submit.job_arguments(table), folder=Path(folder), s3=s3) as job:
            job.wait_for_commits(1)
            counted: list[dict[str, float]] = []
            for number in range(commits):
                _wait_for_look(job, s3)
                s3.taken()
                _land(s3, [number % orders, (number + 1) % orders], offset=orders + 2 * number)
                landed, cpu = time.monotonic(), job.cpu_seconds()
                job.wait_for_commits(2 + number)
                times = {SECONDS: time.monotonic() - landed, CPU_S: job.cpu_seconds() - cpu}
                _wait_for_look(job, s3)
                counted.append(by_verb([one for one in s3.taken() if not _is_bench_or_look(one)]) | times)
            return counted


def _land(s3: CountedS3, orders: Sequence[int], *, offset: int) -> None:
    lines = [
        line(0, lsn=1000 + at, order_id=order, customer_id=f"C{order % 5}") for at, order in enumerate(orders, offset)
    ]
    land(s3, 0, lines, offset=offset + len(lines) - 1)


def _wait_for_look(job: RunningJob, s3: CountedS3) -> None:
    before = _looks(s3)
    job.wait(lambda: _looks(s3) > before, "look")


def _looks(s3: CountedS3) -> int:
    return s3.log.read_text().count("list-type=2&prefix=cdc%2F&")


def _is_bench_or_look(request: Request) -> bool:
    """Tell whether it is the object landed here or a poll for new ones, which depends on time, not on commits."""
    looked = request.target.startswith("/landing?list-type=2&prefix=cdc%2F&")
    return looked or (request.verb == "PUT" and request.target.startswith("/landing/"))
