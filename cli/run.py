"""The platform on one machine: start, inspect, prove, repair, query and stop it."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from cli import prepare
from cli.shared import Anywhere, Commands, Folder, Json, Patience, Pipeline, Repair, Tables, answer, load, print_json
from contract.errors import UserError

app = Commands(
    "A change-data-capture lake: on one machine, and on AWS.\n\n"
    "Exit status: 0 done or equal, 1 the answer is no, 2 usage, 3 can't, 130 interrupted.\n\n"
    "From the environment: LAKE_PIPELINE in place of --pipeline, LENSES_PLUGIN and JDBC_PLUGIN, and secrets.\n\n"
    "Completion: ./lake --install-completion; in zsh and fish with a link to it on the PATH."
)


@app.command()
def up(
    *,
    folder: Folder = None,
    pipeline: Pipeline = None,
    dsn: Annotated[
        str | None,
        typer.Option(help="The pipeline's database, without a password (CDC_CONNECTOR_PASSWORD, PGPASSFILE)."),
    ] = None,
    scale: Annotated[
        int | None, typer.Option(min=1, help="First start: multiplier for the 829 sample orders.", show_default="1")
    ] = None,
    from_: Annotated[Path | None, typer.Option("--from", help="First start: load this dump instead.")] = None,
    lenses: Annotated[
        Path | None,
        typer.Option(envvar="LENSES_PLUGIN", help="Run the real S3 sink from this release (zip or folder)."),
    ] = None,
    job: Annotated[bool, typer.Option(help="Run the streaming job.")] = True,
    supervised: Annotated[
        bool, typer.Option("--supervise/--no-supervise", help="Restart what dies, until `down`.")
    ] = True,
) -> None:
    """Start the platform and leave it running; it resumes where it stopped.

    Examples: ./lake up; ./lake up -p mine --dsn postgresql://cdc@db.example:5432/shop
    """
    prepare.jars()
    from local.console import console, say
    from local.demo.display import Display
    from local.files import platform_folder
    from local.platform.command import at_pipeline, endpoint_lines
    from local.platform.platform import Platform
    from local.platform.record import PlatformOptions

    options = PlatformOptions(scale=scale, dump=from_, lenses=lenses, job=job, supervised=supervised)
    place = platform_folder(folder, pipeline)
    platform = Platform(place, at_pipeline(options, place, pipeline, dsn))
    with Display(console).live() as display:
        platform.up(display.progress)
    for line in endpoint_lines(platform):
        say(line)


@app.command()
def down(*, folder: Folder = None, pipeline: Pipeline = None) -> None:
    """Stop the platform in order; `up` resumes.

    Example: ./lake down -p mine
    """
    from local.console import console, say
    from local.demo.display import Display
    from local.platform.command import find_platform, left_behind, relative

    platform = find_platform(folder, pipeline)
    if not platform.running():
        platform.down()
        say(f"nothing runs in {relative(platform.state_dir)}")
    else:
        with Display(console).live() as display:
            platform.down(display.progress)
    if platform.options.outside is not None:
        say(left_behind(platform))


@app.command()
def status(*, folder: Folder = None, pipeline: Pipeline = None, table: Tables = None, json: Json = False) -> None:
    """Show services, ports, memory and progress; exit 1 when something is wrong.

    Examples: ./lake status; ./lake status -p mine -t public.orders --json
    """
    from local.console import console
    from local.platform.command import find_platform
    from local.state.collect import Collector
    from local.state.rows import print_status

    found = Collector(find_platform(folder, pipeline)).look(table or ())
    if json:
        print_json(found)
    else:
        print_status(console, found)
    answer(yes=not found.problems)


@app.command()
def dashboard(
    *,
    folder: Folder = None,
    pipeline: Pipeline = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Where the page is served, on loopback.")] = 8765,
) -> None:
    """Serve the live page of a running platform until Ctrl-C; the page changes nothing.

    Example: ./lake dashboard --port 8766
    """
    from local.console import say
    from local.errors import PlatformError
    from local.platform.command import find_platform
    from local.setup.ports import HOST, is_free

    platform = find_platform(folder, pipeline)
    if not platform.expected():
        raise PlatformError(f"the platform in {platform.state_dir} is down: `./lake up` starts it")
    if not is_free(port):
        raise PlatformError(f"port {port} on {HOST} is taken: --port chooses another one")
    # Its packages take a second to import.
    from local.dashboard.server import serve
    from local.dashboard.watcher import Watcher

    say(f"http://{HOST}:{port} shows pipeline {platform.options.pipeline}; Ctrl-C ends it")
    with Watcher(platform) as watcher:
        serve(lambda: watcher.picture, port)


@app.command()
def reconcile(
    *,
    folder: Folder = None,
    pipeline: Pipeline = None,
    table: Tables = None,
    repair: Repair = False,
    deep: Annotated[bool, typer.Option("--deep", help="Compare the source's tables with the outbox first.")] = False,
    timeout_s: Patience = 60,
    json: Json = False,
) -> None:
    """Compare every row and column of the source with the lake; exit 1 when they differ.

    Examples: ./lake reconcile; ./lake reconcile -p mine -t public.orders --repair
    """
    from rich.console import Console

    from local.comparison.command import REPORT
    from local.comparison.reconcile import reconcile as compare
    from local.console import console
    from local.platform.command import find_platform

    platform = find_platform(folder, pipeline)
    shown = Console(stderr=True) if json else console
    equal = compare(shown, platform, tables=table or (), repair=repair, deep=deep, timeout_s=timeout_s)
    if json:
        typer.echo((platform.state_dir / REPORT).read_text(encoding="utf-8"), nl=False)
    answer(yes=equal)


@app.command()
def resnapshot(
    *,
    folder: Folder = None,
    env: Anywhere = None,
    pipeline: Pipeline = None,
    table: Tables = None,
    where: Annotated[str | None, typer.Option(help="Only rows that match this SQL condition.")] = None,
    skip: Annotated[bool, typer.Option("--skip", help="Skip changes that the connector can't read.")] = False,
    timeout_s: Annotated[
        float | None,
        typer.Option(
            "--timeout",
            min=1,
            help="Give up after this many seconds without progress.",
            show_default="600; 1800 with --env",
        ),
    ] = None,
) -> None:
    """Make the lake equal to the source again: read rows, delete extra ones; exit 1 if they still differ.

    Examples: ./lake resnapshot --where "order_id = 10248"; ./lake resnapshot -e dev -p crm -t public.people
    """
    from local.resnapshot.run import Wanted, check_whole

    if skip:
        check_whole(where, named=bool(table))
    if env is not None:
        from local.console import console, say
        from operate.kafka.cluster import find_pipeline
        from operate.resnapshot.tables import resnapshot_deployed, wanted_of

        environment = load(env)
        deployed = find_pipeline(environment, pipeline)
        wanted = wanted_of(environment, where, skip=skip, timeout_s=timeout_s)
        answer(yes=resnapshot_deployed(environment, deployed, table or (), wanted, console, say))
    from local.platform.command import find_platform
    from local.resnapshot.command import resnapshot_pipeline

    wanted = Wanted(where=where, skip=skip, timeout_s=timeout_s or Wanted.timeout_s)
    answer(yes=resnapshot_pipeline(find_platform(folder, pipeline), table or (), wanted))


@app.command()
def query(
    sql: Annotated[str, typer.Argument(help="One statement of Athena's SQL; without one the tables are listed.")] = "",
    *,
    folder: Folder = None,
    pipeline: Pipeline = None,
    table: Tables = None,
    file: Annotated[Path | None, typer.Option(help="A file with the statement.", dir_okay=False)] = None,
    form: Annotated[
        Literal["table", "csv", "json", "parquet"], typer.Option("--format", help="How rows are written.")
    ] = "table",
    json: Annotated[bool, typer.Option("--json", help="As --format json.")] = False,
    as_of: Annotated[str | None, typer.Option(help="The lake as it was at this instant.")] = None,
    since: Annotated[str | None, typer.Option(help="Rows changed since this instant, with the column _change.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The file to write; for CREATE TABLE AS, the folder.", show_default="standard output"),
    ] = None,
) -> None:
    """Query the lake in Athena's SQL, or create a table from it.

    Examples: ./lake query; ./lake query "SELECT count(*) FROM cdc_events" --json
    """
    from local.platform.command import find_platform
    from local.query.command import period_of, run

    if file is not None:
        try:
            sql = file.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise UserError(f"{file} isn't UTF-8 text (byte {error.start}): save it as that") from error
    period = period_of(as_of, since)
    run(find_platform(folder, pipeline), sql, tables=table or (), form="json" if json else form, period=period, out=out)


@app.command()
def demo(
    what: Annotated[
        Literal["orders", "places"],
        typer.Argument(help="orders: outbox and Debezium; places: queries only, without a slot."),
    ] = "orders",
    *,
    folder: Annotated[
        Path | None,
        typer.Option(
            help="Where the demo keeps everything.", file_okay=False, show_default="build/demo, build/demo-query"
        ),
    ] = None,
    from_: Annotated[
        Path | None, typer.Option("--from", help="places: load Pagila's data from this dump, a file or its folder.")
    ] = None,
    jdbc: Annotated[
        Path | None,
        typer.Option(envvar="JDBC_PLUGIN", help="places: also run a JDBC connector of this release (zip or folder)."),
    ] = None,
) -> None:
    """Run the whole pipeline once: load, change, watch, reconcile, shut down; exit 1 when lake and source differ.

    Examples: ./lake demo; ./lake demo places --from ../pagila
    """
    if what == "orders" and from_ is not None:
        raise typer.BadParameter("the orders are generated: --from is for `./lake demo places`")
    prepare.jars()
    from rich.markup import escape

    from local.console import console
    from local.demo.walk import ORDERS_DEMO, places_demo, run
    from local.platform.command import option

    if what == "places" and jdbc is None:
        console.print("JdbcSource asks the database; JDBC_PLUGIN=path/to/release has a JDBC connector poll it, too")
    walk = ORDERS_DEMO if what == "orders" else places_demo(dump=from_, release=jdbc)
    place = folder or walk.folder
    proof, seconds = run(walk, console, place)
    named = option(walk.options.pipeline)
    equal = "lake and source are equal" if proof.equal else "[red]lake and source differ[/]"
    console.print(
        f"{equal}: {proof.counted} in {seconds:.0f} s, {escape(place.name)}/summary.json\n"
        f"`./lake up{named}` leaves such a platform running, and `./lake dashboard{named}` shows it live in a browser",
        soft_wrap=True,
    )
    answer(yes=proof.equal)
