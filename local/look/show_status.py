"""Prints the result of `./lake status`."""

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from local.console import BYTES_PER_MB, megabytes
from local.look.status import DataStatus, DerivedStatus, Status, TableStatus
from local.platform.job import TableState
from local.services.source_database import Slot


def print_status(console: Console, found: Status) -> None:
    console.print(_services(found))
    if len(found.data.tables) > 1:
        console.print(_tables(found.data.tables, queried=found.data.queried))
    if found.data.derived:
        console.print(_derived(found.data.derived))
    if (progress := _progress(found.data)).row_count:
        console.print(progress)
    for problem in found.problems:
        console.print(problem, style="red", highlight=False, markup=False, soft_wrap=True)


def _services(found: Status) -> Table:
    services = Table("service", "state", box=None)
    for name in ("pid", "port", "MB", "restarts"):
        services.add_column(name, justify="right")
    for service in found.services:
        state = "[red]hangs[/]" if service.silent else "[green]running[/]" if service.running else "[red]dead[/]"
        memory = None if service.rss_bytes is None else round(service.rss_bytes / BYTES_PER_MB)
        numbers = (service.pid, service.port, memory, service.restarts or None)
        services.add_row(service.name, state, *map(_cell, numbers))
    return services


def _tables(found: tuple[TableStatus, ...], *, queried: bool) -> Table:
    tables = Table(Column("table", overflow="fold"), "job", box=None)
    for name in (*(() if queried else ("topic", "landed")), "lake rows", "last commit", "quarantine"):
        tables.add_column(name, justify="right")
    for table in found:
        offsets = () if queried else (table.topic_end, table.sink_offset)
        numbers = (*offsets, table.lake_rows, table.last_commit, table.quarantined or None)
        tables.add_row(Text(table.name), _state(table.state), *map(_cell, numbers))
    return tables


def _derived(found: tuple[DerivedStatus, ...]) -> Table:
    tables = Table(Column("made of these", overflow="fold"), "kind", "job", box=None)
    for name in ("lake rows", "last commit"):
        tables.add_column(name, justify="right")
    for table in found:
        tables.add_row(
            Text(table.name), table.kind, _state(table.state), _cell(table.lake_rows), _cell(table.last_commit)
        )
    return tables


def _state(found: TableState | None) -> str:
    if found is None:
        return "-"
    return f"[red]{found.state}[/]" if found.fails else found.state


def _progress(data: DataStatus) -> Table:
    progress = Table("data", "how far it has come", box=None)
    if data.outbox_rows is not None:
        queue = data.outbox_queue
        waiting = f", {queue.entries} changes queued for {queue.seconds:.0f} s" if queue and queue.entries else ""
        progress.add_row("outbox", f"{_cell(data.outbox_rows)} rows{waiting}")
    if not data.queried:
        _add_way(progress, data)
    if len(data.tables) == 1:
        [table] = data.tables
        aside = f", {table.quarantined} events in quarantine" if table.quarantined else ""
        progress.add_row("lake", f"{_cell(table.lake_rows)} rows, last commit {_cell(table.last_commit)}{aside}")
    return progress


def _add_way(progress: Table, data: DataStatus) -> None:
    progress.add_row("slot", _slot(data.slot))
    objects = f"{_cell(data.landing_objects)} objects"
    if len(data.tables) == 1:
        [table] = data.tables
        progress.add_row("topic", f"next offset {_cell(table.topic_end)}")
        progress.add_row("landing", f"next offset {_cell(table.sink_offset)}, {objects}")
    else:
        progress.add_row("landing", objects)


def _slot(slot: Slot | None) -> str:
    if slot is None:
        return "-"
    return f"{_cell(slot.behind_bytes)} bytes behind, {megabytes(slot.held_bytes)} of WAL held"


def _cell(value: object) -> str:
    return "-" if value is None else str(value)
