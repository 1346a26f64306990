"""Which command is at work on a platform, without touching the lock that it holds."""

from itertools import pairwise
from pathlib import Path

import psutil

from local.dashboard.state import DOWN, UP

# As `python -m cli up`, which `./lake up` is.
PROGRAM = "cli"


def running_command(lock: Path) -> str | None:
    """Return `up` or `down` while such a command runs that has taken the lock last; None for all others.

    The lock's file has the process id of who took it last. Taking the lock to ask would be in the way of who wants it.
    """
    try:
        arguments = psutil.Process(int(lock.read_text(encoding="utf-8"))).cmdline()
    except (OSError, ValueError, psutil.Error):
        return None
    commands = [after for before, after in pairwise(arguments) if before == PROGRAM]
    return commands[0] if commands and commands[0] in (UP, DOWN) else None
