"""`./lake query`: one statement of Athena's SQL on the running platform's lake."""

import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow

from analytics.create_table import created_table, inserted_rows
from analytics.queries import Queried
from local.errors import PlatformError
from local.look.status import require_answers
from local.platform.platform import Platform
from local.platform.tables import GLUE_DATABASE, LocalDerived, LocalTable
from local.query import formats, instants, json_tables
from local.query.create import create, insert
from local.query.query import LakeTable, Period, QueriedLake, ask, described
from local.query.silver import FOLDER, Silver
from settings.pipeline import Pipeline


def run(
    platform: Platform,
    sql: str,
    *,
    tables: Sequence[str] = (),
    form: formats.Format = "table",
    period: Period,
    out: Path | None = None,
) -> None:
    """Run one statement of Athena's SQL; without one, list the lake's tables and columns.

    Raises PlatformError, QueryError.
    """
    if form == "parquet" and out is None and sys.stdout.isatty():
        raise PlatformError("Parquet can't be printed: give --out file.parquet")
    lake = _lake(platform, tables)
    written = _written(lake, sql, period, out)
    result = written if written is not None else ask(lake, sql, period) if sql.strip() else described(lake)
    if out is None or written is not None:
        formats.write(result, form, sys.stdout.buffer)
        sys.stdout.flush()
        return
    with out.open("wb") as file:
        formats.write(result, form, file)


def _written(lake: QueriedLake, text: str, period: Period, out: Path | None) -> pyarrow.Table | None:
    """Return the result of a statement that creates or fills a table; None for one that only reads."""
    if created := created_table(text):
        return create(lake, created, period, out)
    if inserted := inserted_rows(text):
        if out is not None:
            raise PlatformError("INSERT INTO adds to a table, which has its place: leave --out out")
        return insert(lake, inserted, period)
    return None


def period_of(as_of: str | None, since: str | None) -> Period:
    """Return the requested instants. Raises PlatformError."""
    period = Period(
        as_of=instants.parse(as_of) if as_of else None,
        since=instants.parse(since) if since else None,
    )
    if period.as_of and period.since and period.since > period.as_of:
        raise PlatformError(f"--since {period.since} is after --as-of {period.as_of}")
    return period


def _lake(platform: Platform, names: Sequence[str]) -> QueriedLake:
    require_answers(platform, "s3")
    services = platform.services
    tables = [
        LakeTable(lake=found.lake, queried=_queried(services.pipeline, found)) for found in services.chosen(names)
    ]
    if not names:
        tables += [LakeTable(lake=found.lake, queried=_derived(found)) for found in services.derived]
    return QueriedLake(
        database=GLUE_DATABASE,
        tables=tables,
        silver=Silver(platform.state_dir / FOLDER),
        quarantine=lambda names: json_tables.quarantined(services.s3.client(), names),
        landed=lambda topics: json_tables.landed(services.s3.client(), topics),
    )


def _queried(pipeline: Pipeline, table: LocalTable) -> Queried:
    return Queried(
        table=table.lake_name,
        outbox=table.entry.how == "outbox",
        source=table.name,
        pipeline=pipeline.name,
        example=pipeline.source.example,
        # Only what travels through Kafka lands.
        topic=table.topic.name if not table.entry.is_queried else "",
        key=table.entry.key,
        history=pipeline.history_table(table.entry) if table.entry.history else "",
    )


def _derived(table: LocalDerived) -> Queried:
    return Queried(table=table.lake_name, outbox=False)
