"""Reads the platform's own files: the last comparison, and which command holds the lock."""

import json
from itertools import pairwise
from pathlib import Path

import psutil

from local.state.word import DOWN, UP

# As in `python -m cli up`, which `./lake up` runs.
PROGRAM = "cli"


def read_reconciled(path: Path) -> tuple[str, ...]:
    """Return when source and lake were last compared, and each table's result, from the report."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        at = str(found["at"]).replace("T", " ").replace("+00:00", " UTC")
        tables = [str(one["line"]).replace("  ", ", ") for one in found["tables"]]
        return f"{at}: {'equal' if found['equal'] else 'not equal'}", *tables
    except (OSError, ValueError, LookupError, TypeError):
        return ("not yet: `./lake reconcile` compares source and lake",)


def running_command(lock: Path) -> str | None:
    """Return `up` or `down` while the last command that took the lock is one of these and still runs; else None.

    The lock's file holds the process id of the last holder. Taking the lock to find out would block other commands.
    """
    try:
        arguments = psutil.Process(int(lock.read_text(encoding="utf-8"))).cmdline()
    except (OSError, ValueError, psutil.Error):
        return None
    return next((after for before, after in pairwise(arguments) if before == PROGRAM and after in (UP, DOWN)), None)
