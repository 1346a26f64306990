"""Remembers columns that arrived with events or after the first commit: their names in events, and since which commit.

Each commit's metadata carries the register with its progress (spark_jobs/table/commits.py): a restarted job keeps
the events' names, and local/state/source_changes.py tells which rows are older than a column.
"""

import json
from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from typing import Any


@dataclass(frozen=True)
class AddedColumn:
    """`field`: its name in events; `since`: the instant of the commit that added it, None in that commit itself.

    `guessed`: the schema file didn't describe it yet, so its type was inferred from its first values. `avro`: it didn't
    either, and this Avro field, derived from the source's catalogue, is used to read events.
    """

    field: str
    since: str | None = None
    guessed: bool = False
    avro: Any = None


def encode(columns: Mapping[str, AddedColumn]) -> str:
    return json.dumps({name: list(astuple(column)) for name, column in columns.items()}, separators=(",", ":"))


def decode(text: str | None) -> dict[str, AddedColumn]:
    """Read what `encode` wrote; empty for a commit older than the register."""
    return {name: AddedColumn(*entry) for name, entry in json.loads(text or "{}").items()}


def since(columns: Mapping[str, AddedColumn], instant: str | None) -> dict[str, AddedColumn]:
    """Return the register with the instant of the commit that carries it, for the columns added by that commit."""
    return {name: replace(column, since=column.since or instant) for name, column in columns.items()}
