"""The command line, called by the Makefile: `python -m operate topics|tail|resnapshot|connect-image|kafka-ui|…`."""

from typing import Annotated

import typer
from rich.console import Console

from contract.errors import one_line_errors
from local.comparison.report import print_comparison
from local.resnapshot.run import Wanted
from operate import connect_image, kafka, kafka_ui, log_tables, resnapshot, tail, topics, vpn
from operate.cost_hours import HOURS_A_WEEK
from operate.cost_report import overview, report
from operate.errors import OperateError
from operate.prices import load_prices
from operate.reader import connect
from operate.text import columns
from settings.load import load, names

app = typer.Typer(
    add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, help="For those who run an environment."
)
OnAws = Annotated[str, typer.Option("--env", metavar="NAME", help="The environment, a file in environments/.")]
Anywhere = Annotated[
    str | None,
    typer.Option("--env", metavar="NAME", help="The environment, or `local`; without it the local platform."),
]
OfPipeline = Annotated[
    str | None, typer.Option("--pipeline", metavar="NAME", help="The pipeline, a file in pipelines/.")
]
OfTable = Annotated[
    str | None,
    typer.Option("--table", metavar="NAME", help="One of its tables: schema.table, or its name in the lake."),
]


@app.command("topics")
def list_topics(
    *,
    env: Anywhere = None,
    pipeline: OfPipeline = None,
    table: OfTable = None,
    all_: Annotated[bool, typer.Option("--all", help="With the bookkeeping of Kafka, MSK and the connectors.")] = False,
) -> None:
    """List the topics: partitions, messages, lowest and highest offset."""
    with one_line_errors("topics"), connect(cluster := kafka.find_cluster(env, pipeline, table)) as reader:
        found = topics.list_topics(reader, internal=all_, only=[*cluster.topics.values()] if cluster.only else None)
    rows: list[tuple[str, ...]] = [("topic", "partitions", "messages", "earliest", "latest")]
    for topic in found:
        figures = (topic.partitions, topic.messages, topic.earliest, topic.latest)
        rows.append((topic.name, *(f"{figure:,}" for figure in figures)))
    typer.echo("\n".join(columns(rows, left=1)))


@app.command("tail")
def follow(
    topic: Annotated[str | None, typer.Argument(help="The topic; without it that of the change events.")] = None,
    *,
    env: Anywhere = None,
    pipeline: OfPipeline = None,
    table: OfTable = None,
    from_: Annotated[tail.Start, typer.Option("--from", help="Which message to start with.")] = "end",
    count: Annotated[int | None, typer.Option(min=1, help="End after so many messages.")] = None,
) -> None:
    """Print a topic's messages as they come: partition/offset, time, key, value; Ctrl-C ends it."""
    with one_line_errors("tail"):
        cluster = kafka.find_cluster(env, pipeline, table)
        name = topic or cluster.topic
    with one_line_errors("tail"), connect(cluster) as reader:
        typer.echo(f"{name} on {cluster.environment}, from its {from_}; Ctrl-C ends", err=True)
        try:
            for line in tail.follow(reader, name, start=from_, count=count):
                typer.echo(str(line))
        except KeyboardInterrupt:
            # The way to end it, so no failure.
            return


@app.command("resnapshot")
def write_anew(
    *,
    env: OnAws = "dev",
    pipeline: OfPipeline = None,
    table: Annotated[
        list[str] | None, typer.Option(help="Only this table of a pipeline of ordinary tables; may be given again.")
    ] = None,
    where: Annotated[str | None, typer.Option(help="Only the rows that this SQL condition names.")] = None,
    skip: Annotated[bool, typer.Option("--skip", help="Pass over what the connector can't send.")] = False,
    timeout_s: Annotated[
        float, typer.Option("--timeout", min=1, help="Seconds without any progress until it is given up.")
    ] = resnapshot.TIMEOUT_S,
) -> None:
    """Write the outbox anew, or read tables again, and delete what only the lake has; exit 1 when they still differ."""
    console = Console()
    with one_line_errors("resnapshot"):
        environment = load(env)
        captured = kafka.find_pipeline(environment, pipeline)
        wanted = Wanted(
            where=where or None,
            skip=skip,
            timeout_s=timeout_s,
            start_s=resnapshot.TIMEOUT_S,
            largest_event_bytes=environment.streaming.largest_event_bytes,
        )
        if captured.captured.outbox is None:
            equal = log_tables.resnapshot_tables(environment, captured, table or (), wanted, console, typer.echo)
            raise typer.Exit(0 if equal else 1)
        if table:
            raise OperateError("TABLE is for pipelines of ordinary tables: the outbox is one table, and written anew")
        comparison = resnapshot.resnapshot_environment(environment, wanted, typer.echo)
    print_comparison(console, comparison)
    raise typer.Exit(0 if comparison.equal else 1)


@app.command("kafka-ui")
def start_kafka_ui(*, env: OnAws = "dev") -> None:
    """Start the Kafka UI against the environment's MSK cluster, in Docker."""
    with one_line_errors("kafka-ui"):
        cluster = kafka.of_environment(load(env))
        kafka.check_reachable(cluster)
        kafka_ui.start(cluster)


@app.command("vpn-password")
def show_vpn_password(name: Annotated[str, typer.Argument(help="One of vpn.users.")], *, env: OnAws = "dev") -> None:
    """Print what a VPN client asks this person for; your own AWS credentials must allow to read it."""
    with one_line_errors("vpn-password"):
        rows = vpn.connection(load(env), name)
    typer.echo("\n".join(columns(rows, left=2)))


@app.command("connect-image")
def make_connect_image() -> None:
    """Put together what the image of the connectors' workers on EKS is built from."""
    with one_line_errors("connect-image"):
        connect_image.connect_image(typer.echo)


@app.command("costs")
def show_costs(
    *,
    env: Annotated[
        str, typer.Option("--env", metavar="NAME", help="The environment, or `all` to compare them.")
    ] = "dev",
    hours: Annotated[
        float | None,
        typer.Option(min=0, max=HOURS_A_WEEK, help="So many hours a week on, and paused for the rest."),
    ] = None,
) -> None:
    """Print what the environment costs a month, always on or by hours a week, and what a pause switches off."""
    with one_line_errors("costs"):
        if env == "all":
            typer.echo(overview(map(load, names()), load_prices()))
        else:
            typer.echo(report(load(env), load_prices(), hours))
