"""Runs pgbench with our triggers, others and none, alternating: `./lake dev bench outbox` (bench/outbox/README.md)."""

import contextlib
import itertools
import re
import secrets
import statistics
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import psutil
import typer
from rich.console import Console
from rich.progress import Progress

from bench import results
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
HEADS = ("workload", "triggers", "transactions/s", "share", "µs of CPU of one", "share of CPU")
WORKLOADS = {
    "new_order": "new order",
    "sell_stock": "sale from stock",
    "ship_order": "shipment",
}


def main(
    *,
    clients: Annotated[int, typer.Option(min=1, help="Concurrent connections.")] = 8,
    seconds: Annotated[int, typer.Option(min=1, help="Length of one run.")] = 4,
    transactions: Annotated[int, typer.Option(min=0, help="Each client's in one run, in place of a time.")] = 0,
    rounds: Annotated[int, typer.Option(min=1, help="Runs per variant and workload; the median counts.")] = 3,
    durable: Annotated[
        bool, typer.Option("--durable", help="Wait for the disk at each commit: then its speed is measured, too.")
    ] = False,
) -> None:
    """Measure transactions per second and CPU time of a sale and of a shipment, by kind of triggers."""
    length = ("--transactions", str(transactions)) if transactions else ("--time", str(seconds))
    with tempfile.TemporaryDirectory(prefix="bench-outbox-") as folder, temporary_postgres(Path(folder)) as server:
        prepare(server)
        measured = _measure(server, rounds, clients=clients, length=length, durable=durable)
    commits = "commits wait for the disk" if durable else "commits don't wait for the disk"
    title = f"{clients} clients, runs of {transactions or seconds} {'transactions' if transactions else 's'}, {commits}"
    results.show("outbox", title, HEADS, _rows(measured))


def prepare(server: Postgres, variants: Iterable[str] = VARIANTS) -> None:
    for variant in variants:
        execute(server.connection_parameters(), f"CREATE DATABASE {variant}")
        options = LoadOptions(connector_password=secrets.token_urlsafe(12))
        database = server.connection_parameters(variant)
        load(database, options, lambda *_: None)
        execute(database, f"CREATE SEQUENCE {SCHEMA}.bench_order_ids START 100000")
        for file in VARIANTS[variant]:
            execute(database, (FOLDER / f"{file}.sql").read_text(encoding="utf-8"))


class Measured(NamedTuple):
    """Transactions per second, and the CPU time that one takes: pgbench's and the server's, in µs."""

    tps: float
    cpu_us: float


Runs = dict[tuple[str, str], list[Measured]]


def _measure(server: Postgres, rounds: int, **settings: Any) -> Runs:
    """Return each workload's and variant's runs; they alternate, so that other load affects all variants alike."""
    measured: Runs = {run: [] for run in itertools.product(WORKLOADS, VARIANTS)}
    with Progress(console=Console(stderr=True), transient=True) as display:
        for workload, variant in display.track([*measured] * rounds, description="pgbench"):
            execute(server.connection_parameters(variant), "CHECKPOINT")
            before = _cpu_seconds(server)
            tps, done = run_pgbench(server, variant, workload, **settings)
            measured[workload, variant].append(Measured(tps, 1e6 * (_cpu_seconds(server) - before) / done))
    return measured


def _rows(measured: Runs) -> Iterator[Sequence[results.Value]]:
    """Yield a row for each workload and variant: its runs, and its share of what no triggers allow."""
    for (workload, variant), runs in measured.items():
        tps, cpu = ([getattr(run, name) for run in runs] for name in Measured._fields)
        first = [statistics.median(column) for column in zip(*measured[workload, next(iter(VARIANTS))], strict=True)]
        shares = statistics.median(tps) / first[0], first[1] / statistics.median(cpu)
        yield WORKLOADS[workload], variant, tps, shares[0], cpu, shares[1]


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
) -> tuple[float, int]:
    """Run pgbench and return its transactions per second, and how many; every transaction must have succeeded.

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
    return transactions(done.returncode, done.stdout, done.stderr)


def transactions(returncode: int, output: str, errors: str) -> tuple[float, int]:
    """Read pgbench's figures, per second and in all. Raises UserError if a client gave up or a transaction failed."""
    found = re.search(r"^tps = ([\d.]+)", output, re.MULTILINE)
    done = re.search(r"^number of transactions actually processed: (\d+)", output, re.MULTILINE)
    failed = re.search(r"^number of failed transactions: (\d+)", output, re.MULTILINE)
    if returncode != 0 or found is None or not done or (failed is not None and failed.group(1) != "0"):
        raise UserError(f"pgbench failed: {errors.strip() or output.strip()}")
    return float(found.group(1)), int(done.group(1))
