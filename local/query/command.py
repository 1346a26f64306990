"""`python -m local query`: one statement of Athena's SQL on the running platform's lake."""

import sys
from pathlib import Path
from typing import Annotated

import pyarrow
import typer

from analytics.create_table import created_table
from analytics.insert_into import inserted_rows
from analytics.queries import Queried
from local.cli import Folder, PipelineName, TableName, app, find_platform, one_line_errors
from local.errors import PlatformError
from local.look.status import silent_services
from local.platform.platform import Platform
from local.platform.tables import GLUE_DATABASE, LocalDerived, LocalTable
from local.query import formats, instants, landed, quarantined
from local.query.create import create, insert
from local.query.query import LakeTable, Period, QueriedLake, ask, described
from local.query.silver import FOLDER, Silver
from settings.pipeline import Pipeline


@app.command()
def query(
    *,
    folder: Folder = None,
    pipeline: PipelineName = None,
    table: TableName = None,
    sql: Annotated[str | None, typer.Option(envvar="SQL", help="One statement of Athena's SQL.")] = None,
    file: Annotated[Path | None, typer.Option(help="A file with the statement.", dir_okay=False)] = None,
    form: Annotated[str, typer.Option("--format", help=f"One of {', '.join(formats.FORMATS)}.")] = "table",
    as_of: Annotated[str | None, typer.Option(help="The lake as it was at this instant.")] = None,
    since: Annotated[str | None, typer.Option(help="What has changed since this instant, with _change.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The file to write; of CREATE TABLE AS the folder.", show_default="standard output"),
    ] = None,
) -> None:
    """Ask the lake in Athena's SQL; without a statement list its tables and columns."""
    with one_line_errors("query"):
        chosen = _format(form, out)
        period = _period(as_of, since)
        lake = _lake(find_platform(folder, pipeline), table)
        text = file.read_text(encoding="utf-8") if file is not None else sql or ""
        written = _written(lake, text, period, out)
        result = written if written is not None else ask(lake, text, period) if text.strip() else described(lake)
        if out is None or written is not None:
            formats.write(result, chosen, sys.stdout.buffer)
            sys.stdout.flush()
            return
        with out.open("wb") as file_:
            formats.write(result, chosen, file_)


def _written(lake: QueriedLake, text: str, period: Period, out: Path | None) -> pyarrow.Table | None:
    """What a statement that makes or fills a table has written; None for one that only asks."""
    if created := created_table(text):
        return create(lake, created, period, out)
    if inserted := inserted_rows(text):
        if out is not None:
            raise PlatformError("INSERT INTO adds to a table, which has its place: leave OUT out")
        return insert(lake, inserted, period)
    return None


def _format(form: str, out: Path | None) -> formats.Format:
    for known in formats.FORMATS:
        if form == known:
            if known == "parquet" and out is None and sys.stdout.isatty():
                raise PlatformError("Parquet is nothing to read on a terminal: give OUT=file.parquet")
            return known
    raise PlatformError(f"FORMAT={form} isn't one of {', '.join(formats.FORMATS)}")


def _period(as_of: str | None, since: str | None) -> Period:
    period = Period(
        as_of=instants.parse(as_of) if as_of else None,
        since=instants.parse(since) if since else None,
    )
    if period.as_of and period.since and period.since > period.as_of:
        raise PlatformError(f"SINCE {period.since} is after AS_OF {period.as_of}")
    return period


def _lake(platform: Platform, table: str | None) -> QueriedLake:
    platform.require("s3")
    if silent_services(platform, {"s3"}):
        raise PlatformError(f"s3 can't answer, stopped by a signal or hanging: see {platform.processes.log_file('s3')}")
    services = platform.services
    tables = [
        LakeTable(lake=found.lake, queried=_queried(services.pipeline, found)) for found in services.chosen(table)
    ]
    if table is None:
        tables += [LakeTable(lake=found.lake, queried=_derived(found)) for found in services.derived]
    return QueriedLake(
        database=GLUE_DATABASE,
        tables=tables,
        silver=Silver(platform.state_dir / FOLDER),
        quarantine=lambda names: quarantined.batches(services.s3.client(), names),
        landed=lambda topics: landed.batches(services.s3.client(), topics),
    )


def _queried(pipeline: Pipeline, table: LocalTable) -> Queried:
    return Queried(
        table=table.lake_name,
        outbox=table.entry.how == "outbox",
        source=table.name,
        pipeline=pipeline.name,
        example=pipeline.source.example,
        # What travels by Kafka lands.
        topic=table.topic.name if not table.entry.is_queried else "",
        key=table.entry.key,
        history=pipeline.history_table(table.entry) if table.entry.history else "",
    )


def _derived(table: LocalDerived) -> Queried:
    return Queried(table=table.lake_name, outbox=False)
