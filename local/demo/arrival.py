"""Makes a change on the source and waits until the lake shows it."""

import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg2
import psycopg2.extras

from local.demo.change import Change, Reached
from local.errors import PlatformError
from local.look.topic import Event

# A look takes 0.1 s of CPU on its own and at the S3 endpoint, which the job could use.
POLL_S = 0.3
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


class Watch(ABC):
    """The places where a change is looked at; `parameters` are the source database's."""

    parameters: Mapping[str, Any]

    @abstractmethod
    def initial_load(self, *, timeout_s: float, on_count: Callable[[str], None]) -> tuple[int, float]:
        """Wait until the lake has every row of the source; return the rows and the seconds since they were there.

        Raises NotArrivedError after `timeout_s`.
        """

    @abstractmethod
    def arrives(self, reached: Reached, keys: list[int]) -> Callable[[], bool]:
        """Return the question whether the lake has rows as the source has them now."""

    @abstractmethod
    def seen(self, reached: Reached, keys: list[int]) -> Seen:
        """Return what each place shows of rows that have arrived."""

    def make(self, change: Change, *, timeout_s: float) -> Arrival:
        """Commit the change, wait until the lake has it, and return what each place shows.

        Raises NotArrivedError after `timeout_s`, psycopg2.Error when the source refuses the change.
        """
        keys = self._commit(change)
        seconds = self._wait(change, keys, timeout_s)
        reached = zip(change.reaches, keys, strict=True)
        return Arrival(seen=tuple(self.seen(one, its_keys) for one, its_keys in reached), seconds=seconds)

    def _wait(self, change: Change, keys: list[list[int]], timeout_s: float) -> float:
        """Wait until the lake has the rows of these keys; return the seconds since the commit."""
        committed = time.monotonic()
        awaited = {
            f"{one.what} {', '.join(map(str, its_keys))}": self.arrives(one, its_keys)
            for one, its_keys in zip(change.reaches, keys, strict=True)
        }
        while True:
            awaited = {what: arrived for what, arrived in awaited.items() if not arrived()}
            seconds = time.monotonic() - committed
            if not awaited:
                return seconds
            if seconds > timeout_s:
                raise NotArrivedError(f"{change.name}: {'; '.join(awaited)} not in the lake after {timeout_s:.0f} s")
            time.sleep(POLL_S)

    def _commit(self, change: Change) -> list[list[int]]:
        connection = psycopg2.connect(**self.parameters)
        with contextlib.closing(connection), connection, connection.cursor() as cursor:
            for statement in change.statements:
                cursor.execute(statement)
                if cursor.rowcount == 0:
                    raise NotArrivedError(f"{change.name}: the source has no such row: {statement}")
            keys = []
            for reached in change.reaches:
                cursor.execute(reached.keys)
                keys.append([key for (key,) in cursor.fetchall()])
            return keys

    def source_row(self, query: str, key: int) -> Row | None:
        """Return the row of the source that a query with one parameter, the key, finds."""
        connection = psycopg2.connect(**self.parameters)
        by_name = psycopg2.extras.RealDictCursor
        with contextlib.closing(connection), connection, connection.cursor(cursor_factory=by_name) as cursor:
            cursor.execute(query, (key,))
            row: Row | None = cursor.fetchone()
            return row
