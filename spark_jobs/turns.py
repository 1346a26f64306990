"""Turns to decode and commit, where many tables share the executors."""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """Lets some tables work at the same time, first come, first served; small batches have turns of their own.

    A first load's batch takes its time, and its table asks for the next turn at once. A small batch needs little
    memory, so nothing is gained when it waits for that.
    """

    def __init__(self, most: int) -> None:
        """`most` large batches, and as many small ones, are worked on at the same time."""
        self._free = {False: most, True: most}
        self._waiting: dict[bool, deque[threading.Event]] = {False: deque(), True: deque()}
        self._lock = threading.Lock()

    @contextmanager
    def take(self, *, small: bool = False) -> Iterator[None]:
        """Wait for a turn, and hold it."""
        mine = threading.Event()
        with self._lock:
            if self._free[small]:
                self._free[small] -= 1
                mine.set()
            else:
                self._waiting[small].append(mine)
        mine.wait()
        try:
            yield
        finally:
            with self._lock:
                if self._waiting[small]:
                    self._waiting[small].popleft().set()
                else:
                    self._free[small] += 1
