"""How the streaming job says that its tables are doing; a job of one table says nothing of it."""

import threading
from dataclasses import dataclass

from contract.table_states import FAILING, parse
from local.services.processes import Processes

JOB = "job"
_BEGINNING = b"table="


@dataclass(frozen=True, kw_only=True)
class TableState:
    """A table's last state. `reason`: why its last attempt ended, while it fails; the job makes another one."""

    state: str
    reason: str | None = None

    @property
    def fails(self) -> bool:
        return self.state == FAILING


class TableStates:
    """Follows what the running job has said in its log since its start; reads only what is new."""

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
            # Another run: what the one before said counts no more.
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
                        break  # half of a line: it is read the next time
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
            # The next attempt: until it succeeds or ends, too, the one before says why.
            reason = before.reason
        self._states[table] = TableState(state=state, reason=reason)
