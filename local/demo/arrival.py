"""A change that has arrived in the lake, with what each place shows of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from local.demo.change import Reached
from local.errors import PlatformError
from local.look.topic import Event

Row = Mapping[str, Any]


class NotArrivedError(PlatformError):
    """A change did not show in the lake in time; the message names the rows and the time."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """Rows that have arrived: their keys, and what source, topic (where there is one) and lake have of the first."""

    reached: Reached
    keys: list[int]
    source: Row | None
    lake: Row | None
    events: Sequence[Event] = ()


@dataclass(frozen=True, kw_only=True)
class Arrival:
    """A change that has arrived, and the seconds it took."""

    seen: tuple[Seen, ...]
    seconds: float
