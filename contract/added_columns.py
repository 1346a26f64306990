"""Remembers the columns that came with events or after the first commit: what events call each, and since which commit.

Each commit's metadata carries the register, with its progress (spark_jobs/table/checkpoint.py): a restarted job goes
on with the events' names, and local/look/added_columns.py tells which rows are from before a column.
"""

import json
from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from typing import Any


@dataclass(frozen=True)
class AddedColumn:
    """`field`: its name in events; `since`: the instant of the commit that brought it, None in that commit itself.

    `guessed`: the schema file didn't describe it then, so its type is what its first values looked like. `avro`: nor
    did it, and this is the Avro field that the source's catalogue made of it, by which events are read.
    """

    field: str
    since: str | None = None
    guessed: bool = False
    avro: Any = None


def encode(columns: Mapping[str, AddedColumn]) -> str:
    """Write the register, by the columns' names."""
    return json.dumps({name: list(astuple(column)) for name, column in columns.items()}, separators=(",", ":"))


def decode(text: str | None) -> dict[str, AddedColumn]:
    """Read what `encode` wrote; nothing for a commit of before it."""
    return {name: AddedColumn(*entry) for name, entry in json.loads(text or "{}").items()}


def since(columns: Mapping[str, AddedColumn], instant: str | None) -> dict[str, AddedColumn]:
    """Return the register with the instant of the commit that carries it, for the columns that came by that commit."""
    return {name: replace(column, since=column.since or instant) for name, column in columns.items()}
