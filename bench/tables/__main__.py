"""What many tables in one Spark application cost, in memory, requests and time: `python -m bench.tables`.

The application runs by spark-submit against an S3 endpoint that writes down its requests, once with one table and once
with `--tables`; the difference is what an idle table costs. No two tables have the same columns, as in a database: what
Spark compiles for one of them is of no use to another.
"""

import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console
from rich.table import Table

from bench.running_job import RunningJob, running
from bench.s3_requests.server import VERBS, CountedS3, by_verb, counted_s3
from contract.errors import one_line_errors
from contract.events import DELETED, LSN, OPERATION, UPDATE
from contract.lake import DATABASE
from local.services.spark import MULTI_TABLE_JOB
from spark_jobs import keys, property_values, submit
from spark_jobs.archive import ROOT

EVENT = ROOT / "tests" / "events" / "update.jsonl"
SCHEMA = ROOT / "pipelines" / "orders" / "cdc_events.avsc"
IDLE_S = 30
# A look of all tables together; the job's default.
POLL_S = property_values.number({}, keys.POLL_INTERVAL)
# Rounds before the one that counts: the JVM compiles what it meets, the first time and for a while.
WARM_UP = 2
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@dataclass(frozen=True)
class Cost:
    """What was measured with some tables: MB of all processes, requests per idle look, and a round of changes."""

    tables: int
    megabytes: float
    requests: dict[str, float]
    round_seconds: float
    round_cpu_seconds: float


@app.command()
def main(
    *,
    tables: Annotated[int, typer.Option(min=2, help="Tables in the application.")] = 20,
    parallel: Annotated[int | None, typer.Option(min=1, help="Tables that commit at the same time.")] = None,
) -> None:
    """Print what one and what many tables cost."""
    with one_line_errors("error", BotoCoreError, ClientError):
        costs = [measure(count, parallel) for count in (1, tables)]
    console = Console()
    console.print(shown(costs))
    one, many = costs
    console.print(f"An idle table more: {(many.megabytes - one.megabytes) / (tables - 1):.1f} MB")


def shown(costs: list[Cost]) -> Table:
    """Return the table that is printed, a row for each number of tables."""
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
    """Run the application on new tables. Raises PlatformError when it ends or takes too long."""
    with tempfile.TemporaryDirectory(prefix="bench-tables-") as name, counted_s3(Path(name)) as s3:
        _land_all(s3, tables, offset=0)
        with _application(Path(name), s3, tables, parallel) as application:
            application.wait_for_commits(tables)
            for number in range(1, WARM_UP + 1):
                _land_all(s3, tables, offset=number)
                application.wait_for_commits((number + 1) * tables)
            time.sleep(2 * POLL_S)
            megabytes = application.megabytes()
            s3.taken()
            time.sleep(IDLE_S)
            idle = by_verb(s3.taken())
            began, cpu = time.monotonic(), application.cpu_seconds()
            _land_all(s3, tables, offset=WARM_UP + 1)
            application.wait_for_commits((WARM_UP + 2) * tables)
            seconds, cpu = time.monotonic() - began, application.cpu_seconds() - cpu
    per_look = {verb: count * POLL_S / IDLE_S for verb, count in idle.items()}
    return Cost(tables, megabytes, per_look, seconds, cpu)


def _land_all(s3: CountedS3, tables: int, *, offset: int) -> None:
    client = s3.client()
    for number in range(tables):
        event: dict[str, Any] = json.loads(EVENT.read_text().splitlines()[0])
        event |= {LSN: 1000 + offset, OPERATION: UPDATE, DELETED: "false"} | dict.fromkeys(_own_columns(number), 1)
        key = f"cdc/{_topic(number)}/0/{offset:012d}_1_2.json"
        client.put_object(Bucket="landing", Key=key, Body=f"{json.dumps(event)}\n".encode())


def _topic(number: int) -> str:
    return f"shop.public.t{number:03}"


def _own_columns(number: int) -> list[str]:
    return [f"own_{column}" for column in range(number)]


def _schema(number: int) -> str:
    """Return the Avro schema of a table: the outbox's columns, and as many of its own as there are tables before it."""
    record = json.loads(SCHEMA.read_text())
    record["fields"] += [{"name": name, "type": ["null", "int"], "default": None} for name in _own_columns(number)]
    return json.dumps(record)


@contextmanager
def _application(folder: Path, s3: CountedS3, tables: int, parallel: int | None) -> Iterator[RunningJob]:
    arguments = _arguments(folder, tables, parallel)
    with running(arguments, folder=folder, s3=s3, program=MULTI_TABLE_JOB) as application:
        yield application


def _arguments(folder: Path, tables: int, parallel: int | None) -> list[str]:
    files = {}
    for number in range(tables):
        schema_file = folder / f"t{number:03}.avsc"
        schema_file.write_text(_schema(number))
        job = submit.TableJob(
            landing=f"s3a://landing/cdc/{_topic(number)}",
            table_path=f"s3a://lake/t{number:03}",
            database=DATABASE,
            table=f"t{number:03}",
            schema_file=str(schema_file),
            properties_file=str(ROOT / "spark_jobs" / "conf" / "cdc_events.properties"),
        )
        path = folder / f"{job.table}.properties"
        path.write_text(submit.table_properties(job))
        files[job.name] = str(path)
    listed = folder / "list.properties"
    listed.write_text(submit.list_properties(files, {keys.PARALLEL_COMMITS: str(parallel)} if parallel else {}))
    arguments = submit.multi_table_arguments(
        properties_file=str(listed), config_folder=str(folder), base_path_prefix="s3a://lake"
    )
    return [argument for argument in arguments if argument != "--enable-sync"]


if __name__ == "__main__":
    app()
