"""The state that MSK Connect's operations share: resources by ARN, and their time."""

import itertools
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

ACCOUNT = "123456789012"


class RefusalError(Exception):
    """One of the service's errors."""

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(message or code)
        self.code = code


class State:
    """Resources by ARN, and the time of their next events.

    `list_lag` is how long lists omit new resources and show deleted ones, in seconds; `ticks_needed` how many ticks an
    operation takes, and `creation_ticks` how many more a connector's creation does.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.connectors: dict[str, dict[str, Any]] = {}
        self.plugins: dict[str, dict[str, Any]] = {}
        self.worker_configurations: dict[str, dict[str, Any]] = {}
        self.operations: dict[str, dict[str, Any]] = {}
        self.tags: dict[str, dict[str, str]] = {}
        self.list_lag = 0.0
        self.ticks_needed = 1
        self.creation_ticks = 0
        self._waited: dict[str, int] = {}
        self.born: dict[str, float] = {}
        self._gone: dict[str, tuple[float, dict[str, Any]]] = {}
        self._numbers = itertools.count(1)
        self._latest = 0.0

    def _is_due(self, arn: str) -> bool:
        self._waited[arn] = self._waited.get(arn, 0) + 1
        creating = self.connectors.get(arn, {}).get("connectorState") == "CREATING"
        if self._waited[arn] < (self.creation_ticks if creating else 0) + self.ticks_needed:
            return False
        del self._waited[arn]
        return True

    def _remove(self, kind: dict[str, dict[str, Any]], arn: str) -> None:
        self._gone[arn] = (self.clock(), kind.pop(arn))
        del self.tags[arn]

    def _listed(self, kind: dict[str, dict[str, Any]], what: str) -> list[dict[str, Any]]:
        """A list's contents: late, in both directions."""
        known_since = self.clock() - self.list_lag
        there = [each for arn, each in kind.items() if self.born.get(arn, 0.0) <= known_since]
        gone = [each for arn, (at, each) in self._gone.items() if f":{what}/" in arn and at > known_since]
        return there + gone

    def _get(self, kind: dict[str, Any], arn: str) -> Any:
        if arn not in kind:
            raise RefusalError("NotFoundException", "Stack not found.")
        return kind[arn]

    def _arn(self, kind: str, name: str) -> str:
        unique = f"00000000-0000-0000-0000-{next(self._numbers):012d}-4"
        arn = f"arn:aws:kafkaconnect:ap-southeast-2:{ACCOUNT}:{kind}/{name}/{unique}"
        self.born[arn] = self.clock()
        return arn

    def _now(self) -> str:
        """The time, different at each call."""
        self._latest = max(self.clock(), self._latest + 0.001)
        return datetime.fromtimestamp(self._latest, tz=UTC).isoformat()
