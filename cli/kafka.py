"""`./lake kafka`: topics, their messages, the UI, and the image of Connect's workers."""

from typing import Annotated, Literal

import typer

from cli.shared import Anywhere, Commands, Environment, Json, Pipeline, Tables, load, print_json

app = Commands("Kafka, of an environment or of the local platform.")


@app.command()
def topics(
    *,
    env: Anywhere = None,
    pipeline: Pipeline = None,
    table: Tables = None,
    all_: Annotated[
        bool, typer.Option("--all", help="Include the internal topics of Kafka, MSK and the connectors.")
    ] = False,
    json: Json = False,
) -> None:
    """List the topics: partitions, messages, lowest and highest offset.

    Examples: ./lake kafka topics; ./lake kafka topics -e dev -t public.orders --json
    """
    from operate.kafka.cluster import find_cluster
    from operate.kafka.reader import connect, list_topics
    from operate.text import columns

    with connect(cluster := find_cluster(env, pipeline, table or ())) as reader:
        found = list_topics(reader, internal=all_, only=[*cluster.topics.values()] if cluster.only else None)
    if json:
        print_json(found)
        return
    rows: list[tuple[str, ...]] = [("topic", "partitions", "messages", "earliest", "latest")]
    for topic in found:
        figures = (topic.partitions, topic.messages, topic.earliest, topic.latest)
        rows.append((topic.name, *(f"{figure:,}" for figure in figures)))
    typer.echo("\n".join(columns(rows, left=1)))


@app.command()
def tail(
    topic: Annotated[str | None, typer.Argument(help="The topic; default: the change events' topic.")] = None,
    *,
    env: Anywhere = None,
    pipeline: Pipeline = None,
    table: Tables = None,
    from_: Annotated[Literal["beginning", "end"], typer.Option("--from", help="Which message to start with.")] = "end",
    count: Annotated[int | None, typer.Option(min=1, help="Stop after this many messages.")] = None,
) -> None:
    """Print a topic's messages as they arrive: partition/offset, time, key, value; Ctrl-C ends it.

    Examples: ./lake kafka tail --from beginning --count 10; ./lake kafka tail -p mine -t public.orders
    """
    from operate.kafka.cluster import find_cluster
    from operate.kafka.reader import connect, follow

    cluster = find_cluster(env, pipeline, table or ())
    name = topic or cluster.topic
    with connect(cluster) as reader:
        typer.echo(f"{name} on {cluster.environment}, from its {from_}; Ctrl-C ends", err=True)
        try:
            for line in follow(reader, name, start=from_, count=count):
                typer.echo(str(line))
        except KeyboardInterrupt:
            # The way to end it, so no failure.
            return


@app.command()
def ui(*, env: Environment = "dev") -> None:
    """Start the Kafka UI against an environment's MSK cluster, in Docker.

    Example: ./lake kafka ui -e dev
    """
    from operate.kafka.cluster import check_reachable, of_environment, start_ui

    cluster = of_environment(load(env))
    check_reachable(cluster)
    start_ui(cluster)


@app.command()
def image() -> None:
    """Collect the files for the EKS workers' image, and print the commands that build it.

    Example: ./lake kafka image
    """
    from cli import prepare
    from operate.connect_image import connect_image

    prepare.jars()
    connect_image(typer.echo)
