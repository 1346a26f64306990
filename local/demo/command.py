"""The commands that prove that the pipeline works: `python -m local demo`, `demo-query` and `reconcile`."""

from pathlib import Path
from typing import Annotated

import typer

from contract.source import SCHEMA
from local.cli import Folder, PipelineName, app, console, find_platform, one_line_errors
from local.comparison.command import REPORT
from local.comparison.compare import TableComparison
from local.comparison.platform_tables import reconcile_platform
from local.comparison.report import write
from local.demo.display import print_comparison
from local.demo.orders import ORDERS_DEMO
from local.demo.places import PLACES_DEMO, places_demo
from local.demo.walk import WalkThrough, run
from local.errors import PlatformError
from local.look import by_spark
from local.look.deep import compare_outbox
from local.look.reconcile import RECONCILE_TIMEOUT_S, Comparison
from local.look.reconcile import reconcile as compare_source_and_lake
from local.look.status import read_status, silent_services
from local.platform.order import SUPERVISOR
from local.platform.platform import Platform
from local.platform.services import ORDERS

# What is asked for the two sides.
NEEDED = ("postgres", "s3")


@app.command()
def demo(
    *,
    folder: Annotated[
        Path, typer.Option(help="Where the demo keeps everything.", file_okay=False)
    ] = ORDERS_DEMO.folder,
) -> None:
    """Run the whole pipeline once; exit 1 when lake and source differ in the end."""
    _run(ORDERS_DEMO, folder)


@app.command()
def demo_query(
    *,
    folder: Annotated[
        Path, typer.Option(help="Where the demo keeps everything.", file_okay=False)
    ] = PLACES_DEMO.folder,
    from_: Annotated[
        Path | None, typer.Option("--from", help="Load Pagila's data from this dump, a file or its folder.")
    ] = None,
    jdbc: Annotated[
        Path | None,
        typer.Option(envvar="JDBC_PLUGIN", help="Run a JDBC connector of this release (zip or folder) beside it."),
    ] = None,
) -> None:
    """Run the pipeline by queries alone once; exit 1 when lake and source differ in the end."""
    if jdbc is None:
        console.print("JdbcSource asks the database; JDBC_PLUGIN=path/to/release has a JDBC connector poll it, too")
    with one_line_errors(PLACES_DEMO.name):
        walk = places_demo(dump=from_, release=jdbc)
    _run(walk, folder)


def _run(walk: WalkThrough, folder: Path) -> None:
    with one_line_errors(walk.name):
        summary = run(walk, console, folder)
    proof = summary.proof
    equal = "lake and source are equal" if proof.equal else "[red]lake and source differ[/]"
    console.print(
        f"{equal}: {proof.counted} in {summary.seconds_total:.0f} s, {folder.name}/summary.json", soft_wrap=True
    )
    named = "" if walk.options.pipeline == ORDERS else f" PIPELINE={walk.options.pipeline}"
    console.print(
        f"`make up{named}` leaves such a platform running, and `make dashboard{named}` shows it live in a browser",
        soft_wrap=True,
    )
    raise typer.Exit(0 if proof.equal else 1)


@app.command()
def reconcile(
    *,
    folder: Folder = None,
    pipeline: PipelineName = None,
    timeout_s: Annotated[
        float, typer.Option("--timeout", min=0, help="Seconds until what still differs is reported.")
    ] = RECONCILE_TIMEOUT_S,
    deep: Annotated[bool, typer.Option("--deep", help="Compare the source's tables with the outbox first.")] = False,
    table: Annotated[str | None, typer.Option(help="One table: schema.table, or its name in the lake.")] = None,
    repair: Annotated[bool, typer.Option("--repair", help="Repair the rows that differ, and compare again.")] = False,
    chunks: Annotated[bool, typer.Option("--chunks", help="Compare by chunks, as tables of any size are.")] = False,
) -> None:
    """Compare every row and column of the source with the lake; exit 1 when they differ."""
    equal = True
    with one_line_errors("reconcile"):
        platform = find_platform(folder, pipeline)
        source = platform.endpoints.source
        _refuse_to_wait_in_vain(platform)
        if deep:
            outbox = compare_outbox(source, timeout_s=timeout_s)
            print_comparison(console, outbox, title="tables and outbox", sides=("orders", "outbox rows"))
            equal = outbox.equal
            if not equal:
                console.print(f"the outbox is stale: CALL {SCHEMA}.usp_init_order_events() brings it up to date")
        if table is not None or repair or chunks or platform.services.pipeline.outbox is None:
            equal &= reconcile_platform(console, platform, table=table, repair=repair, timeout_s=timeout_s)
            raise typer.Exit(0 if equal else 1)
        comparison = compare_source_and_lake(source, platform.lake, timeout_s=timeout_s)
        _report(platform, comparison)
        kind = platform.services.pipeline.tables[0].table_type
        by_another = by_spark.difference(platform.lake, kind) if comparison.equal else None
        problems = [by_another] if by_another else [] if comparison.equal else _reasons(platform)
    print_comparison(console, comparison)
    for problem in problems:
        console.print(problem, style="red", highlight=False, markup=False, soft_wrap=True)
    raise typer.Exit(0 if equal and comparison.equal and not by_another else 1)


def _report(platform: Platform, found: Comparison) -> None:
    """Write the result where every comparison of a platform's tables is written."""
    pipeline = platform.services.pipeline
    table = TableComparison(
        table=pipeline.tables[0].name,
        position=found.lsn,
        columns=found.columns,
        source_rows=found.source_rows,
        lake_rows=found.lake_rows,
        missing=len(found.missing),
        extra=len(found.extra),
        different=len(found.different),
    )
    write(platform.state_dir / REPORT, pipeline.name, [table])


def _refuse_to_wait_in_vain(platform: Platform) -> None:
    """Raise PlatformError when a side is away or hangs, or there is no table yet and nobody who would make one."""
    platform.require(*NEEDED)
    if silent := silent_services(platform, set(NEEDED)):
        logs = ", ".join(str(platform.processes.log_file(name)) for name in sorted(silent))
        raise PlatformError(f"{', '.join(sorted(silent))} can't answer, stopped by a signal or hanging: see {logs}")
    if platform.pid("job") is None and not _comes_back(platform) and not platform.lake.exists():
        raise PlatformError(f"{platform.lake.base_uri} has no commit, and the job doesn't run: `make up` starts it")


def _reasons(platform: Platform) -> list[str]:
    """Say what is wrong with the platform that may explain a difference."""
    problems = read_status(platform).problems
    if platform.pid("job") is None and "job" not in platform.expected():
        problems.append("the job doesn't run, so nothing reaches the lake: `make up` starts it")
    return problems


def _comes_back(platform: Platform) -> bool:
    """Whether the supervisor starts the job again."""
    return "job" in platform.expected() and platform.pid(SUPERVISOR) is not None
