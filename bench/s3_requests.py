"""Measures one small commit of the streaming job: S3 requests, time and CPU, by layout: `./lake dev bench requests`.

The job runs continuously with spark-submit, as on EMR, against an S3 endpoint that logs its requests. One object with
changes of two orders is landed at a time, the next one after the job has polled in vain. Parts of a run show growth:
with the commits, or behind many objects that landed before.
"""

import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from bench import results
from bench.application import SHORT, key, land, line
from bench.job import TIMEOUT_S, VERBS, CountedS3, Request, RunningJob, by_verb, counted_s3, lay, running
from contract.lake import DATABASE
from contract.source import OUTBOX_TABLE
from spark_jobs.options import keys, submit
from spark_jobs.runtime.archive import ROOT

LAYOUTS = {"default": "cdc_events.properties", "customer_id/order_id": "cdc_events_partitioned.properties"}
# Long enough to tell the job's polls from a commit's requests.
POLL_S = 1.0
LOOK = "/landing?list-type=2&prefix=cdc%2F&"
# An object of those before takes less.
OBJECT_S = 0.05
# From landing to the commit, and of all the job's processes.
SECONDS, CPU_S = "s", "CPU s"
HEADS = ("layout", "commits", *VERBS, "all", SECONDS, CPU_S)


def main(
    *,
    commits: Annotated[int, typer.Option(min=1, help="Commits per layout, the first load not counted.")] = 30,
    orders: Annotated[int, typer.Option(min=2, help="Orders in the table; as many folders where each has one.")] = 20,
    parts: Annotated[int, typer.Option(min=1, help="Parts of the run that are shown.")] = 3,
    landed: Annotated[int, typer.Option(min=0, help="Objects with a short event each that have landed before.")] = 0,
    layout: Annotated[list[str], typer.Option(help="Measured layouts.")] = [*LAYOUTS],  # noqa: B006
) -> None:
    """Print requests, seconds and CPU seconds per commit, in parts of the run, to show growth."""
    results.check_names("--layout", layout, LAYOUTS)
    rows: list[list[results.Value]] = []
    for name in layout:
        counted = measure(LAYOUTS[name], commits=commits, orders=orders, landed=landed)
        for first, last in results.bounds(commits, parts):
            part = counted[first:last]
            means = [statistics.mean(one[verb] for one in part) for verb in VERBS]
            times = [statistics.median(one[column] for one in part) for column in (SECONDS, CPU_S)]
            rows.append([name, f"{first + 1}-{last}", *means, sum(means), *times])
    title = f"Requests per commit, on average; median seconds and CPU seconds; {landed:,} objects before"
    results.show("requests", title, HEADS, rows)


def measure(properties: str, *, commits: int, orders: int, landed: int = 0) -> list[dict[str, float]]:
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
        for at in range(landed):
            lay(s3.objects / "landing" / key(0, at), f"{_event(at % orders, at, **SHORT)}\n")
        _land(s3, range(orders), offset=landed)
        with running(submit.job_arguments(table), folder=Path(folder), s3=s3) as job:
            timeout_s = TIMEOUT_S + landed * OBJECT_S
            job.wait(lambda: job.total("events") >= landed + orders, "first load", timeout_s=timeout_s)
            first, counted = job.commits(), list[dict[str, float]]()
            for number in range(commits):
                _wait_for_look(job, s3)
                s3.taken()
                _land(s3, [number % orders, (number + 1) % orders], offset=landed + orders + 2 * number)
                began, cpu = time.monotonic(), job.cpu_seconds()
                job.wait_for_commits(first + 1 + number)
                times = {SECONDS: time.monotonic() - began, CPU_S: job.cpu_seconds() - cpu}
                _wait_for_look(job, s3)
                counted.append(by_verb([one for one in s3.taken() if not _is_bench_or_look(one)]) | times)
            return counted


def _land(s3: CountedS3, orders: Sequence[int], *, offset: int) -> None:
    lines = [_event(order, at) for at, order in enumerate(orders, offset)]
    land(s3, 0, lines, offset=offset + len(lines) - 1)


def _event(order: int, at: int, **fields: str) -> str:
    return line(0, lsn=1000 + at, order_id=order, customer_id=f"C{order % 5}", **fields)


def _wait_for_look(job: RunningJob, s3: CountedS3) -> None:
    # A first load of many objects leaves a long log.
    read = s3.log.stat().st_size

    def has_looked() -> bool:
        with s3.log.open("rb") as log:
            log.seek(read)
            return LOOK.encode() in log.read()

    job.wait(has_looked, "look")


def _is_bench_or_look(request: Request) -> bool:
    """Tell whether it is the object landed here or a poll for new ones, which depends on time, not on commits."""
    return request.target.startswith(LOOK) or (request.verb == "PUT" and request.target.startswith("/landing/"))
