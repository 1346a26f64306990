"""Turns to decode and commit, where many tables share the executors."""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# A batch asks for at most two tasks at a time where it groups, orders and writes (conf/lean.properties).
TASKS = 2
# What large batches leave free. A small one has some ten tasks in turn: each would wait until a large one's ends.
SPARE = 2
# While large batches work, a table begins a commit only this often: each takes CPU from them, whatever its size.
PACE_SECONDS = 3.0


def large_turns(most: int, slots: int) -> int:
    """Return how many large batches may be worked on, where `slots` tasks run at a time; at most `most`."""
    return min(most, max(1, (slots - SPARE) // TASKS))


class Turns:
    """Lets some tables work at the same time, first come, first served; small batches have turns of their own.

    A first load's batch takes its time, and its table asks for the next turn at once. A small batch needs little
    memory, so nothing is gained when it waits for that.
    """

    def __init__(self, most: int, slots: Callable[[], int] | None = None) -> None:
        """`most` batches of a kind are worked on at the same time; large ones leave some of the `slots` free."""
        self._most = {False: most, True: most}
        self._slots = slots
        self._busy = {False: 0, True: 0}
        self._waiting: dict[bool, deque[threading.Event]] = {False: deque(), True: deque()}
        self._lock = threading.Lock()

    def min_interval_seconds(self) -> float:
        """Return how long after the begin of a table's last commit the next one may begin."""
        return PACE_SECONDS if self._busy[False] else 0.0

    @contextmanager
    def take(self, *, small: bool = False) -> Iterator[None]:
        """Wait for a turn, and hold it."""
        mine = threading.Event()
        # Asked here, since executors come and go; while a turn is given back nothing must fail.
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
