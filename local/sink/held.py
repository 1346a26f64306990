"""The records that the sink refuses: nothing after one is landed, only in its partition.

Two files next to the sink's configuration: the records that currently hold it up, and those that it must skip.
"""

import contextlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from local.sink.partition import Partition

HELD, PASSED_OVER = "held.json", "passed-over.json"


@dataclass(frozen=True, kw_only=True)
class Held:
    """A refused record, and the reason."""

    topic: str
    partition: int
    offset: int
    reason: str

    @property
    def place(self) -> Partition:
        return Partition(self.topic, self.partition)


def read(path: Path) -> list[Held]:
    """Return the records in a file; none when it is missing or invalid."""
    with contextlib.suppress(FileNotFoundError, ValueError, TypeError):
        return [Held(**entry) for entry in json.loads(path.read_text(encoding="utf-8"))]
    return []


def write(path: Path, records: Iterable[Held]) -> None:
    """Replace the file atomically."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps([asdict(record) for record in records], indent=1) + "\n", encoding="utf-8")
    new.replace(path)
