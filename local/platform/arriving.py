"""Tables on their way to the lake, while `up` waits for their first rows."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from local.errors import PlatformError
from local.look.json_lines import read_to
from local.look.lake import LakeError
from local.platform.job import TableState, loading
from local.platform.services import LocalTable
from local.problem import failing
from spark_jobs.options.keys import PROGRESS

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

# How long only failing tables are waited for: some failures end without help, such as the claim of a killed job.
PATIENCE_S = 20.0
# How long is waited for what moves; and how lately it has to have moved.
ENOUGH_S, MOVES_S = 540.0, 60.0
GOES_ON = "the load goes on: `./lake status` shows it"
# Pause between two looks at a table that is there in part.
LOOK_S = 1.0


class Arriving:
    """Waits for new tables: those with events come with many commits, others whole. Others only have to exist."""

    def __init__(self, tables: Sequence[LocalTable], ends: Mapping[str, int], s3: "S3Client") -> None:
        """`ends`: offsets behind the last landed events, by topic; none for a pipeline without topics."""
        self.left = list(tables)
        self._tables = {table.name: table for table in tables}
        self._ends = {
            table.name: ends[table.topic.name] for table in tables if ends and table.entry.first_load == "connector"
        }
        self._new = {table.name for table in tables if not table.lake.exists()}
        self._s3 = s3
        # How far each is, and when to look again.
        self._reached: dict[str, int] = {}
        self._next: dict[str, float] = {}
        self._progress = ""
        self._began = self._moved = time.monotonic()
        self._failing_since: float | None = None

    def is_over(self, known: Collection[str], states: Mapping[str, TableState], say: Callable[[str], None]) -> bool:
        """Tell whether all have come, or move and were waited for long enough; `say` is told the progress.

        `known`: the catalog's tables. Raises PlatformError when only failing tables are left.
        """
        now = time.monotonic()
        self.left = [table for table in self.left if table.lake_name not in known or not self._is_there(table)]
        found = [(table.name, states.get(table.job_name)) for table in self.left]
        lines = loading(found)
        said = [_events(self._reached, self._of_new)] if any(map(self._reached.get, self._of_new)) else []
        said += lines[:1] + ([f"and {len(lines) - 1} more"] if len(lines) > 1 else [])
        if (progress := ", ".join(said)) != self._progress:
            self._progress, self._moved = progress, now
            say(progress)
        fails = [f"    {failing(name, state.detail or '')}" for name, state in found if state and state.fails]
        if not self.left or len(fails) < len(self.left):
            self._failing_since = None
            moves = bool(progress) and now - self._moved < MOVES_S
            return not self.left or (moves and now - self._began >= ENOUGH_S)
        self._failing_since = now if self._failing_since is None else self._failing_since
        if now - self._failing_since >= PATIENCE_S:
            what = "tables aren't in the lake: the job fails at them, and tries again within 5 minutes"
            raise PlatformError("\n".join([f"{len(self.left)} of {len(self._tables)} {what}", *fails]))
        return False

    def note(self) -> str:
        """Say what isn't there yet; empty when all has come."""
        for name, end in self._ends.items():
            if self._reached.get(name, 0) < end:
                self._look(name)
        behind = any(self._reached[name] < end for name, end in self._ends.items())
        said = self._progress if self.left else _events(self._reached, self._ends) if behind else ""
        return f"{said}; {GOES_ON}" if said else ""

    @property
    def _of_new(self) -> dict[str, int]:
        return {name: end for name, end in self._ends.items() if name in self._new}

    def _is_there(self, table: LocalTable) -> bool:
        if table.name not in self._of_new:
            return table.lake.exists()
        if time.monotonic() >= self._next.get(table.name, 0):
            self._look(table.name)
        return self._reached[table.name] >= self._ends[table.name]

    def _look(self, name: str) -> None:
        table, end, reached = self._tables[name], self._ends[name], 0
        try:
            instant, extra = table.lake.newest_of_job()
        except LakeError:
            instant, extra = "", {}
        if instant:
            reached = read_to(self._s3, table.landing_prefix, extra.get(PROGRESS), end)
            self._next[name] = time.monotonic() + LOOK_S
        self._reached[name] = min(reached, end)


def _events(reached: Mapping[str, int], ends: Mapping[str, int]) -> str:
    return f"{sum(reached.get(name, 0) for name in ends):,} of {sum(ends.values()):,} events"
