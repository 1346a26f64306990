"""The demo's output: a live line per step with its count and seconds, and each change at its three places."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from contract import events
from local.comparison.command import lines, put
from local.comparison.compare import TableComparison
from local.demo.watch import Seen, show
from local.platform.startup import Step, StepState

EVENTS_SHOWN = 2


class Display:
    """Running steps are live lines; a finished step stays as a printed line with its seconds."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TextColumn("{task.fields[note]}", markup=False),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._running: dict[str, TaskID] = {}

    @contextmanager
    def live(self) -> Iterator["Display"]:
        """Keep the live lines on the screen while the demo runs."""
        with self._progress:
            yield self

    @contextmanager
    def step(self, name: str) -> Iterator[Callable[[str], None]]:
        """Show a step while it runs; print it with its note and seconds when it is done.

        The block gets a function that replaces the note after the step's name, such as a count.
        """
        task = self._progress.add_task(name, note="", total=None)
        [step] = [one for one in self._progress.tasks if one.id == task]
        try:
            yield lambda text: self._progress.update(task, note=text)
        finally:
            self._progress.remove_task(task)
        self.done(name, step.fields["note"], step.elapsed or 0.0)

    def progress(self, step: Step) -> None:
        """Show a step of the platform's start or stop: live while it runs, printed when it is done."""
        if step.state is StepState.STARTED:
            if step.name not in self._running:
                self._running[step.name] = self._progress.add_task(step.name, note="", total=None)
            self._progress.update(self._running[step.name], note=step.note)
            return
        if (task := self._running.pop(step.name, None)) is not None:
            self._progress.remove_task(task)
        if step.state is StepState.DONE:
            self.done(step.name, step.note, step.seconds)

    def done(self, name: str, note: str, seconds: float) -> None:
        self.console.print(f"[green]ok[/] {escape(f'{name:<36} {note:<28}')} {seconds:6.1f} s", highlight=False)

    def arrived(self, rows: Iterable[Seen]) -> None:
        """Print a change's rows as the source, the topic and the lake have them."""
        for seen in rows:
            shows = seen.reached.shows
            others = f" and {len(seen.keys) - 1} more" if len(seen.keys) > 1 else ""
            self._place("source", f"{seen.reached.what} {seen.keys[0]}{others}", show(seen.source, *shows))
            for event in seen.events[:EVENTS_SHOWN]:
                value = event.value or {}
                what = show(value, *shows) if value.get(events.OPERATION) != events.DELETE else "delete"
                self._place("event", f"op {value.get(events.OPERATION)}, lsn {value.get(events.LSN)}", what)
            if len(seen.events) > EVENTS_SHOWN:
                self._place("event", f"{len(seen.events) - EVENTS_SHOWN} more", "")
            commit = seen.lake["_hoodie_commit_time"] if seen.lake else "-"
            self._place("lake", f"commit {commit}", show(seen.lake, *shows))

    def _place(self, place: str, where: str, what: str) -> None:
        put(self.console, f"   {place:<7} {where:<26} {what}")


def print_counts(console: Console, title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table: a name, then counts in each row."""
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, no_wrap=column == columns[0], justify="left" if column == columns[0] else "right")
    for name, *counts in rows:
        table.add_row(name, *(f"{count:,}" for count in counts))
    console.print(table)


def print_tables(console: Console, found: Sequence[TableComparison]) -> None:
    """Print the tables' comparison, a row each, and the lines of `./lake reconcile` for tables that aren't equal."""
    columns = ("table", "source", "lake", "missing", "extra", "different")
    rows = ((one.table, one.source_rows, one.lake_rows, one.missing, one.extra, one.different) for one in found)
    print_counts(console, "reconcile: rows of", columns, rows)
    for line in (line for one in found if not one.equal for line in lines(one)):
        put(console, line, style="red")
