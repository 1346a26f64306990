"""Tells whether all that the source had at a position of its log is in the lake's table by now.

Only then a row that differs is one that differs, and not one that is late (docs/decisions/0003). A step of the way that
is away or can't say is one that hasn't arrived.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import psycopg2
from botocore.exceptions import BotoCoreError, ClientError
from confluent_kafka import KafkaException

from local.errors import PlatformError
from local.look.lake import Lake, LakeError

# What a step of the way says while it is away.
AWAY = (psycopg2.Error, KafkaException, TimeoutError, BotoCoreError, ClientError, PlatformError, LakeError)
# Of a topic's one partition.
_PARTITION = "0"


class Arrivals(Protocol):
    """What knows how far the lake's table is."""

    def has(self, position: str) -> bool:
        """Tell whether the lake has all that the source had at this position of its log, such as 0/1A2B3C."""


@dataclass(frozen=True, kw_only=True)
class Way:
    """The way of one table's changes, a question for each step; what they raise is one of AWAY.

    `sent`: whether all up to a position of the log is in topics. `end`: the offset that the topic's next event gets.
    `landed`: the offset that the sink reads next. `is_there`: whether the landing has the object of this name; it has
    none of a former topic. `behind`: whether it has one after this name.
    """

    sent: Callable[[str], bool]
    end: Callable[[], int]
    landed: Callable[[], int]
    is_there: Callable[[str], bool]
    behind: Callable[[str], bool]
    lake: Lake


class LakeArrivals:
    """How far one table is; asked again and again, it asks as little as it can."""

    def __init__(self, way: Way) -> None:
        self._way = way
        self._ends: dict[str, int] = {}
        self._commit: str | None = None
        self._consumed = ""

    def has(self, position: str) -> bool:
        """Tell whether the lake has all of it."""
        try:
            return self._has(position)
        except AWAY:
            return False

    def _has(self, position: str) -> bool:
        if position not in self._ends:
            if not self._way.sent(position):
                return False
            self._ends = {position: self._way.end()}
        end = self._ends[position]
        if end == 0:
            return True
        if (commit := self._way.lake.last_commit()) != self._commit:
            self._consumed = consumed(self._way.lake.progress())
            self._commit = commit
        if not self._consumed or self._way.landed() < end:
            return False
        if not self._way.is_there(self._consumed):
            # Its offset says nothing of a topic that was made again and begins at 0.
            return not self._way.behind("")
        # Not every event makes a line of an object: a tombstone doesn't. While changes go on, there is always an object
        # behind, and only the offset tells.
        return _last_offset(self._consumed) + 1 >= end or not self._way.behind(self._consumed)


def _last_offset(name: str) -> int:
    return int(name.rpartition("/")[2].partition("_")[0])


def consumed(progress: str | None) -> str:
    """Return the last object that a commit's progress names, below its topic's folder; empty where it names none.

    `progress` is what `spark_jobs/sources/file_progress.py` writes; another source's names no object.
    """
    try:
        names = json.loads(progress or "{}")["watermarks"].values()
    except (ValueError, LookupError, AttributeError, TypeError):
        return ""
    below_topic = ("/".join(str(name).split("/")[-2:]) for name in names)
    return next((name for name in below_topic if name.startswith(f"{_PARTITION}/")), "")
