"""Tells whether all that the source had at a look is in a queried table by now: the job says how far it has looked.

The job writes when its last look at all rows began that the table has all of (spark_jobs/listeners.py); it runs on
this machine, so its clock is ours. What was committed before that moment is in the table.
"""

import time
from collections.abc import Callable
from pathlib import Path


class QueriedArrivals:
    """How far one queried table is; `clock` gives seconds since 1970."""

    def __init__(self, looked_file: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._looked_file = looked_file
        self._clock = clock
        # What is asked for, and when that was asked first: the source had it before.
        self._asked: tuple[str, float] | None = None

    def has(self, position: str) -> bool:
        """Tell whether the lake has all of it: whether a look has begun since this was asked first, and is settled."""
        if self._asked is None or self._asked[0] != position:
            self._asked = (position, self._clock())
        looked = self._looked()
        if looked is None or looked < self._asked[1]:
            return False
        # The same position may be asked for of a later look, which may have seen what was just being committed.
        self._asked = None
        return True

    def _looked(self) -> float | None:
        try:
            return int(self._looked_file.read_text(encoding="ascii")) / 1000
        except (OSError, ValueError):
            return None
