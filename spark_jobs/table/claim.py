"""One job per table: each claims it before it writes, and a second one is refused.

A claim is a small object next to the table, `_claims/<table>/<number>.json`. The highest number holds; numbers are only
taken by create-if-absent, so two jobs never get the same one. The holder renews its claim; a job that finds one not
renewed for a lease takes the next number. On the holder's own machine there is no wait: the holder also keeps a file
locked there, and the kernel unlocks it when it dies.
"""

import contextlib
import fcntl
import json
import os
import platform
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from spark_jobs.errors import ConcurrentWriterError, Log, first_line
from spark_jobs.table.claim_store import ClaimStore

LEASE_SECONDS = 60.0
# A job that was just killed may still be ending.
_GRACE_SECONDS = 10.0
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Claim:
    """The right to write a table: taken once, renewed in its own thread, checked before each write."""

    def __init__(
        self,
        store: ClaimStore,
        table: str,
        *,
        log: Log,
        stop: threading.Event | None = None,
        lease_seconds: float = LEASE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._table = table
        self._log = log
        self._stop = stop or threading.Event()
        self._lease = lease_seconds
        self._clock = clock
        self._number = 0
        self._beats = 0
        self._renewed = 0.0
        self._failing = False
        self._ended = threading.Event()
        self._lock: IO[str] | None = None
        self._thread: threading.Thread | None = None
        self._id = uuid.uuid4().hex

    def acquire(self) -> None:
        """Take the claim if it isn't held already.

        Raises ConcurrentWriterError when a live job holds it; waits up to a lease to find out. Raises InterruptedError
        when the job is told to stop meanwhile.
        """
        if self._number:
            self.check()
            return
        self._lock = self._lock or _locked_file(self._id)
        while not self._take():
            if self._stop.is_set():
                raise InterruptedError(f"told to stop while waiting for the claim on {self._table}")
        self._thread = threading.Thread(target=self._keep, name="claim", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raise ConcurrentWriterError when another job has taken the claim; queries only when a renewal is late."""
        if self._number and self._clock() - self._renewed > self._lease / 2:
            self._renew()

    def release(self) -> None:
        """Let the next job continue immediately."""
        self._ended.set()
        if self._thread:
            self._thread.join(self._lease)
        if self._number:
            # Errors here don't matter: the next job detects by itself that this one is gone.
            with contextlib.suppress(Exception):
                if self._highest() == self._number:
                    self._store.write(_name(self._number), self._text(released=True))
            self._number = 0
        if self._lock:
            Path(self._lock.name).unlink(missing_ok=True)
            self._lock.close()
            self._lock = None

    def _take(self) -> bool:
        """Try the number after the highest, once that one's job is known to be gone; False to try again."""
        numbers = self._numbers()
        newest = max(numbers, default=0)
        if newest and not self._is_free(newest):
            return False
        self._beats, started = 0, self._clock()
        if not self._store.create(_name(newest + 1), self._text()):
            return False
        if self._highest() != newest + 1:
            # This job was frozen here: others have held the number before, and released it.
            self._store.delete(_name(newest + 1))
            return False
        self._number, self._renewed = newest + 1, started
        for number in numbers:
            self._store.delete(_name(number))
        return True

    def _numbers(self) -> list[int]:
        return [int(name.partition(".")[0]) for name in self._store.names()]

    def _highest(self) -> int:
        return max(self._numbers(), default=0)

    def _is_free(self, number: int) -> bool:
        """Wait until it is clear whether a claim's job is gone; False when the number no longer exists.

        Raises ConcurrentWriterError when the job lives.
        """
        first = text = self._store.read(_name(number))
        since, told = self._clock(), False
        while text is not None:
            held, waited = _parsed(text), self._clock() - since
            is_here = held.get("machine") == _machine() and Path(str(held.get("lock"))).exists()
            if held.get("released") or (is_here and _is_unlocked(str(held["lock"]))):
                return True
            if waited > _GRACE_SECONDS if is_here else text != first:
                raise ConcurrentWriterError(
                    f"{self._table} is being written by another job ({held.get('job')}): run one job per table; "
                    "when that one has ended this one can be started"
                )
            if waited > self._lease:
                self._log(f"{self._table}: the job before ({held.get('job')}) is gone, its claim is taken over")
                return True
            if not told:
                self._log(f"{self._table}: waiting to see whether the job before ({held.get('job')}) still lives")
                told = True
            if self._stop.wait(self._lease / 60):
                return False
            text = self._store.read(_name(number))
        return False

    def _keep(self) -> None:
        while not self._ended.wait(self._lease / 3):
            try:
                self._renew()
            except ConcurrentWriterError:
                return  # the next check reports it
            except Exception as error:  # noqa: BLE001  (S3, HDFS and Hadoop each raise their own)
                if not self._failing:
                    self._log(f"{self._table}: the claim can't be renewed: {first_line(error)}")
                self._failing = True

    def _renew(self) -> None:
        started = self._clock()
        # The highest, not the next one: the next job may have ended, and another one may hold the claim now.
        if self._highest() != self._number:
            self._renewed = float("-inf")
            raise ConcurrentWriterError(f"{self._table}: another job has taken over; run one job per table")
        self._beats += 1
        self._store.write(_name(self._number), self._text())
        self._renewed, self._failing = started, False

    def _text(self, *, released: bool = False) -> str:
        entry: dict[str, Any] = {
            "id": self._id,
            "job": f"process {os.getpid()} on {platform.node()}",
            "machine": _machine(),
            "lock": self._lock.name if self._lock else None,
            "beats": self._beats,
            "released": released,
        }
        return json.dumps(entry) + "\n"


def _name(number: int) -> str:
    return f"{number:012d}.json"


def _parsed(text: str | None) -> dict[str, Any]:
    """Return a claim's entries; none for an incomplete one (on a local disk a crash can leave half of it)."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _machine() -> str:
    boot = _BOOT_ID.read_text().strip() if _BOOT_ID.exists() else ""
    return f"{platform.node()} {boot}".strip()


def _locked_file(name: str) -> IO[str]:
    file = (Path(tempfile.gettempdir()) / f"streamer-{name}.lock").open("w")
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return file


def _is_unlocked(path: str) -> bool:
    """Check whether a lock file of this machine is unlocked; one that can't be opened may be locked."""
    try:
        with Path(path).open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    with contextlib.suppress(OSError):
        Path(path).unlink()
    return True
