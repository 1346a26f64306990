"""The commands that prove that the pipeline works: `python -m local demo`, `demo-query` and `reconcile`."""

from pathlib import Path
from typing import Annotated

import typer

from local.cli import Folder, PipelineName, app, console, find_platform, one_line_errors
from local.comparison.compare import TIMEOUT_S
from local.comparison.platform_reconcile import reconcile as reconcile_all
from local.demo.orders import ORDERS_DEMO
from local.demo.places import PLACES_DEMO, places_demo
from local.demo.walk import WalkThrough, run
from local.platform.services import ORDERS


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
    ] = TIMEOUT_S,
    deep: Annotated[bool, typer.Option("--deep", help="Compare the source's tables with the outbox first.")] = False,
    table: Annotated[str | None, typer.Option(help="One table: schema.table, or its name in the lake.")] = None,
    repair: Annotated[bool, typer.Option("--repair", help="Repair the rows that differ, and compare again.")] = False,
) -> None:
    """Compare every row and column of the source with the lake; exit 1 when they differ."""
    with one_line_errors("reconcile"):
        platform = find_platform(folder, pipeline)
        equal = reconcile_all(console, platform, table=table, repair=repair, deep=deep, timeout_s=timeout_s)
    raise typer.Exit(0 if equal else 1)
