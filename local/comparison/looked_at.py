"""What a look at either side gives, of which rows: rows with their hashes or texts, and sums of chunks of them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

# Sums of hashes are modulo 2^64.
HALF = 1 << 64


class Row(NamedTuple):
    """A row: its key's text as an engine writes it, the text by which both sides' rows meet, and its hash or text.

    `version`: another one after each change of the source's row, even where the row is then what it was before.
    """

    key: str
    id: str
    value: str
    version: str = ""


@dataclass(frozen=True, slots=True)
class Sum:
    """Rows of a chunk, and the sums of both halves of their hashes modulo 2^64."""

    rows: int = 0
    high: int = 0
    low: int = 0

    def __add__(self, other: "Sum") -> "Sum":
        return Sum(self.rows + other.rows, (self.high + other.high) % HALF, (self.low + other.low) % HALF)


Sums = dict[int, Sum]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """Which rows: those of `chunks` (their numbers, of 2^bits), those of `keys` (texts), or all.

    `suspected`: of these only what is in the lake's engine's table of suspected keys; rows of others may come, too.
    """

    bits: int = 0
    chunks: Collection[int] | None = None
    keys: Sequence[str] | None = None
    suspected: bool = False


EVERYTHING = Chosen()
