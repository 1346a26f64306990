"""Tables that are awaited in the lake."""

import time
from collections.abc import Callable, Mapping, Sequence

from local.errors import FailingTablesError
from local.platform.job import TableState
from local.platform.services import LocalTable

# Some failures end without help, such as the claim of a killed job.
PATIENCE_S = 20.0


class AwaitedTables:
    """Tables that aren't in the lake yet. `absent` filters those; `states` returns what the job reports of each."""

    def __init__(
        self,
        tables: Sequence[LocalTable],
        *,
        absent: Callable[[Sequence[LocalTable]], Sequence[LocalTable]],
        states: Callable[[], Mapping[str, TableState]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._count = len(tables)
        self._left = tuple(tables)
        self._absent = absent
        self._states = states
        self._clock = clock
        self._alone_since: float | None = None

    def arrived(self) -> bool:
        """Tell whether all have arrived.

        Raises FailingTablesError, with a line per table, once only failing tables have been left for PATIENCE_S.
        """
        self._left = tuple(self._absent(self._left))
        if not self._left:
            return True
        reasons = self._reasons()
        if len(reasons) < len(self._left):
            self._alone_since = None
            return False
        now = self._clock()
        self._alone_since = now if self._alone_since is None else self._alone_since
        if now - self._alone_since >= PATIENCE_S:
            raise FailingTablesError(
                f"{len(reasons)} of {self._count} tables aren't in the lake: the job fails at them, and tries again"
                " within 5 minutes\n"
                + "\n".join(f"    table {name} fails: {reason}" for name, reason in reasons.items())
            )
        return False

    def missing(self) -> str:
        return ", ".join(table.name for table in self._left)

    def _reasons(self) -> dict[str, str]:
        states = self._states()
        found = ((table.name, states.get(table.job_name)) for table in self._left)
        return {name: state.reason or "" for name, state in found if state and state.fails}
