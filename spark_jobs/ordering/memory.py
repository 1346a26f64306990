"""What a table's commits remember of deletes and TRUNCATEs, and the places that tell a repeated event from a new one.

Hudi compares an event's ordering value with the stored row's. After a hard delete there is no row to compare with, and
a late or repeated event (Debezium repeats some after a crash) would insert the row again. So commits remember deleted
keys. A TRUNCATE locks its table exclusively, so its position in the log is in order with the changes of every key
(docs/decisions/0021). Applied, it deletes every row that isn't newer, and one position stands for all of its deletes.

An event of a file counts as the file's last one: a batch takes files whole, so anything newer than a batch is in a
later file. The time is the record's, by the clock of the connector that sent it. A recreated topic counts offsets from
0 again, but its records are later.
"""

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from contract.events import LSN, OPERATION, SETTLED, TRUNCATE
from spark_jobs.options.keys import IGNORED_TRUNCATE, PROGRESS_PREFIX, TRUNCATE_APPLY

# In a batch's `tie`: offset, send time of the record (ms), and whether its file is below those read before.
OFFSET, SENT_MS, LATE = "tie.offset", "tie.sent_ms", "tie.late"


class TopicPlace(NamedTuple):
    """An offset, and the record's send time in ms."""

    offset: int
    sent_ms: int


def is_before(offset: Expression, sent_ms: Expression) -> Expression:
    """Check whether an event is before a place; False if its source doesn't say.

    A file's events have one offset, its last one's. Within a file the batch has their order.
    """
    return F.coalesce((F.col(OFFSET) < offset) & (F.col(SENT_MS) <= sent_ms), F.lit(False))


_COLUMNS = ("deleted_at", "delete_offset", "delete_sent_ms")


class Delete(NamedTuple):
    """A delete: its ordering value, as text, and its place in the topic, None if unknown."""

    at: str
    place: TopicPlace | None = None


def encode(register: Mapping[str, Delete]) -> str:
    """Return a register (key -> its delete) as compressed ASCII text; `decode` reverses it."""
    entries = {key: [at, *place] if place else at for key, (at, place) in register.items()}
    text = json.dumps(entries, separators=(",", ":"), ensure_ascii=False)
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode("ascii")


def decode(text: str | None) -> dict[str, Delete]:
    """Return the register of an encoded text; empty for None. Earlier jobs stored no places."""
    if not text:
        return {}
    entries: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(text)))
    return {
        key: Delete(entry) if isinstance(entry, str) else Delete(entry[0], TopicPlace(*entry[1:]))
        for key, entry in entries.items()
    }


def merge(
    register: Mapping[str, Delete], deletes: Mapping[str, Delete], *, limit: int
) -> tuple[dict[str, Delete], int]:
    """Add new deletes, the higher ordering value winning, and keep the `limit` highest.

    Returns the register and how many keys had to be dropped. Numbers are compared as numbers, other values as text.
    """
    merged = dict(register)
    for key, delete in deletes.items():
        if key not in merged or rank(delete.at) > rank(merged[key].at):
            merged[key] = delete
    if len(merged) <= limit:
        return merged, 0
    newest = sorted(merged.items(), key=lambda item: rank(item[1].at), reverse=True)[:limit]
    return dict(newest), len(merged) - limit


def rank(ordering: str) -> tuple[Decimal, str]:
    """Return an ordering value's sort key: its number, or, behind all numbers, its text."""
    try:
        number = Decimal(ordering)
    except InvalidOperation:
        return (Decimal("-Infinity"), ordering)
    return (number, "") if number.is_finite() else (Decimal("-Infinity"), ordering)


def collected(deletes: DataFrame, count: int, *, limit: int) -> tuple[dict[str, Delete], int]:
    """Return the register of a commit's deletes, the `limit` highest, and how many others there are.

    `deletes`: the result of changes.deletes, at most `count` rows. One is kept anyway: it tells that there are some.
    """
    most, others = max(limit, 1), 0
    if count > most:
        others = max(deletes.count() - most, 0)
        number = F.col("deleted_at").cast("decimal(38, 9)")
        deletes = deletes.orderBy(F.desc(number), F.desc("deleted_at")).limit(most)
    found = {
        key: Delete(at, None if offset is None or sent_ms is None else TopicPlace(offset, sent_ms))
        for key, at, offset, sent_ms in deletes.collect()
    }
    return found, others


def as_frame(spark: SparkSession, register: Mapping[str, Delete]) -> DataFrame:
    """Return a register as a frame of event key and _COLUMNS, parsed by the JVM from one JSON text."""
    entries = {key: dict(zip(_COLUMNS, (at, *(place or ())), strict=False)) for key, (at, place) in register.items()}
    kind = "map<string,struct<deleted_at:string,delete_offset:bigint,delete_sent_ms:bigint>>"
    parsed = F.from_json(F.lit(json.dumps(entries, ensure_ascii=False)), kind)
    return spark.range(1).select(F.explode(parsed).alias("event key", "delete")).select("event key", "delete.*")


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
        """Return the state after a batch with these newest positions; `place` is the newest TRUNCATE's."""
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
