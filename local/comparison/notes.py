"""Notes which states late rows have at the source between two passes: the lake shows rows that always change later."""

import contextlib
import threading
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from local.comparison.rows import ComparedTable, RowFilter, digest
from local.comparison.source import looks
from local.comparison.suspects import Suspects

# Up to this many keys are noted, at most this often, and at most a fiftieth of the time.
NOTED_KEYS = 100
NOTE_S = 0.05
REST = 50


@contextlib.contextmanager
def noting(suspects: Suspects, parameters: Mapping[str, Any], table: ComparedTable) -> Iterator[None]:
    """Note the suspected rows' states until the context ends; too many keys aren't noted. Raises psycopg2.Error."""
    chosen = suspects.chosen(NOTED_KEYS)
    if chosen.keys is None:
        yield
        return
    over = threading.Event()
    with ThreadPoolExecutor(1) as thread:
        noted = thread.submit(_states, parameters, table, chosen, over)
        try:
            yield
        finally:
            over.set()
        suspects.remember(noted.result())


def _states(
    parameters: Mapping[str, Any], table: ComparedTable, chosen: RowFilter, over: threading.Event
) -> Collection[tuple[str, tuple[str, ...]]]:
    """Return the states that were seen: a row's id, and the hashes of its occurrences."""
    seen: set[tuple[str, tuple[str, ...]]] = set()
    with contextlib.closing(looks(parameters, table)) as states:
        while not over.is_set():
            began = time.monotonic()
            hashes = defaultdict(list)
            for batch in next(states).tidied(chosen):
                for row in batch:
                    hashes[row.id].append(digest(row.value))
            seen |= {(id_, tuple(sorted(some))) for id_, some in hashes.items()}
            over.wait(max(NOTE_S, REST * (time.monotonic() - began)))
    return seen
