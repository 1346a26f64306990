"""Turns to decode and commit, where many tables share the executors."""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# A batch uses at most two tasks at a time to group, order and write (conf/lean.properties).
TASKS = 2
# Slots that large batches leave free. A small batch runs some ten tasks in turn: each would wait for a large one's end.
SPARE = 2
# While large batches work, a table commits only this often: each commit takes CPU from them, whatever its size.
PACE_SECONDS = 3.0


def large_turns(most: int, slots: int) -> int:
    """Return how many large batches may run at once, with `slots` tasks at a time; at most `most`."""
    return min(most, max(1, (slots - SPARE) // TASKS))


class Turns:
    """Limits the tables that work at the same time, first come, first served; small batches have turns of their own.

    A first load's batch takes long, and its table requests the next turn immediately. A small batch needs little
    memory, so making it wait saves nothing.
    """

    def __init__(self, most: int, slots: Callable[[], int] | None = None) -> None:
        """At most `most` batches of a kind run at the same time; large ones leave some of the `slots` free."""
        self._most = {False: most, True: most}
        self._slots = slots
        self._busy = {False: 0, True: 0}
        self._waiting: dict[bool, deque[threading.Event]] = {False: deque(), True: deque()}
        self._lock = threading.Lock()

    def min_interval_seconds(self) -> float:
        """Return the minimum time from the start of a table's last commit to the next one."""
        return PACE_SECONDS if self._busy[False] else 0.0

    @contextmanager
    def take(self, *, small: bool = False) -> Iterator[None]:
        """Wait for a turn, and hold it."""
        mine = threading.Event()
        # Read here, since executors come and go; returning a turn must not fail.
        slots = None if small or self._slots is None else self._slots()
        with self._lock:
            if slots is not None:
                self._most[False] = large_turns(self._most[True], slots)
            self._waiting[small].append(mine)
            self._give(small)
        mine.wait()
        try:
            yield
        finally:
            with self._lock:
                self._busy[small] -= 1
                self._give(small)

    def _give(self, small: bool) -> None:
        while self._waiting[small] and self._busy[small] < self._most[small]:
            self._busy[small] += 1
            self._waiting[small].popleft().set()
