"""The events of TRUNCATEs, and what a table's commits remember of them (docs/decisions/0021).

A TRUNCATE locks its table exclusively, so its position in the log is in order with the changes of every key. Applied,
it deletes every row that isn't newer; deletes per key would be remembered per key, so one position stands for all. Late
events, from another file or repeated, that aren't newer are skipped.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F

from contract.events import LSN, OPERATION, SETTLED, TRUNCATE
from spark_jobs.decoding.topic_place import OFFSET, SENT_MS, TopicPlace
from spark_jobs.options.keys import IGNORED_TRUNCATE, PROGRESS_PREFIX, TRUNCATE_APPLY

_APPLIED_KEY = f"{PROGRESS_PREFIX}.truncate.applied"
_PLACE_KEY = f"{_APPLIED_KEY}.place"
_SETTLED_KEY = f"{PROGRESS_PREFIX}.truncate.settled"


@dataclass(frozen=True)
class Truncates:
    """Positions of TRUNCATEs, None for none: the newest that was applied, and the newest whose rows remain.

    `settled`: up to where the rows of ignored ones are certainly gone, since the table was read again. `place`: where
    the applied one is in the topic, None if unknown.
    """

    applied: int | None = None
    ignored: int | None = None
    settled: int | None = None
    place: TopicPlace | None = None

    def following(
        self, truncated: int | None, settled: int | None, *, mode: str | None, place: TopicPlace | None = None
    ) -> "Truncates":
        """Return the state after a batch whose newest events of both kinds have these positions.

        `place` is the newest TRUNCATE's.
        """
        now = replace(self, settled=_newest(self.settled, settled))
        if truncated is not None and mode == TRUNCATE_APPLY:
            if now.applied is None or truncated > now.applied:
                now = replace(now, applied=truncated, place=place)
        elif truncated is not None:
            now = replace(now, ignored=_newest(now.ignored, truncated))
        done = _newest(now.applied, now.settled)
        over = now.ignored is not None and done is not None and now.ignored <= done
        return replace(now, ignored=None) if over else now

    def to_metadata(self) -> dict[str, str]:
        place = ",".join(map(str, self.place)) if self.place else None
        entries = {_APPLIED_KEY: self.applied, IGNORED_TRUNCATE: self.ignored, _SETTLED_KEY: self.settled}
        return {key: str(value) for key, value in {**entries, _PLACE_KEY: place}.items() if value is not None}


def from_metadata(entries: Mapping[str, str]) -> Truncates:
    applied, ignored, settled = (
        int(entries[key]) if key in entries else None for key in (_APPLIED_KEY, IGNORED_TRUNCATE, _SETTLED_KEY)
    )
    place = TopicPlace(*map(int, entries[_PLACE_KEY].split(","))) if _PLACE_KEY in entries else None
    return Truncates(applied, ignored, settled, place)


def is_mark() -> Expression:
    """Mark the decoded events that belong to no row."""
    return F.coalesce(F.col(f"row.{OPERATION}").isin(TRUNCATE, SETTLED), F.lit(False))


def newest_of(operation: str) -> Expression:
    """Return the newest position, and place in the topic, of an operation's events that fit, for aggregation."""
    wanted = (F.col(f"row.{OPERATION}") == operation) & F.col("reason").isNull()
    return F.max(F.when(wanted, F.struct(F.col(f"row.{LSN}").cast("decimal(38)").alias("at"), OFFSET, SENT_MS)))


def _newest(*positions: int | None) -> int | None:
    return max((position for position in positions if position is not None), default=None)
