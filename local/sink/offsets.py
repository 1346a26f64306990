"""How far a partition has been landed, and the decision where to go on.

The consumer group's committed offset has a note in the commit's metadata: before a batch is landed its end is
committed as an intent (`until`), with the offset still at its start. A successor, be it this sink after a kill or
another member of the group, takes the same records as one batch, so it writes the same objects with the same content,
and no object is ever replaced by one with fewer events.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from local.sink.errors import SinkError

NOTE_VERSION = 1
DELETED_EARLY = "deleted from the topic before they were landed"
OBJECTS_GONE = "their objects are gone from the bucket, and the topic doesn't hold them any more"


@dataclass(frozen=True, kw_only=True)
class CommittedOffset:
    """The group's offset of a partition with its note: all before `offset` is landed.

    `until`: a batch from `offset` to there may be landed in part. `landed`: the key of the object landed last.
    """

    offset: int
    until: int | None = None
    landed: str | None = None

    def note(self) -> str:
        """Return what goes into the commit's metadata (the broker takes 4,096 bytes)."""
        note: dict[str, object] = {"v": NOTE_VERSION}
        if self.until is not None:
            note["until"] = self.until
        if self.landed is not None:
            note["landed"] = self.landed
        return json.dumps(note, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def of(cls, offset: int, note: str | None) -> Self:
        """Read a commit; one that wasn't made by this sink has no note that counts."""
        try:
            fields = json.loads(note or "{}")
        except ValueError:
            fields = {}
        if not isinstance(fields, dict) or fields.get("v") != NOTE_VERSION:
            fields = {}
        return cls(offset=offset, until=fields.get("until"), landed=fields.get("landed"))


@dataclass(frozen=True, kw_only=True)
class Gap:
    """Offsets from `first` up to, not including, `end` that aren't in the landing and can't be read any more."""

    first: int
    end: int
    reason: str


@dataclass(frozen=True, kw_only=True)
class Start:
    """Where a partition is read from; `until`: the end of a batch that must be taken as one."""

    offset: int
    until: int | None = None
    gap: Gap | None = None
    rewound_from: int | None = None


@dataclass(frozen=True, kw_only=True)
class Landing:
    """What the bucket can say about a partition; both look it up when called.

    `exists` tells whether an object is there, `end` the offset behind the last landed record, None when there is none
    or the layout's names don't tell.
    """

    exists: Callable[[str], bool]
    end: Callable[[], int | None]


def decide_start(committed: CommittedOffset | None, *, low: int, high: int, landing: Landing) -> Start:
    """Decide where to read a partition whose log holds the offsets from `low` up to, not including, `high`.

    Raises SinkError when the offset lies behind the log's end: the log was truncated, or it is another one.
    """
    if committed is None:
        return _without_offset(landing.end(), low=low, high=high)
    reach = max(committed.offset, committed.until or 0)
    if reach > high:
        raise SinkError(
            f"offset {reach} was landed but the log ends at {high}: records were lost in Kafka, or its data replaced"
        )
    if committed.landed is not None and not landing.exists(committed.landed):
        return _rewound(committed.offset, landing.end() or 0, low=low)
    if committed.offset < low:
        gap = Gap(first=committed.offset, end=low, reason=DELETED_EARLY)
        until = committed.until if committed.until is not None and committed.until > low else None
        return Start(offset=low, until=until, gap=gap)
    return Start(offset=committed.offset, until=committed.until)


def _without_offset(landed_end: int | None, *, low: int, high: int) -> Start:
    """Begin at what is landed already (the group's offsets were removed), else at the log's begin."""
    end = landed_end or 0
    if end > high:
        raise SinkError(f"offset {end - 1} is landed but the log ends at {high}: the objects aren't of this topic")
    if end < low:
        return Start(offset=low, gap=Gap(first=end, end=low, reason=DELETED_EARLY))
    return Start(offset=end)


def _rewound(offset: int, landed_end: int, *, low: int) -> Start:
    """Objects were taken away from the landing: land again what Kafka still has of them."""
    end = min(landed_end, offset)
    if end >= low:
        return Start(offset=end, rewound_from=offset)
    return Start(offset=low, gap=Gap(first=end, end=low, reason=OBJECTS_GONE), rewound_from=offset)
