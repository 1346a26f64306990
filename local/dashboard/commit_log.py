"""The job's commits over time, from its log: it outlives the page and the job. Only new lines are read."""

import contextlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from local.state.history import instant_time

# Commits kept, and bytes read of a log at first.
KEPT = 5_000
FIRST_BYTES = 16 * 1024 * 1024
# Points of a chart.
POINTS = 240
_COMMIT = re.compile(
    r"^commit=(\d{17}) .*upserts=(\d+) deletes=(\d+) .*seconds=([\d.]+) lag_seconds=([\d.]+|-)", re.MULTILINE
)
Point = tuple[int, float]


@dataclass(frozen=True, kw_only=True)
class Logged:
    """A commit: when it ended, in seconds since 1970, its rows, and the age of its newest change by then."""

    at: float
    rows: int
    lag_s: float | None


class CommitLog:
    """Follows a log and the former one, `<name>.1`, which a new start leaves behind."""

    def __init__(self, log: Path) -> None:
        self._logs = log.with_name(f"{log.name}.1"), log
        self._positions: dict[int, int] = {}
        self.commits: tuple[Logged, ...] = ()

    def read(self) -> bool:
        """Read the new whole lines; tell whether there are new commits."""
        positions, self._positions, found = self._positions, {}, list[Logged]()
        for path in self._logs:
            with contextlib.suppress(OSError), path.open("rb") as log:
                found += self._read(log.fileno(), positions)
        if positions and not positions.keys() & self._positions.keys():
            self.commits = ()  # the folder holds another platform
        if found:
            self.commits = (*self.commits, *found)[-KEPT:]
        return bool(found)

    def _read(self, log: int, positions: dict[int, int]) -> list[Logged]:
        file = os.fstat(log)
        position = positions.get(file.st_ino, max(0, file.st_size - FIRST_BYTES))
        position = position if position <= file.st_size else 0
        new = os.pread(log, file.st_size - position, position)
        whole = new[: new.rfind(b"\n") + 1]
        self._positions[file.st_ino] = position + len(whole)
        return parse(whole.decode(errors="replace"))


def parse(lines: str) -> list[Logged]:
    """Return the commits of a log's lines (spark_jobs/runtime/metrics.py); the other lines are none."""
    return [
        Logged(
            at=instant_time(instant) + float(seconds),
            rows=int(upserts) + int(deletes),
            lag_s=None if lag == "-" else float(lag),
        )
        for instant, upserts, deletes, seconds, lag in _COMMIT.findall(lines)
    ]


def over_time(commits: Sequence[Logged]) -> tuple[list[Point], list[Point]]:
    """Return the greatest age and the rows per second of POINTS equal spans at most, up to the newest commit.

    A point's time is its span's beginning in milliseconds since 1970; spans without an age have no such point.
    """
    begin, end = (int(choose((one.at for one in commits), default=0)) for choose in (min, max))
    seconds = (end - begin) // POINTS + 1
    ages: dict[int, float] = {}
    counts = dict.fromkeys(range(begin, end + 1, seconds), 0) if commits else {}
    for one in commits:
        at = begin + (int(one.at) - begin) // seconds * seconds
        counts[at] += one.rows
        if one.lag_s is not None:
            ages[at] = max(one.lag_s, ages.get(at, 0.0))
    rates = ((at, round(rows / seconds, 3)) for at, rows in counts.items())
    return [(at * 1000, age) for at, age in sorted(ages.items())], [(at * 1000, rate) for at, rate in rates]
