"""The states that the streaming job reports for its tables; a job of one table reports none."""

import threading
from dataclasses import dataclass

from contract.table_states import FAILING, parse
from local.services.processes import Processes

JOB = "job"
_BEGINNING = b"table="


@dataclass(frozen=True, kw_only=True)
class TableState:
    """A table's last state. `reason`: why its last attempt ended, while it fails; the job keeps retrying."""

    state: str
    reason: str | None = None

    @property
    def fails(self) -> bool:
        return self.state == FAILING


class TableStates:
    """Follows the running job's log from its start; reads only new lines."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._job: tuple[int, int] | None = None
        self._position = 0
        self._states: dict[str, TableState] = {}
        self._reading = threading.Lock()

    def read(self) -> dict[str, TableState]:
        """Return the tables' states, by `database.table`; none without a job."""
        with self._reading:
            return self._read()

    def _read(self) -> dict[str, TableState]:
        main, start = self._processes.main(JOB), self._processes.log_start(JOB)
        job = None if main is None or start is None else (main.pid, start)
        if job != self._job:
            # A new run: states from the previous one no longer count.
            self._job, self._position, self._states = job, start or 0, {}
        if job is not None:
            self._read_on()
        return dict(self._states)

    def _read_on(self) -> None:
        try:
            with self._processes.log_file(JOB).open("rb") as log:
                log.seek(self._position)
                for line in log:
                    if not line.endswith(b"\n"):
                        break  # an incomplete line: the next call reads it
                    self._position += len(line)
                    if line.startswith(_BEGINNING):
                        self._note(line.decode(errors="replace").rstrip())
        except FileNotFoundError:
            return

    def _note(self, line: str) -> None:
        if (found := parse(line)) is None:
            return
        table, state, reason = found
        before = self._states.get(table)
        if state == FAILING and reason is None and before is not None:
            # The next attempt: until it ends, the previous one's reason stays.
            reason = before.reason
        self._states[table] = TableState(state=state, reason=reason)
