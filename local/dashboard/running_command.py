"""Finds the command that works on a platform, without touching the lock that it holds."""

from itertools import pairwise
from pathlib import Path

import psutil

from local.dashboard.state import DOWN, UP

# As in `python -m cli up`, which `./lake up` runs.
PROGRAM = "cli"


def running_command(lock: Path) -> str | None:
    """Return `up` or `down` while the last command that took the lock is one of these and still runs; else None.

    The lock's file holds the process id of the last holder. Taking the lock to find out would block other commands.
    """
    try:
        arguments = psutil.Process(int(lock.read_text(encoding="utf-8"))).cmdline()
    except (OSError, ValueError, psutil.Error):
        return None
    commands = [after for before, after in pairwise(arguments) if before == PROGRAM]
    return commands[0] if commands and commands[0] in (UP, DOWN) else None
