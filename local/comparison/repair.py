"""Repairs differences: has the source's rows read again, and deletes rows that only the lake has.

For an ordinary table, exactly the differing keys are requested through the signal table (docs/decisions/0034); outbox
rows are rewritten; for a queried table the job reads all rows again.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from local.comparison.compare import Repair
from local.comparison.describe import Compared
from local.comparison.lake import LakeLook
from local.comparison.rows import ComparedTable
from local.comparison.source import look
from local.comparison.suspects import EXTRA, IN_THE_SOURCE, Suspects
from local.errors import PlatformError

# Covers a start of Spark and a read of all rows.
TIMEOUT_S = 600.0
PAUSE_S = 0.5
# Deleted at a time.
BATCH_KEYS = 10_000
Key = tuple[str, ...]
Say = Callable[[str], None]


def repair_by_key(
    parameters: Mapping[str, Any],
    read_again: Callable[[Sequence[Key]], None],
    delete: Callable[[Mapping[Key, Mapping[str, Any]]], object],
    say: Say,
) -> Repair:
    """Return the repair of a table's suspected keys; a key is its columns' values as PostgreSQL writes them.

    `read_again` has the source's rows of these keys read again, and waits until they are on their way. `delete` removes
    from the lake the keys that the source still lacks: key → the key's columns as `LakeLook.keys` has them. The repair
    prints how many rows it asked for, and raises PlatformError. The table has a key.
    """

    def repair(suspects: Suspects, lake: LakeLook) -> None:
        table = lake.table
        here, extra, deleted = suspects.keys(IN_THE_SOURCE), suspects.keys(EXTRA), 0
        if here:
            read_again(_values(parameters, table, here))
        for start in range(0, len(extra), BATCH_KEYS):
            suspects.choose(extra[start : start + BATCH_KEYS])
            # A row that has left the lake meanwhile needs no delete.
            if columns := lake.keys():
                delete(dict(zip(_values(parameters, table, list(columns)), columns.values(), strict=True)))
            deleted += len(columns)
        say(f"{table.title}: {len(here):,} rows read again, {deleted:,} that only the lake had deleted")

    return repair


def _values(parameters: Mapping[str, Any], table: ComparedTable, texts: Sequence[str]) -> list[Key]:
    with look(parameters, table) as source:
        values = source.key_values(texts)
    if values is None:
        columns = ", ".join(table.key)
        raise PlatformError(
            f"rows can't be named by {columns}, so they can't be repaired one by one: `./lake resnapshot -t …` reads"
            " all that the source has"
        )
    return values


def repair_of_outbox(
    parameters: Mapping[str, Any], wanted: Compared, resnapshot: Callable[[str], object], say: Say
) -> Repair:
    """Return the outbox's repair: re-snapshots of rows by a condition, which also delete what only the lake has."""
    [key] = wanted.entry.key

    def write_again(keys: Iterable[Key]) -> None:
        resnapshot(condition_of(key, keys))

    return repair_by_key(parameters, write_again, write_again, say)


def condition_of(key: str, keys: Iterable[Key]) -> str:
    """Write the condition that chooses the outbox's rows: its key is an integer, and int() keeps anything else out."""
    return f"{key} IN ({', '.join(str(int(value)) for (value,) in keys)})"


def repair_of_queried(read_all: Callable[[], None], say: Say, *, timeout_s: float = TIMEOUT_S) -> Repair:
    """Return a table's repair; `read_all` starts the job so that it reads everything. It raises PlatformError."""

    def repair(suspects: Suspects, lake: LakeLook) -> None:
        table, count = lake.table, suspects.count(IN_THE_SOURCE) + suspects.count(EXTRA)
        before = table.lake.last_commit()
        say(f"{table.title}: {count:,} rows differ, so the job reads the whole table again")
        read_all()
        deadline = time.monotonic() + timeout_s
        while table.lake.last_commit() in (None, before):
            if time.monotonic() > deadline:
                raise PlatformError(
                    f"{table.title}: the job was started again and has committed nothing within {timeout_s:.0f} s:"
                    " `./lake status` says how it is"
                )
            time.sleep(PAUSE_S)

    return repair
