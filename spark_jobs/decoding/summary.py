"""Counts everything a batch needs to know about its decoded events in one pass."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from contract.events import LSN, OPERATION, SETTLED, SOURCE_TIME_MS, TRUNCATE
from spark_jobs.ordering import memory
from spark_jobs.ordering.changes import is_snapshot_row
from spark_jobs.ordering.memory import TopicPlace, rank

_COUNTED = ("origin", "block", "number", "blank", "reason", "deleted", "unknown", "placeholders")


@dataclass(frozen=True)
class Summary:
    """A batch in numbers: events (lines), misfits, deletes; `newest_ms` is their newest source time.

    `snapshot_rows`: those of a snapshot that fit. `lowest`: the lowest ordering value, as text, of those that fit;
    `unknown`: the sets of new fields that they have. `marks`: events that belong to no row; `truncated` and `settled`:
    the newest positions of both kinds (memory.py), None for none; `truncate_place`: where the newest TRUNCATE is in
    its topic. `shifts`: per origin and block of a file, a line's number in the file less its number in the block.
    """

    events: int
    bad: int
    deletes: int
    snapshot_rows: int
    marks: int
    truncated: int | None
    truncate_place: TopicPlace | None
    settled: int | None
    newest_ms: int | None
    lowest: str | None
    unknown: frozenset[tuple[str, ...]]
    placeholders: tuple[str, ...]
    lines_of_origin: Mapping[str, int]
    shifts: Mapping[str, Mapping[int, int]]


def summarise(
    events: DataFrame, *, ordering: str, has_source_time: bool, has_snapshot_rows: bool, has_marks: bool
) -> Summary:
    """Count decoded events, per origin and block of a file."""
    snapshot_row = is_snapshot_row() if has_snapshot_rows else F.lit(False)
    mark = memory.is_mark() if has_marks else F.lit(False)
    newest = memory.newest_of if has_marks else lambda _operation: F.lit(None)
    source_time = F.max(f"row.{SOURCE_TIME_MS}") if has_source_time else F.lit(None)
    of_row = [ordering, *([SOURCE_TIME_MS] if has_source_time else [])]
    of_row += ([OPERATION] if has_snapshot_rows or has_marks else []) + ([LSN] if has_marks else [])
    # Without the row's other columns, each of which would be planned, too.
    row = F.struct(*(F.col(f"row.{name}") for name in dict.fromkeys(of_row))).alias("row")
    narrow = events.select(*_COUNTED, *(["tie"] if has_marks else []), row)
    counted = narrow.groupBy("origin", "block").agg(
        F.count_if(~F.col("blank")).alias("events"),
        F.count("reason").alias("bad"),
        F.count_if(F.col("deleted") & F.col("reason").isNull()).alias("deletes"),
        F.count_if(snapshot_row & F.col("reason").isNull() & ~F.col("blank")).alias("snapshot_rows"),
        F.count_if(mark & F.col("reason").isNull()).alias("marks"),
        newest(TRUNCATE).alias("truncated"),
        newest(SETTLED).alias("settled"),
        F.min("number").alias("first"),
        F.max("number").alias("last"),
        source_time.alias("newest_ms"),
        F.min(F.when(F.col("reason").isNull() & ~mark, F.col(f"row.{ordering}"))).cast("string").alias("lowest"),
        F.collect_set(F.when(F.size("unknown") > 0, F.col("unknown"))).alias("unknown"),
        F.array_distinct(F.flatten(F.collect_set(F.when(F.size("placeholders") > 0, F.col("placeholders"))))).alias(
            "placeholders"
        ),
    )
    return _total(counted.collect())


def _total(rows: list[Row]) -> Summary:
    lines: dict[str, int] = {}
    shifts: dict[str, dict[int, int]] = {}
    spans: dict[str, int] = {}
    for row in sorted(rows, key=lambda row: (row["origin"], row["block"])):
        origin = row["origin"]
        lines[origin] = lines.get(origin, 0) + row["events"]
        shifts.setdefault(origin, {})[row["block"]] = spans.get(origin, 0) - row["first"] + 1
        spans[origin] = spans.get(origin, 0) + row["last"] - row["first"] + 1
    times = [row["newest_ms"] for row in rows if row["newest_ms"] is not None]
    truncate = _newest(row["truncated"] for row in rows)
    settled = _newest(row["settled"] for row in rows)
    place = (truncate["offset"], truncate["sent_ms"]) if truncate else (None, None)
    return Summary(
        **{name: sum(row[name] for row in rows) for name in ("events", "bad", "deletes", "snapshot_rows", "marks")},
        truncated=int(truncate["at"]) if truncate else None,
        truncate_place=None if None in place else TopicPlace(*place),
        settled=int(settled["at"]) if settled else None,
        newest_ms=max(times, default=None),
        lowest=min((row["lowest"] for row in rows if row["lowest"] is not None), key=rank, default=None),
        unknown=frozenset(tuple(names) for row in rows for names in row["unknown"]),
        placeholders=tuple(sorted({name for row in rows for name in row["placeholders"]})),
        lines_of_origin=lines,
        shifts=shifts,
    )


def _newest(found: Iterable[Row | None]) -> Row | None:
    return max((row for row in found if row is not None), key=lambda row: int(row["at"]), default=None)


NOTHING = _total([])
