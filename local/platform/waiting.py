"""Waits for data, and ends with the reason at once when it can't come."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import psycopg2
from botocore.exceptions import BotoCoreError, ClientError
from confluent_kafka import KafkaException

from db.source.replication import COMMAND
from local.errors import LostChangesError, PlatformError
from local.services.connect_api import ConnectApi, RequestError
from local.services.processes import Processes

DATA_TIMEOUT_S = 600
POLL_S = 0.2
LOOK_S = 2


@dataclass(frozen=True, kw_only=True)
class Wait:
    """What is waited for: `reached` says that it is there, `what` names it, `missing` what of it is left."""

    reached: Callable[[], bool]
    what: str
    service: str = "connect"
    failing: str | None = None
    missing: Callable[[], str] = lambda: ""


class Waiting:
    """Waits on one platform; `lost_changes` says in one line why data is missing for good, None when none is."""

    def __init__(
        self,
        processes: Processes,
        api: ConnectApi,
        lost_changes: Callable[[], str | None],
        grace_s: Mapping[str, float],
        needs: Sequence[str] = ("kafka",),
        *,
        set_aside: Callable[[str], bool] = lambda _connector: False,
    ) -> None:
        """`needs`: the services that must run whatever is waited for.

        `set_aside` lets a connector that fails at one table go on without it, and tells whether it does.
        """
        self._processes = processes
        self._api = api
        self._lost_changes = lost_changes
        self._grace_s = grace_s
        self._needs = needs
        self._set_aside = set_aside

    def wait(self, wait: Wait) -> None:
        """Wait for data; a dead service or a failed connector ends it with the reason at once.

        Raises PlatformError, and LostChangesError when changes were lost.
        """
        started = looked = time.monotonic()
        while not _is(wait.reached):
            if time.monotonic() - looked > LOOK_S or self._processes.main(wait.service) is None:
                looked = time.monotonic()
                self.check_nothing_is_lost()
            for name in (*self._needs, wait.service):
                self._processes.check_alive(name)
            waited = time.monotonic() - started
            self._check_connector(wait.failing, waited)
            if waited > DATA_TIMEOUT_S:
                left = f" ({missing})" if (missing := wait.missing()) else ""
                raise PlatformError(
                    f"{wait.what}: not all data came within {DATA_TIMEOUT_S} s{left}: see {self._processes.logs}"
                )
            self._processes.pause(POLL_S)

    def _check_connector(self, name: str | None, waited: float) -> None:
        if name is None or waited <= self._grace_s.get(name, 0):
            return
        reason = self._api.failure(name)
        if reason is None:
            return
        self.check_nothing_is_lost()
        if self._set_aside(name):
            return
        if COMMAND in reason:
            raise LostChangesError(f"connector {name} has failed: {reason}")
        raise PlatformError(f"connector {name} has failed: {reason} ({self._processes.log_file('connect')})")

    def check_nothing_is_lost(self) -> None:
        """Raise LostChangesError when what is waited for can't come. A service that is away says nothing."""
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
