"""The job's commits over time, from its log: it outlives the page and the job. Only new lines are read."""

import os
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from local.state.history import instant_time

# Commits kept, and bytes read of a log at first.
KEPT = 5_000
FIRST_BYTES = 16 * 1024 * 1024
# Points of a chart.
POINTS = 240
_BEGINNING = "commit="
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
        self._commits: deque[Logged] = deque(maxlen=KEPT)
        self.commits: tuple[Logged, ...] = ()

    def read(self) -> bool:
        """Read the new whole lines; tell whether there are new commits."""
        positions, found = self._positions, list[Logged]()
        self._positions = {}
        for path in self._logs:
            try:
                with path.open("rb") as log:
                    found += self._read(log.fileno(), positions)
            except OSError:
                continue
        if positions and not positions.keys() & self._positions.keys():
            self._commits.clear()  # the folder holds another platform
        if found:
            self._commits.extend(found)
            self.commits = tuple(self._commits)
        return bool(found)

    def _read(self, log: int, positions: dict[int, int]) -> list[Logged]:
        file = os.fstat(log)
        position = positions.get(file.st_ino, max(0, file.st_size - FIRST_BYTES))
        position = position if position <= file.st_size else 0
        new = os.pread(log, file.st_size - position, position)
        whole = new[: new.rfind(b"\n") + 1]
        self._positions[file.st_ino] = position + len(whole)
        return [one for line in whole.decode(errors="replace").splitlines() if (one := parse(line)) is not None]


def parse(line: str) -> Logged | None:
    """Return the commit of a line (spark_jobs/runtime/metrics.py); None for any other line."""
    if not line.startswith(_BEGINNING):
        return None
    found = dict(entry.partition("=")[::2] for entry in line.split())
    try:
        return Logged(
            at=instant_time(found["commit"]) + float(found["seconds"]),
            rows=int(found["upserts"]) + int(found["deletes"]),
            lag_s=None if found["lag_seconds"] == "-" else float(found["lag_seconds"]),
        )
    except (LookupError, ValueError):
        return None


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
