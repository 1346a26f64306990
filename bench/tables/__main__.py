"""What many tables in one Spark application cost, in memory, requests and time: `python -m bench.tables`.

The application runs by spark-submit against an S3 endpoint that writes down its requests, once with one table and once
with `--tables`; the difference is what an idle table costs.
"""

import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import psutil
import typer
from rich.console import Console
from rich.table import Table

from bench.s3_requests.server import VERBS, CountedS3, by_verb
from contract.errors import one_line_errors
from contract.events import DELETED, LSN, OPERATION, UPDATE
from contract.lake import DATABASE
from local.errors import PlatformError
from local.platform.processes import Processes
from local.services.spark import MULTI_TABLE_JOB, spark_submit
from local.setup.ports import choose
from spark_jobs import keys, submit

ROOT = Path(__file__).resolve().parents[2]
EVENT = ROOT / "tests" / "events" / "update.jsonl"
TIMEOUT_S = 600
IDLE_S = 30
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@dataclass(frozen=True)
class Cost:
    """What was measured with some tables: MB of all processes, requests per idle minute, and a round of changes."""

    tables: int
    megabytes: float
    requests: dict[str, int]
    round_seconds: float
    round_cpu_seconds: float


@app.command()
def main(
    *,
    tables: Annotated[int, typer.Option(min=2, help="Tables in the application.")] = 20,
    parallel: Annotated[int, typer.Option(min=1, help="Tables that commit at the same time.")] = 4,
) -> None:
    """Print what one and what many tables cost."""
    shown = Table(
        *("tables", "MB", *VERBS, "s until all have committed", "s of CPU for it"),
        title="One change in each table; MB and requests per minute while idle",
    )
    with one_line_errors("error"):
        costs = [measure(count, parallel) for count in (1, tables)]
    for cost in costs:
        requests = [str(cost.requests[verb]) for verb in VERBS]
        figures = [f"{cost.megabytes:.0f}", *requests, f"{cost.round_seconds:.1f}", f"{cost.round_cpu_seconds:.1f}"]
        shown.add_row(str(cost.tables), *figures)
    console = Console()
    console.print(shown)
    more = (costs[1].megabytes - costs[0].megabytes) / (tables - 1)
    console.print(f"An idle table more: {more:.1f} MB")


def measure(tables: int, parallel: int) -> Cost:
    """Run the application on new tables. Raises PlatformError when it ends or takes too long."""
    with tempfile.TemporaryDirectory(prefix="bench-tables-") as name, _server(Path(name)) as s3:
        folder = Path(name)
        for number in range(tables):
            _land(s3, number, offset=0)
        with _application(folder, s3, tables, parallel) as application:
            application.wait_for(tables)
            _land_all(s3, tables, offset=1)
            application.wait_for(2 * tables)  # the first round is the JVM's, which compiles what it meets
            time.sleep(2)
            megabytes = application.megabytes()
            s3.taken()
            time.sleep(IDLE_S)
            idle = by_verb(s3.taken())
            began, cpu = time.monotonic(), application.cpu_seconds()
            _land_all(s3, tables, offset=2)
            application.wait_for(3 * tables)
            seconds, cpu = time.monotonic() - began, application.cpu_seconds() - cpu
    per_minute = {verb: count * 60 // IDLE_S for verb, count in idle.items()}
    return Cost(tables, megabytes, per_minute, seconds, cpu)


class Application:
    """The running application."""

    def __init__(self, process: "subprocess.Popen[bytes]", output: Path) -> None:
        self._process = process
        self._output = output

    def wait_for(self, commits: int) -> None:
        """Wait until there have been so many."""
        deadline = time.monotonic() + TIMEOUT_S
        while self._output.read_text().count("\ncommit=") < commits:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise PlatformError(f"no {commits} commits: {self._output.read_text()[-300:]}")
            time.sleep(0.1)

    def megabytes(self) -> float:
        """Return the resident memory of all its processes."""
        return sum(process.memory_info().rss for process in self._processes()) / 2**20

    def cpu_seconds(self) -> float:
        """Return what all its processes have used."""
        return sum(sum(process.cpu_times()[:2]) for process in self._processes())

    def _processes(self) -> list[psutil.Process]:
        process = psutil.Process(self._process.pid)
        return [process, *process.children(recursive=True)]


def _land_all(s3: CountedS3, tables: int, *, offset: int) -> None:
    for number in range(tables):
        _land(s3, number, offset=offset)


def _land(s3: CountedS3, number: int, *, offset: int) -> None:
    event: dict[str, Any] = json.loads(EVENT.read_text().splitlines()[0])
    event |= {LSN: 1000 + offset, OPERATION: UPDATE, DELETED: "false"}
    key = f"cdc/{_topic(number)}/0/{offset:012d}_1_2.json"
    s3.client().put_object(Bucket="landing", Key=key, Body=f"{json.dumps(event)}\n".encode())


def _topic(number: int) -> str:
    return f"shop.public.t{number:03}"


@contextmanager
def _server(folder: Path) -> Iterator[CountedS3]:
    processes = Processes(folder, folder / "logs")
    (folder / "s3").mkdir()
    s3 = CountedS3(folder / "s3", port=choose(["s3"], earlier={})["s3"])
    try:
        processes.start(s3.name, s3.prepare())
        processes.wait_until(s3.name, s3.ready, timeout_s=60)
        s3.create_buckets(["landing", "lake"])
        yield s3
    finally:
        processes.stop(s3.name, grace_s=10)


@contextmanager
def _application(folder: Path, s3: CountedS3, tables: int, parallel: int) -> Iterator[Application]:
    arguments = _arguments(folder, tables, parallel)
    log = folder / "logs" / "spark.log"
    argv, environment = spark_submit(
        arguments, work_folder=folder / "job", log_file=log, s3_endpoint=s3.endpoint, program=MULTI_TABLE_JOB
    )
    output = folder / "job.out"
    with output.open("wb") as out:
        process = subprocess.Popen(argv, env=environment, cwd=folder, stdout=out, stderr=subprocess.STDOUT)
    try:
        yield Application(process, output)
    finally:
        process.terminate()
        process.wait(60)


def _arguments(folder: Path, tables: int, parallel: int) -> list[str]:
    files = {}
    for number in range(tables):
        job = submit.TableJob(
            landing=f"s3a://landing/cdc/{_topic(number)}",
            table_path=f"s3a://lake/t{number:03}",
            database=DATABASE,
            table=f"t{number:03}",
            schema_file=str(ROOT / "pipelines" / "orders" / "cdc_events.avsc"),
            properties_file=str(ROOT / "spark_jobs" / "conf" / "cdc_events.properties"),
        )
        path = folder / f"{job.table}.properties"
        path.write_text(submit.table_properties(job))
        files[job.name] = str(path)
    listed = folder / "list.properties"
    listed.write_text(submit.list_properties(files, {keys.PARALLEL_COMMITS: str(parallel)}))
    arguments = submit.multi_table_arguments(
        properties_file=str(listed), config_folder=str(folder), base_path_prefix="s3a://lake"
    )
    return [argument for argument in arguments if argument != "--enable-sync"]


if __name__ == "__main__":
    app()
