"""Repairs differences: has the source's rows read again, and deletes rows that only the lake has.

For an ordinary table, exactly the differing keys are requested through the signal table (docs/decisions/0034); outbox
rows are rewritten; for a queried table the job reads all rows again.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from db.source.signals import can_name
from local.comparison.compare import Repair
from local.comparison.describe import Compared
from local.comparison.lake import LakeLook
from local.comparison.rows import ComparedTable
from local.comparison.run import Repairs
from local.comparison.source import look
from local.comparison.suspects import EXTRA, IN_THE_SOURCE, Suspects
from local.errors import PlatformError
from local.resnapshot.log_tables import EventWriter, LogTable, Reader, Signals, committing, delete_keys, read_keys_again

# Covers a start of Spark and a read of all rows.
TIMEOUT_S = 600.0
PAUSE_S = 0.5
BATCH_KEYS = 1_000
Key = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class KeyRepair:
    """How to repair keys of one table; a key is its columns' values as PostgreSQL writes them.

    `read_again` has the source's rows of these keys read again, and waits until they are on their way. `delete` removes
    from the lake the keys that the source still lacks: key → the key's columns as Arrow values. `whole`: all rows are
    read again, regardless of the requested keys.
    """

    read_again: Callable[[Sequence[Key]], None]
    delete: Callable[[Mapping[Key, Mapping[str, Any]]], None]
    whole: bool = False


def repair_of(
    parameters: Mapping[str, Any], table: ComparedTable, keys: KeyRepair, say: Callable[[str], None]
) -> Callable[[Suspects, LakeLook], None]:
    """Return the repair of a table's suspected keys in batches; it prints how many and raises PlatformError.

    The table has a key.
    """

    def repair(suspects: Suspects, lake: LakeLook) -> None:
        read = deleted = 0
        for texts in list(suspects.keys(IN_THE_SOURCE, BATCH_KEYS)):
            values = _values(parameters, table, texts)
            if not (read and keys.whole):
                keys.read_again(values)
            read += len(values)
        for rows in _only_in_the_lake(parameters, table, suspects, lake):
            if rows:
                keys.delete(rows)
            deleted += len(rows)
        say(f"{table.title}: {read:,} rows read again, {deleted:,} that only the lake had deleted")

    return repair


def _only_in_the_lake(
    parameters: Mapping[str, Any], table: ComparedTable, suspects: Suspects, lake: LakeLook
) -> Iterator[dict[Key, dict[str, Any]]]:
    with suspects.kept():
        for texts in list(suspects.keys(EXTRA, BATCH_KEYS)):
            suspects.choose(texts)
            columns = lake.keys()
            # A row that has left the lake meanwhile needs no delete.
            there = [text for text in texts if text in columns]
            yield {key: columns[text] for text, key in zip(there, _values(parameters, table, there), strict=True)}


def _values(parameters: Mapping[str, Any], table: ComparedTable, texts: Sequence[str]) -> list[Key]:
    with look(parameters, table) as source:
        values = source.key_values(texts) if texts else []
    if values is None:
        columns = ", ".join(table.key)
        raise PlatformError(
            f"rows can't be named by {columns}, so they can't be repaired one by one: `./lake resnapshot -t …` reads"
            " all that the source has"
        )
    return values


def log_repair(
    parameters: Mapping[str, Any],
    signals: Signals,
    table: LogTable,
    reader: Reader,
    writer: EventWriter,
    *,
    timeout_s: float,
) -> KeyRepair:
    """Return the repair of an ordinary table: signals ask its connector for rows, and we write the delete events.

    `parameters`: log in as a role that may write to the signal table. A table whose name no signal can spell is read
    whole.
    """

    def read_again(keys: Sequence[Key]) -> None:
        with committing(parameters) as cursor:
            read_keys_again(cursor, signals, table, keys, reader, timeout_s=timeout_s)

    def delete(rows: Mapping[Key, Mapping[str, Any]]) -> None:
        with committing(parameters) as cursor:
            delete_keys(cursor, table, rows, writer)

    return KeyRepair(read_again=read_again, delete=delete, whole=not can_name(table.name))


def outbox_repair(key: str, resnapshot: Callable[[str], object]) -> KeyRepair:
    """Return the repair of the outbox: a conditional re-snapshot, which also deletes rows that only the lake has."""

    def write_anew(keys: Iterable[Key]) -> None:
        # The outbox's key is an integer: int() keeps anything else out of the condition.
        resnapshot(f"{key} IN ({', '.join(str(int(value)) for (value,) in keys)})")

    return KeyRepair(read_again=write_anew, delete=write_anew)


def repairs_of_queried(
    read_anew: Callable[[], None], say: Callable[[str], None], *, timeout_s: float = TIMEOUT_S
) -> Repairs:
    """Return the tables' repair; `read_anew` starts the job so that it reads everything. It raises PlatformError."""

    def of_table(wanted: Compared, table: ComparedTable) -> Repair:
        def repair(suspects: Suspects, _lake: LakeLook) -> None:
            count = suspects.count(IN_THE_SOURCE) + suspects.count(EXTRA)
            before = wanted.lake.last_commit()
            say(f"{table.title}: {count:,} rows differ, so the job reads the table anew")
            read_anew()
            _wait_for_commit(wanted, before, timeout_s)

        return repair

    return of_table


def _wait_for_commit(wanted: Compared, before: str | None, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if wanted.lake.last_commit() not in (None, before):
            return
        time.sleep(PAUSE_S)
    raise PlatformError(
        f"{wanted.entry.name}: the job was started again and has committed nothing within {timeout_s:.0f} s:"
        " `./lake status` says how it is"
    )
