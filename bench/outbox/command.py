"""Runs pgbench on both outbox functions, alternating, and prints medians: `./lake dev bench outbox`."""

import contextlib
import re
import secrets
import statistics
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import psycopg2
import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from contract.errors import UserError
from contract.source import SCHEMA
from db.loading import LoadOptions, load
from local.services.postgres import Postgres, temporary_postgres

FOLDER = Path(__file__).resolve().parent
# One database each; in the first, the row triggers replace ours.
VARIANTS = ("row_triggers", "ours")
WORKLOADS = {
    "new_order": "new order, three lines",
    "sell_stock": "the same, taken from the stock",
    "ship_order": "update of shipped_date",
}


class BenchError(UserError):
    """A run that can't be counted; the message is pgbench's."""


@dataclass(frozen=True)
class Measurement:
    """One pgbench run: transactions per second."""

    variant: str
    workload: str
    tps: float


def main(
    *,
    clients: Annotated[int, typer.Option(min=1, help="Concurrent connections.")] = 8,
    seconds: Annotated[int, typer.Option(min=1, help="Length of one run.")] = 5,
    rounds: Annotated[int, typer.Option(min=1, help="Runs per function and workload; the median counts.")] = 3,
    durable: Annotated[
        bool, typer.Option("--durable", help="Wait for the disk at each commit: then its speed is measured, too.")
    ] = False,
) -> None:
    """Measure transactions per second of a sale and of a shipment, with each outbox function."""
    with tempfile.TemporaryDirectory(prefix="bench-outbox-") as folder, temporary_postgres(Path(folder)) as server:
        prepare(server)
        measured = _measure(server, rounds, clients=clients, length=("--time", str(seconds)), durable=durable)
    commits = "commits wait for the disk" if durable else "commits don't wait for the disk"
    _print(measured, f"{clients} clients, median of {rounds} runs of {seconds} s, {commits}")


def prepare(server: Postgres) -> None:
    for variant in VARIANTS:
        execute(server, "postgres", f"CREATE DATABASE {variant}")
        options = LoadOptions(connector_password=secrets.token_urlsafe(12))
        load(server.connection_parameters(variant), options, lambda *_: None)
        execute(server, variant, f"CREATE SEQUENCE {SCHEMA}.bench_order_ids START 100000")
        if variant == "row_triggers":
            execute(server, variant, (FOLDER / "row_triggers.sql").read_text(encoding="utf-8"))


def execute(server: Postgres, database: str, statement: str) -> None:
    """Run one statement outside a transaction block."""
    with contextlib.closing(psycopg2.connect(**server.connection_parameters(database))) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(statement)


def _measure(server: Postgres, rounds: int, **settings: Any) -> list[Measurement]:
    """Alternate, so that the machine's other load affects all variants alike."""
    runs = [(variant, workload) for _ in range(rounds) for workload in WORKLOADS for variant in VARIANTS]
    measured = []
    with Progress(console=Console(stderr=True), transient=True) as display:
        for variant, workload in display.track(runs, description="pgbench"):
            execute(server, variant, "CHECKPOINT")
            measured.append(Measurement(variant, workload, run_pgbench(server, variant, workload, **settings)))
    return measured


def run_pgbench(
    server: Postgres, variant: str, workload: str, *, clients: int, length: tuple[str, str], durable: bool = False
) -> float:
    """Run pgbench and return its transactions per second; every transaction must have succeeded.

    `length` is pgbench's option: seconds by `--time`, or each client's `--transactions`.
    """
    target = server.connection_parameters(variant)
    load_options = ["--client", str(clients), "--jobs", str(min(clients, 2)), *length, "--no-vacuum"]
    load_options += ["--protocol", "prepared"]  # as drivers do; otherwise repeated parsing would distort the result
    done = subprocess.run(
        [server.program("pgbench"), *load_options, "--file", FOLDER / f"{workload}.sql"],
        env={
            "PGHOST": target["host"],
            "PGPORT": str(target["port"]),
            "PGUSER": target["user"],
            "PGPASSWORD": target["password"],
            "PGDATABASE": target["dbname"],
            "PGOPTIONS": f"-c synchronous_commit={'on' if durable else 'off'}",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    return transactions_per_second(done.returncode, done.stdout, done.stderr)


def transactions_per_second(returncode: int, output: str, errors: str) -> float:
    """Read pgbench's figure. Raises BenchError if a client gave up or a transaction failed."""
    found = re.search(r"^tps = ([\d.]+)", output, re.MULTILINE)
    failed = re.search(r"^number of failed transactions: (\d+)", output, re.MULTILINE)
    if returncode != 0 or found is None or (failed is not None and failed.group(1) != "0"):
        raise BenchError(f"pgbench failed: {errors.strip() or output.strip()}")
    return float(found.group(1))


def median_tps(measured: list[Measurement], variant: str, workload: str) -> float:
    return statistics.median(one.tps for one in measured if (one.variant, one.workload) == (variant, workload))


def _print(measured: list[Measurement], title: str) -> None:
    table = Table("workload", title=title)
    for variant in VARIANTS:
        table.add_column(f"{variant}\ntransactions/s", justify="right")
    for workload, label in WORKLOADS.items():
        base = median_tps(measured, "row_triggers", workload)
        cells = [f"{tps:,.0f} ({tps / base:.2f}x)" for tps in (median_tps(measured, v, workload) for v in VARIANTS)]
        table.add_row(label, *cells)
    Console().print(table)
