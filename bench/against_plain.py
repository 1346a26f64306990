"""Measures the streaming job against a plain script (bench/plain_upsert.py): `./lake dev bench job`.

Both run by turns, each in a JVM of its own with the same flags, Spark settings and table options: first on events of
the outbox table, then on changes of its rows. Both tables must have the same rows.
"""

import json
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.table import Table

from bench.job import TIMEOUT_S, spark_session
from contract import events, lake, source
from contract.events import CREATE, DELETE, DELETED, LSN, OPERATION, SOURCE_TIME_MS, UPDATE
from local.services.spark import JOB, spark_submit
from spark_jobs.decoding import schema
from spark_jobs.decoding.schema import IS_DELETED, Column, Encoding
from spark_jobs.options import command_line, properties, settings, submit
from spark_jobs.runtime.archive import ROOT

SCHEMA_FILE = ROOT / "pipelines" / "orders" / "cdc_events.avsc"
OBJECT_EVENTS = 10_000
WAYS = ("job", "plain")


class Cost(NamedTuple):
    """Seconds of a run, from its start to its end."""

    cpu: float
    wall: float


def main(
    *,
    events: Annotated[int, typer.Option(min=1, help="Events of the first run, a fifth of them updates.")] = 100_000,
    changes: Annotated[int, typer.Option(min=1, help="Changes of the second, a tenth of them deletes.")] = 1000,
    rounds: Annotated[int, typer.Option(min=1, help="Runs of each; the figures are medians.")] = 5,
) -> None:
    """Print CPU and wall seconds of both, and their ratio; exit 1 if the tables differ."""
    lines = {f"{events:,} events": list(first(events)), f"{changes:,} changes on top": list(later(changes, events))}
    costs: dict[tuple[str, str], list[Cost]] = {(step, way): [] for step in lines for way in WAYS}
    alike = True
    for number in range(rounds):
        with tempfile.TemporaryDirectory(prefix="bench-job-") as name:
            folder = Path(name)
            for step, events_of_step in lines.items():
                _land(folder / "landing" / step.replace(" ", "_"), events_of_step)
                # Neither goes first in each round.
                for way in WAYS if number % 2 else reversed(WAYS):
                    costs[step, way].append(_run(way, folder, step.replace(" ", "_")))
            alike &= _are_alike(folder)
    Console().print(shown(costs))
    raise typer.Exit(0 if alike else 1)


def shown(costs: dict[tuple[str, str], list[Cost]]) -> Table:
    table = Table("input", "job: CPU s", "wall s", "plain: CPU s", "wall s", "CPU, job / plain", title="Medians")
    for step in dict.fromkeys(step for step, _ in costs):
        found = [statistics.median(part) for way in WAYS for part in zip(*costs[step, way], strict=True)]
        table.add_row(step, *(f"{seconds:.1f}" for seconds in found), f"{found[0] / found[2]:.2f}")
    return table


