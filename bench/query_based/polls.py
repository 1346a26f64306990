"""Ways to poll by last_update, as the connectors and HoodieStreamer do; each keeps the lake it would create."""

import contextlib
import datetime as dt
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import psycopg2

from bench.query_based.load import COLUMNS, TABLE

Row = tuple[Any, ...]
_FIRST = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True)
class Way:
    """A condition on last_update; `%(last)s` is the newest value seen."""

    name: str
    condition: str


WAYS = (
    Way("mode=timestamp", "last_update > %(last)s AND last_update < now()"),
    Way("… delay of 5 s", "last_update > %(last)s AND last_update < now() - interval '5 s'"),
    Way("HoodieStreamer's JdbcSource", "last_update > %(last)s"),
    Way("overlap of 5 s", "last_update >= %(last)s::timestamptz - interval '5 s'"),
)


@dataclass
class Poll:
    """Polls in one way, every `seconds`, until stopped; `rows` is the lake by key, `seen` its row versions."""

    parameters: Mapping[str, Any]
    way: Way
    seconds: float = 1
    rows: dict[int, Row] = field(default_factory=dict)
    seen: set[Row] = field(default_factory=set)
    _ended: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Poll until stopped, and then until two polls find nothing new."""
        last = _FIRST
        with contextlib.closing(psycopg2.connect(**self.parameters)) as connection:
            connection.autocommit = True
            while not self._ended.wait(self.seconds):
                last = self._once(connection, last)

    def end(self) -> None:
        """Stop after the current poll."""
        self._ended.set()

    def _once(self, connection: Any, last: dt.datetime) -> dt.datetime:
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT {', '.join(COLUMNS)} FROM {TABLE} WHERE {self.way.condition} ORDER BY last_update",  # noqa: S608
                {"last": last},
            )
            for row in cursor.fetchall():
                # The lake keeps the row with the highest last_update, its ordering field.
                if row[0] not in self.rows or row[3] >= self.rows[row[0]][3]:
                    self.rows[row[0]] = row
                self.seen.add(row)
                last = max(last, row[3])
        return last
