"""Repairs what differs: has the source's rows read again, and what only the lake has deleted there.

Of an ordinary table exactly the keys that differ are asked for by the signal table (docs/decisions/0076); rows of the
outbox are written anew (docs/decisions/0034).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from local.comparison.lake import LakeLook
from local.comparison.source import look
from local.comparison.suspects import EXTRA, Suspects
from local.comparison.table import ComparedTable
from local.errors import PlatformError

BATCH_KEYS = 1_000
Key = tuple[str, ...]


class KeyRepair(Protocol):
    """How keys of one table are repaired; a key is its columns' values as PostgreSQL writes them."""

    def read_again(self, keys: Sequence[Key]) -> None:
        """Have the source's rows of these keys read again, and wait until they are on their way."""

    def delete(self, rows: Mapping[Key, Mapping[str, Any]]) -> None:
        """Delete from the lake what the source still hasn't: key → the key's columns as Arrow gives them."""


def repair_of(
    parameters: Mapping[str, Any], table: ComparedTable, keys: KeyRepair, say: Callable[[str], None]
) -> Callable[[Suspects, LakeLook], int]:
    """Return what repairs a table's suspected keys in batches, and says how many. It raises PlatformError."""
    if not table.key:
        raise PlatformError(f"{table.title} has no key, so its rows can't be repaired one by one: re-snapshot it whole")

    def repair(suspects: Suspects, lake: LakeLook) -> int:
        read = deleted = 0
        for values in _in_the_source(parameters, table, suspects):
            keys.read_again(values)
            read += len(values)
        for rows in _only_in_the_lake(parameters, table, suspects, lake):
            keys.delete(rows)
            deleted += len(rows)
        say(f"{table.title}: {read:,} rows read again, {deleted:,} that only the lake had deleted")
        return read + deleted

    return repair


def _in_the_source(parameters: Mapping[str, Any], table: ComparedTable, suspects: Suspects) -> Iterator[list[Key]]:
    for texts in list(suspects.keys(f"NOT ({EXTRA})", BATCH_KEYS)):
        yield _values(parameters, table, texts)


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
        raise PlatformError(f"rows can't be named by {columns}, so they can't be repaired one by one: re-snapshot it")
    return values
