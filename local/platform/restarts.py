"""Restart policy: at once, then after growing pauses; and the record of restarts for `status`."""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from local.private_files import write_private

FIRST_PAUSE_S, LONGEST_PAUSE_S = 2.0, 60.0
# After running this long, a service counts as healthy: its next death is the first again.
STABLE_S = 300.0
LIMIT = 8


@dataclass(frozen=True, kw_only=True)
class Restarts:
    """The restarts of one service or connector.

    `total` since the supervisor began, `tries` since it was last healthy, `last_at` in seconds since 1970.
    """

    total: int
    tries: int
    last_at: float
    reason: str
    given_up: bool = False

    @property
    def pause_s(self) -> float:
        """Minimum seconds between the last try and the next."""
        return min(FIRST_PAUSE_S * 2.0 ** (self.tries - 1), LONGEST_PAUSE_S)

    def recent(self, now: float) -> int:
        """Count the tries since it last ran well."""
        return self.tries if self.given_up or now - self.last_at < STABLE_S else 0

    def describe(self, now: float) -> str:
        """Describe what the supervisor does about it."""
        last = datetime.fromtimestamp(self.last_at, UTC).strftime("%H:%M:%S UTC")
        times = "once" if self.tries == 1 else f"{self.tries} times"
        if self.given_up:
            return f"restarted {times}, last at {last}, then given up: `./lake up` tries again"
        wait_s = self.last_at + self.pause_s - now
        then = f", the next try in {wait_s:.0f} s" if wait_s > 0 else ""
        return f"restarted {times}, last at {last}{then}"


class Ledger:
    """Which services were restarted and when, kept in the file `path` for other processes to read."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._entries: dict[str, Restarts] = {}
        self._write()

    def due(self, name: str) -> bool:
        """Tell whether a dead service may be restarted now."""
        entry = self._entries.get(name)
        if entry is None:
            return True
        # Setting the clock back must not cause a pause of hours.
        return not entry.given_up and not 0 <= self._clock() - entry.last_at < entry.pause_s

    def begin(self, name: str, reason: str, *, limit: int | None = None) -> bool:
        """Count a restart. False once `limit` of them were in vain: it is given up."""
        now = self._clock()
        before = self._entries.get(name) or Restarts(total=0, tries=0, last_at=now, reason=reason)
        tries = before.recent(now)
        if limit is not None and tries >= limit:
            self._entries[name] = replace(before, given_up=True)
        else:
            self._entries[name] = Restarts(total=before.total + 1, tries=tries + 1, last_at=now, reason=reason)
        self._write()
        return not self._entries[name].given_up

    def forget(self, name: str) -> None:
        """Forget the failures of a service whose cause is gone."""
        self._entries.pop(name, None)
        self._write()

    def _write(self) -> None:
        entries = {name: asdict(entry) for name, entry in self._entries.items()}
        write_private(self._path, json.dumps(entries, indent=1) + "\n")


def read_restarts(path: Path) -> dict[str, Restarts]:
    """Return the supervisor's records; nothing when the file is missing or can't be read."""
    try:
        return {str(name): Restarts(**entry) for name, entry in json.loads(path.read_text()).items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
