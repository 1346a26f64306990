"""Prints the result of `./lake status`."""

import time
from collections.abc import Sequence

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from contract.states import Word
from contract.table_states import FAILING
from local.state import rows
from local.state.collect import PipelineState

COLOURS = {Word.UP_TO_DATE: "green", Word.MOVING: "green", Word.LATE: "yellow", Word.STARTING: "yellow"}
RED = {"dead", "hangs", FAILING}


def print_status(console: Console, found: PipelineState) -> None:
    state = found.state
    console.print(
        Text.assemble((state.word, f"bold {COLOURS.get(state.word, 'red')}"), f": {state.reason}"), soft_wrap=True
    )
    _print(console, rows.SERVICES, rows.service_rows(found.services, state.parts))
    _print(console, rows.STAGES, rows.stage_rows(found.stages))
    _print(console, rows.TABLES, rows.table_rows(found.data.tables, time.time()))
    for line in found.data.loads:
        if not state.reason.startswith(line):
            console.print(line, highlight=False, markup=False, soft_wrap=True)
    for line in map(str, found.problems):
        # The first line begins with one of them.
        if not state.reason.startswith(line):
            console.print(line, style="red", highlight=False, markup=False, soft_wrap=True)


def _print(console: Console, columns: Sequence[str], found: rows.Rows) -> None:
    """Print a table without the columns that say nothing in any row."""
    said = [index for index in range(len(columns)) if any(row[index] != rows.NOTHING for row in found)]
    table = Table(*(Column(columns[index], overflow="fold") for index in said), box=None)
    for row in found:
        table.add_row(*(Text(row[index], style="red" if row[index] in RED else "") for index in said))
    if said:
        console.print(table)
