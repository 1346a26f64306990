"""Runs pgbench with our triggers, others and none, alternating, and prints medians: `./lake dev bench outbox`."""

import contextlib
import itertools
import re
import secrets
import statistics
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import psutil
import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from bench.job import execute
from contract.errors import UserError
from contract.source import SCHEMA
from db.loading import LoadOptions, load
from local.services.postgres import Postgres, temporary_postgres

FOLDER = Path(__file__).resolve().parent
# One database each, and the files that replace our triggers there. The first is what the others are compared with.
VARIANTS = {
    "none": ("none",),
    "audit_trigger": ("none", "audit_trigger"),
    "row_triggers": ("none", "row_triggers"),
    "ours": (),
}
WORKLOADS = {
    "new_order": "new order, three lines",
    "sell_stock": "the same, taken from the stock",
    "ship_order": "update of shipped_date",
}


def main(
    *,
    clients: Annotated[int, typer.Option(min=1, help="Concurrent connections.")] = 8,
    seconds: Annotated[int, typer.Option(min=1, help="Length of one run.")] = 4,
    rounds: Annotated[int, typer.Option(min=1, help="Runs per variant and workload; the median counts.")] = 3,
    durable: Annotated[
        bool, typer.Option("--durable", help="Wait for the disk at each commit: then its speed is measured, too.")
    ] = False,
) -> None:
    """Measure transactions per second and CPU time of a sale and of a shipment, by kind of triggers."""
    with tempfile.TemporaryDirectory(prefix="bench-outbox-") as folder, temporary_postgres(Path(folder)) as server:
        prepare(server)
        measured = _measure(server, rounds, seconds, clients=clients, durable=durable)
    commits = "commits wait for the disk" if durable else "commits don't wait for the disk"
    _print(measured, f"{clients} clients, median of {rounds} runs of {seconds} s, {commits}")


def prepare(server: Postgres) -> None:
    for variant, files in VARIANTS.items():
        execute(server.connection_parameters(), f"CREATE DATABASE {variant}")
        options = LoadOptions(connector_password=secrets.token_urlsafe(12))
        database = server.connection_parameters(variant)
        load(database, options, lambda *_: None)
        execute(database, f"CREATE SEQUENCE {SCHEMA}.bench_order_ids START 100000")
        for file in files:
            execute(database, (FOLDER / f"{file}.sql").read_text(encoding="utf-8"))


class Measured(NamedTuple):
    """Transactions per second, and the CPU time that one takes: pgbench's and the server's, in µs."""

    tps: float
    cpu_us: float


def _measure(server: Postgres, rounds: int, seconds: int, **settings: Any) -> dict[tuple[str, str], Measured]:
    """Return each workload's and variant's medians; they alternate, so that other load affects all variants alike."""
    measured: dict[tuple[str, str], list[Measured]] = {run: [] for run in itertools.product(WORKLOADS, VARIANTS)}
    with Progress(console=Console(stderr=True), transient=True) as display:
        for workload, variant in display.track([*measured] * rounds, description="pgbench"):
            execute(server.connection_parameters(variant), "CHECKPOINT")
            before = _cpu_seconds(server)
            tps = run_pgbench(server, variant, workload, length=("--time", str(seconds)), **settings)
            measured[workload, variant].append(Measured(tps, 1e6 * (_cpu_seconds(server) - before) / (tps * seconds)))
    return {run: Measured(*map(statistics.median, zip(*found, strict=True))) for run, found in measured.items()}


def _cpu_seconds(server: Postgres) -> float:
    """Return the CPU time of the server with all its processes, and of this process's ended children: pgbench."""
    postmaster = psutil.Process(server.cluster.pid())
    times = [postmaster.cpu_times()]
    for process in postmaster.children():
        with contextlib.suppress(psutil.NoSuchProcess):
            times.append(process.cpu_times())
    own = psutil.Process().cpu_times()
    ended = times[0].children_user + times[0].children_system + own.children_user + own.children_system
    return float(sum(one.user + one.system for one in times) + ended)


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
    """Read pgbench's figure. Raises UserError if a client gave up or a transaction failed."""
    found = re.search(r"^tps = ([\d.]+)", output, re.MULTILINE)
    failed = re.search(r"^number of failed transactions: (\d+)", output, re.MULTILINE)
    if returncode != 0 or found is None or (failed is not None and failed.group(1) != "0"):
        raise UserError(f"pgbench failed: {errors.strip() or output.strip()}")
    return float(found.group(1))


def _print(medians: Mapping[tuple[str, str], Measured], title: str) -> None:
    table = Table("workload", title=title)
    for variant in VARIANTS:
        table.add_column(f"{variant}\ntransactions/s\nCPU of one", justify="right")
    for workload, label in WORKLOADS.items():
        found = [medians[workload, variant] for variant in VARIANTS]
        cells = [
            f"{one.tps:,.0f} ({one.tps / found[0].tps:.2f})\n{one.cpu_us:,.0f} µs ({found[0].cpu_us / one.cpu_us:.2f})"
            for one in found
        ]
        table.add_row(label, *cells, end_section=True)
    Console().print(table)
