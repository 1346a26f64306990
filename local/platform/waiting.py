"""Waits for data, and raises at once when it can't come."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import psycopg2
from botocore.exceptions import BotoCoreError, ClientError
from confluent_kafka import KafkaException

from db.source.replication import COMMAND
from local.errors import FailingTablesError, LostChangesError, PlatformError
from local.platform.job import TableState
from local.platform.services import LocalTable
from local.services.connect_api import RequestError
from local.services.processes import Processes

DATA_TIMEOUT_S = 600
POLL_S = 0.2
LOOK_S = 2
# Some failures end without help, such as the claim of a killed job.
PATIENCE_S = 10.0


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """Waits on one platform.

    `needs`: services that must run for every wait. `lost_changes` returns in one line why data is lost for good, or
    None; `failure` why a connector has failed. `set_aside` lets a connector that fails at one table continue without
    it, and tells whether it does.
    """

    processes: Processes
    needs: Sequence[str]
    lost_changes: Callable[[], str | None]
    failure: Callable[[str], str | None]
    set_aside: Callable[[str], bool]

    def wait(
        self,
        what: str,
        reached: Callable[[], bool],
        *,
        service: str = "connect",
        connector: str | None = None,
        missing: Callable[[], str] = lambda: "",
    ) -> None:
        """Wait for data that a service or its connector brings; `missing` names what is left of it.

        Ends at once, with the reason, when the service is dead or the connector has failed. Raises PlatformError, and
        LostChangesError when changes were lost.
        """
        started = looked = time.monotonic()
        while not _is(reached):
            if time.monotonic() - looked > LOOK_S or self.processes.main(service) is None:
                looked = time.monotonic()
                self.check_nothing_is_lost()
            for name in (*self.needs, service):
                self.processes.check_alive(name)
            if connector is not None and (reason := self.failure(connector)) is not None:
                self._go_on_or_raise(connector, reason)
            if time.monotonic() - started > DATA_TIMEOUT_S:
                left = f" ({names})" if (names := missing()) else ""
                raise PlatformError(
                    f"{what}: not all data came within {DATA_TIMEOUT_S} s{left}: see {self.processes.logs}"
                )
            self.processes.pause(POLL_S)

    def _go_on_or_raise(self, connector: str, reason: str) -> None:
        self.check_nothing_is_lost()
        if self.set_aside(connector):
            return
        if COMMAND in reason:
            raise LostChangesError(f"connector {connector} has failed: {reason}")
        raise PlatformError(f"connector {connector} has failed: {reason} ({self.processes.log_file('connect')})")

    def check_nothing_is_lost(self) -> None:
        """Raise LostChangesError when the awaited data can't come. A service that is down is ignored."""
        try:
            problem = self.lost_changes()
        except (KafkaException, TimeoutError, RequestError, psycopg2.Error, BotoCoreError, ClientError):
            return
        if problem:
            raise LostChangesError(problem)


def _is(reached: Callable[[], bool]) -> bool:
    """Ask; a broker that has just been restarted may not know its partitions' leaders yet."""
    try:
        return reached()
    except (KafkaException, TimeoutError):
        return False


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
        """Return the failing tables' reasons; a running attempt has none."""
        states = self._states()
        found = ((table.name, states.get(table.job_name)) for table in self._left)
        return {name: state.reason for name, state in found if state and state.fails and state.reason}
