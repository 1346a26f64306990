"""Says on standard output how a table of many is doing, a line per change: other programs read it."""

import sys
from collections.abc import Callable

from contract import table_states
from contract.table_states import ENDED, FAILING, RUNNING, STARTING, STOPPED


def write_line(text: str) -> None:
    """Write a line to standard output at once: many tables' threads do, and `print` writes line and end by turns."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class TableStatus:
    """The state of one table, in lines of contract/table_states.py.

    starting: nothing is known yet; running: its last look at the source succeeded; failing: its last one didn't, and it
    is tried again; ended: it failed or all was read, without --continuous; stopped: told to.
    """

    def __init__(self, table: str, *, worked: Callable[[], None] = lambda: None) -> None:
        """`worked` is called when the table works (again)."""
        self.table = table
        self._worked = worked
        self._said = ""
        self._say(STARTING)

    def works(self) -> None:
        """Note that a look at the source succeeded."""
        if self._say(RUNNING):
            self._worked()

    def fails(self, reason: str | None = None) -> None:
        """Note an attempt that failed; without a `reason` the log has it."""
        self._say(FAILING, reason)

    def ends(self, *, stopped: bool) -> None:
        """Note the table's last line."""
        self._say(STOPPED if stopped else ENDED)

    def _say(self, state: str, reason: str | None = None) -> bool:
        text = table_states.line(self.table, state, reason)
        changed = text != self._said
        if changed:
            write_line(text)
        self._said = text
        return changed
