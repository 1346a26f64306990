"""Waits for data, and raises at once when it can't come."""

import time
from collections.abc import Callable, Sequence

import psycopg2
from botocore.exceptions import BotoCoreError, ClientError
from confluent_kafka import KafkaException

from db.source.replication import COMMAND
from local.errors import LostChangesError, PlatformError
from local.services.connect_api import RequestError
from local.services.processes import Processes

DATA_TIMEOUT_S = 600
POLL_S = 0.2
LOOK_S = 2


class Waiting:
    """Waits on one platform.

    `needs`: services that must run for every wait. `lost_changes` returns in one line why data is lost for good, or
    None; `failure` why a connector has failed. `set_aside` lets a connector that fails at one table continue without
    it, and tells whether it does.
    """

    def __init__(
        self,
        processes: Processes,
        needs: Sequence[str],
        *,
        lost_changes: Callable[[], str | None],
        failure: Callable[[str], str | None],
        set_aside: Callable[[str], bool],
    ) -> None:
        self._processes = processes
        self._needs = needs
        self._lost_changes = lost_changes
        self._failure = failure
        self._set_aside = set_aside

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
            if time.monotonic() - looked > LOOK_S or self._processes.main(service) is None:
                looked = time.monotonic()
                self.check_nothing_is_lost()
            for name in (*self._needs, service):
                self._processes.check_alive(name)
            if connector is not None and (reason := self._failure(connector)) is not None:
                self._go_on_or_raise(connector, reason)
            if time.monotonic() - started > DATA_TIMEOUT_S:
                left = f" ({names})" if (names := missing()) else ""
                raise PlatformError(
                    f"{what}: not all data came within {DATA_TIMEOUT_S} s{left}: see {self._processes.logs}"
                )
            self._processes.pause(POLL_S)

    def _go_on_or_raise(self, connector: str, reason: str) -> None:
        self.check_nothing_is_lost()
        if self._set_aside(connector):
            return
        if COMMAND in reason:
            raise LostChangesError(f"connector {connector} has failed: {reason}")
        raise PlatformError(f"connector {connector} has failed: {reason} ({self._processes.log_file('connect')})")

    def check_nothing_is_lost(self) -> None:
        """Raise LostChangesError when the awaited data can't come. A service that is down is ignored."""
        try:
            problem = self._lost_changes()
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
