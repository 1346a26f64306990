"""The state as rows of text, which `./lake status` and the live page both show; and how `./lake status` prints them."""

import time
from collections.abc import Collection, Sequence
from datetime import UTC, datetime

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from contract.states import SLOT, SOURCE, Word
from contract.table_states import FAILING, RUNNING
from local.console import megabytes
from local.state.collect import PipelineState
from local.state.history import instant_time
from local.state.services import ServiceStatus
from local.state.stages import Stage
from local.state.tables import TableStatus

Rows = list[tuple[str, ...]]
NOTHING = "-"
COLOURS = {Word.UP_TO_DATE: "green", Word.MOVING: "green", Word.LATE: "yellow", Word.STARTING: "yellow"}
RED = {"dead", "hangs", FAILING}
SERVICES = ("service", "state", "pid", "port", "memory", "restarts")
STAGES = ("stage", "position", "lag", "events behind", "rate", "last activity", "WAL held")
TABLES = ("table", "kind", "job", "topic", "landed", "rows", "last commit", "age", "quarantine")


def service_rows(services: Sequence[ServiceStatus], failing: Collection[str]) -> Rows:
    """`failing`: the services that a problem names."""
    return [
        (
            one.name,
            Word.FAILING if one.word == RUNNING and one.name in failing else one.word,
            text(one.pid),
            text(one.port),
            megabytes(one.rss_bytes, digits=0, unknown=NOTHING),
            text(one.restarts or None),
        )
        for one in services
    ]


def stage_rows(stages: Sequence[Stage]) -> Rows:
    return [
        (
            stage.name,
            text(stage.position),
            NOTHING if stage.lag_s is None else f"{stage.lag_s:.1f} s",
            number(stage.lag_events),
            _rate(stage.name, stage.rate),
            clock(stage.last),
            megabytes(stage.held_bytes, unknown=NOTHING),
        )
        for stage in stages
    ]


def table_rows(tables: Sequence[TableStatus], now: float) -> Rows:
    """`now`: in seconds since 1970."""
    found = ((one, instant_time(one.last_commit) if one.last_commit else None) for one in tables)
    return [
        (
            one.name,
            one.kind,
            one.state.state if one.state else NOTHING,
            number(one.topic_end),
            number(one.sink_offset),
            number(one.lake_rows),
            moment(at),
            NOTHING if at is None else age(now - at),
            text(one.quarantined if one.quarantined and one.quarantined.events else None),
        )
        for one, at in found
    ]


def text(value: object) -> str:
    return NOTHING if value is None else str(value)


def number(value: int | None) -> str:
    return NOTHING if value is None else f"{value:,}"


def clock(at: float | None) -> str:
    """Format a time of day, in UTC."""
    return NOTHING if at is None else datetime.fromtimestamp(at, UTC).strftime("%H:%M:%S")


def moment(at: float | None) -> str:
    """Format a date and a time of day, in UTC."""
    return NOTHING if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")


def age(seconds: float) -> str:
    """Format an age in the largest unit of which it is one or more."""
    for unit, long in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= long:
            return f"{int(seconds // long)} {unit}"
    return f"{max(seconds, 0):.0f} s"


def _rate(stage: str, rate: float | None) -> str:
    if rate is None:
        return NOTHING
    return f"{rate / 1000:,.1f} kB/s" if stage in (SOURCE, SLOT) else f"{rate:,.1f} events/s"


def print_status(console: Console, found: PipelineState) -> None:
    state = found.state
    console.print(
        Text.assemble((state.word, f"bold {COLOURS.get(state.word, 'red')}"), f": {state.reason}"), soft_wrap=True
    )
    _print(console, SERVICES, service_rows(found.services, state.parts))
    _print(console, STAGES, stage_rows(found.stages))
    _print(console, TABLES, table_rows(found.data.tables, time.time()))
    for line in found.data.loads:
        if not state.reason.startswith(line):
            console.print(line, highlight=False, markup=False, soft_wrap=True)
    for line in map(str, found.problems):
        # The first line begins with one of them.
        if not state.reason.startswith(line):
            console.print(line, style="red", highlight=False, markup=False, soft_wrap=True)


def _print(console: Console, columns: Sequence[str], found: Rows) -> None:
    """Print a table without the columns that say nothing in any row."""
    said = [index for index in range(len(columns)) if any(row[index] != NOTHING for row in found)]
    table = Table(*(Column(columns[index], overflow="fold") for index in said), box=None)
    for row in found:
        table.add_row(*(Text(row[index], style="red" if row[index] in RED else "") for index in said))
    if said:
        console.print(table)
