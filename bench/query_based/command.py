"""Compares ways to query a database under a random load, and times scans of a large table.

`./lake dev bench query`: a separate server and job for each trial; --rows also times scans.
"""

import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from bench.query_based import speeds, trial
from bench.query_based.load import Load
from bench.running_job import running_on
from local.services.postgres import temporary_postgres


def main(
    *,
    seconds: Annotated[float, typer.Option(min=5, help="How long each load lasts.")] = 60,
    seeds: Annotated[int, typer.Option(min=0, help="How many trials.")] = 1,
    poll: Annotated[float, typer.Option(min=0.1, help="Seconds between two polls.")] = 1,
    rows: Annotated[int, typer.Option(min=0, help="Rows of a table whose looks are timed; 0: none.")] = 0,
) -> None:
    """Run trials; exit 1 if the job's lake differs from the source in one of them."""
    console = Console(width=110)
    equal = True
    with tempfile.TemporaryDirectory(prefix="bench-query-") as name:
        for seed in range(1, seeds + 1):
            found = _trial(Path(name) / str(seed), Load({}, seconds=seconds, seed=seed), poll)
            console.print(_table(seed, found))
            equal &= found.outcomes[-1].is_equal
        if rows:
            for line in speeds.measured(Path(name) / "speeds", rows):
                console.print(line)
    raise typer.Exit(0 if equal else 1)


def _trial(folder: Path, load: Load, poll_seconds: float) -> trial.Trial:
    folder.mkdir()
    with temporary_postgres(folder / "source", settings={"fsync": "off"}) as server:
        load.parameters = server.connection_parameters()
        trial.prepare(load.parameters, folder / "password")
        arguments = trial.job_arguments(load.parameters, folder, sweep_seconds=poll_seconds)
        with running_on(arguments, folder=folder) as job:
            job.wait_for_commits(1)
            return trial.run(load.parameters, folder, job, load, poll_seconds=poll_seconds)


def _table(seed: int, found: trial.Trial) -> Table:
    title = f"seed {seed}: {found.versions:,} versions, {found.rows} rows at the end"
    table = Table("way", "missing", "stale", "extra", "versions never seen", title=title)
    for outcome in found.outcomes:
        unseen = max(1 - outcome.seen / max(found.versions, 1), 0)
        table.add_row(outcome.name, str(outcome.missing), str(outcome.stale), str(outcome.extra), f"{unseen:.0%}")
    return table
