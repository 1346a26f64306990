"""The commands that prove that the pipeline works: `python -m local demo` and `python -m local reconcile`."""

from pathlib import Path
from typing import Annotated

import typer

from local.cli import DEFAULT_FOLDER, Folder, app, console, one_line_errors
from local.deep import compare_outbox
from local.demo.display import print_comparison
from local.demo.run import FOLDER, run_demo
from local.platform import Platform
from local.reconcile import RECONCILE_TIMEOUT_S
from local.reconcile import reconcile as compare_source_and_lake


@app.command()
def demo(
    *, folder: Annotated[Path, typer.Option(help="Where the demo keeps everything.", file_okay=False)] = FOLDER
) -> None:
    """Run the whole pipeline once; exit 1 when lake and source differ in the end."""
    with one_line_errors("demo"):
        summary = run_demo(console, folder)
    equal = "lake and source are equal" if summary.equal else "[red]lake and source differ[/]"
    console.print(f"{equal}: {summary.events:,} events in {summary.seconds_total:.0f} s, {folder.name}/summary.json")
    raise typer.Exit(0 if summary.equal else 1)


@app.command()
def reconcile(
    *,
    folder: Folder = DEFAULT_FOLDER,
    timeout_s: Annotated[
        float, typer.Option("--timeout", min=0, help="Seconds until what still differs is reported.")
    ] = RECONCILE_TIMEOUT_S,
    deep: Annotated[bool, typer.Option("--deep", help="Compare the source's tables with the outbox first.")] = False,
) -> None:
    """Compare every row and column of the outbox with the lake; exit 1 when they differ."""
    equal = True
    with one_line_errors("reconcile"):
        platform = Platform(folder)
        source = platform.endpoints.source
        if deep:
            outbox = compare_outbox(source, timeout_s=timeout_s)
            print_comparison(console, outbox, title="tables and outbox", sides=("orders", "outbox rows"))
            equal = outbox.equal
            if not equal:
                console.print("the outbox is stale: CALL datalake.usp_init_order_events() brings it up to date")
        comparison = compare_source_and_lake(source, platform.lake, timeout_s=timeout_s)
    print_comparison(console, comparison)
    raise typer.Exit(0 if equal and comparison.equal else 1)