def first(count: int) -> Iterator[str]:
    """Write events of orders, most of them new."""
    orders = max(count * 4 // 5, 1)
    return (_line(at % orders, at, CREATE if at < orders else UPDATE) for at in range(count))


def later(count: int, after: int) -> Iterator[str]:
    orders = max(after * 4 // 5, 1)
    return (_line(at * 37 % orders, after + at, DELETE if at % 10 == 0 else UPDATE) for at in range(count))


def _line(order: int, lsn: int, operation: str) -> str:
    products = [(order + place) % 77 + 1 for place in range(1 + order % 3)]
    customer = {"customer_id": f"C{order % 89}", "company_name": "Müller & Söhne", "city": "Köln", "phone": "0221-9629"}
    event = {
        "order_id": order,
        "customer_id": customer["customer_id"],
        "order_date": 20_000 + order % 700,
        "required_date": 20_030 + order % 700,
        "shipped_date": None if order % 5 == 0 else 20_010 + order % 700,
        "order_items": _document([{"product_id": one, "quantity": lsn % 50, "unit_price": 14.5} for one in products]),
        "products": _document([{"product_id": one, "product_name": f"Product {one}"} for one in products]),
        "customer": _document(customer),
        "employee": _document({"employee_id": order % 9, "last_name": "Buchanan", "title": "Sales Manager"}),
        "shipper": _document({"shipper_id": order % 3, "company_name": "Speedy Express"}),
        "shipment": _document({"freight": order % 9000 / 100, "ship_city": "Reims", "ship_country": "France"}),
        "updated_at": f"2026-11-20T23:{lsn % 60:02}:11.{lsn % 1_000_000:06}Z",
        DELETED: str(operation == DELETE).lower(),
        OPERATION: operation,
        events.DATABASE: source.DATABASE,
        events.TABLE: source.OUTBOX_TABLE,
        events.SCHEMA: source.SCHEMA,
        LSN: 1000 + lsn,
        SOURCE_TIME_MS: 1_795_216_992_726 + lsn,
    }
    return json.dumps(event, ensure_ascii=False, separators=(",", ":"))


def _document(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _land(folder: Path, lines: Sequence[str]) -> None:
    topic = folder / "0"
    topic.mkdir(parents=True)
    for start in range(0, len(lines), OBJECT_EVENTS):
        part = lines[start : start + OBJECT_EVENTS]
        (topic / f"{start + len(part) - 1:012d}_1_2.json").write_text("".join(f"{line}\n" for line in part))


def _run(way: str, folder: Path, step: str) -> Cost:
    """Run one of both on a step's events. Raises CalledProcessError, with its output, if it fails."""
    landing, arguments = folder / "landing" / step, _arguments(folder, step)
    if way == "plain":
        arguments = [json.dumps(_plain(arguments, landing, folder / way))]
    argv, environment = spark_submit(
        arguments,
        work_folder=folder / "work",
        log_file=folder / "spark.log",
        program=JOB if way == "job" else ROOT / "bench" / "plain_upsert.py",
    )
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(argv, env=environment, cwd=folder, check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    return Cost(cpu, time.monotonic() - began)


def _arguments(folder: Path, step: str) -> list[str]:
    table = submit.TableJob(
        landing=str(folder / "landing" / step),
        table_path=str(folder / "job"),
        database=lake.DATABASE,
        table=source.OUTBOX_TABLE,
        schema_file=str(SCHEMA_FILE),
        properties_file=str(ROOT / "spark_jobs" / "conf" / "cdc_events.properties"),
    )
    return [one for one in submit.job_arguments(table) if one not in ("--enable-sync", "--continuous")]


def _plain(arguments: Sequence[str], landing: Path, table: Path) -> dict[str, Any]:
    given = command_line.parse(arguments)
    pairs = properties.load(str(given.props), lambda path: Path(path).read_text())
    every = properties.combine(pairs, properties.parse_overrides(given.hoodie_conf))
    decided = settings.decide(given, every, lambda _line: None).table
    columns = schema.parse(SCHEMA_FILE.read_text(), str(SCHEMA_FILE))
    return {
        "schema": ", ".join(f"`{column.source}` {column.wire.simpleString()}" for column in columns),
        "columns": [*map(_stored, columns), f"{OPERATION} = '{DELETE}' AS {IS_DELETED}"],
        "ordering": decided.ordering_field,
        "landing": str(landing / "*"),
        "options": dict(decided.write_options)
        | {
            "hoodie.table.name": decided.name,
            "hoodie.datasource.write.operation": "upsert",
            "hoodie.datasource.write.precombine.field": decided.ordering_field,
            "hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.DefaultHoodieRecordPayload",
            "hoodie.combine.before.upsert": "false",
        },
        "table": str(table),
    }


def _stored(column: Column) -> str:
    convert = {Encoding.DAYS: "date_from_unix_date({})", Encoding.ISO_TIMESTAMP: "CAST({} AS timestamp)"}
    return f"{convert.get(column.encoding, '{}').format(column.name)} AS {column.name}"


def _are_alike(folder: Path) -> bool:
    with spark_session(folder / "spark") as spark:
        ours, theirs = (spark.read.format("hudi").load(str(folder / way)) for way in WAYS)
        columns = [name for name in theirs.columns if not name.startswith("_hoodie_")]
        counts = [frame.count() for frame in (ours, theirs)]
        differing = ours.select(columns).exceptAll(theirs.select(columns)).count()
    print(f"rows: {counts[0]} and {counts[1]}, {differing} differ", flush=True)
    return counts[0] == counts[1] > 0 and differing == 0
