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
import re
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import IO, Any

from spark_jobs.errors import ConcurrentWriterError, Log, first_line
from spark_jobs.runtime import aws
from spark_jobs.runtime.hadoop import Hadoop, local_path

# By then a concurrent writer has finished; the last write wins.
_SETTLE_SECONDS = 3.0


# Each store is a folder of small texts, perhaps with other files. `create` returns False if the text exists: of several
# writers one gets True. `write` replaces an existing text, `read` returns None without one, `delete` needs none.


@dataclass(eq=False)
class LocalClaims:
    """Files of this machine's disk; each appears whole."""

    folder: Path

    def names(self) -> list[str]:
        return [path.name for path in self.folder.glob("*")]

    def create(self, name: str, text: str) -> bool:
        """Create a text as a link to a whole file, which fails if one exists."""
        part = self._part(text)
        try:
            os.link(part, self.folder / name)
        except FileExistsError:
            return False
        finally:
            part.unlink()
        return True

    def write(self, name: str, text: str) -> None:
        self._part(text).replace(self.folder / name)

    def read(self, name: str) -> str | None:
        try:
            return (self.folder / name).read_text()
        except FileNotFoundError:
            return None

    def delete(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)

    def _part(self, text: str) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        part = self.folder / f".{uuid.uuid4().hex}.part"
        part.write_text(text)
        return part


@dataclass(eq=False)
class S3Claims:
    """Objects below `bucket/prefix/`, by boto3's conditional writes."""

    client: Any
    bucket: str
    prefix: str

    def names(self) -> list[str]:
        found = self.client.list_objects_v2(Bucket=self.bucket, Prefix=self.prefix).get("Contents", [])
        return [entry["Key"].removeprefix(self.prefix) for entry in found]

    def create(self, name: str, text: str) -> bool:
        """Create a text with `If-None-Match: *`."""
        try:
            self.write(name, text, IfNoneMatch="*")
        except self.client.exceptions.ClientError as error:
            # 412: one is there, perhaps this one, whose first answer was lost. 409: another writer is at it.
            if error.response["ResponseMetadata"]["HTTPStatusCode"] not in (409, 412):
                raise
        return self.read(name) == text

    def write(self, name: str, text: str, **conditions: str) -> None:
        self.client.put_object(Bucket=self.bucket, Key=self.prefix + name, Body=text.encode(), **conditions)

    def read(self, name: str) -> str | None:
        try:
            body = self.client.get_object(Bucket=self.bucket, Key=self.prefix + name)["Body"]
        except self.client.exceptions.NoSuchKey:
            return None
        text: str = body.read().decode()
        return text

    def delete(self, name: str) -> None:
        self.client.delete_object(Bucket=self.bucket, Key=self.prefix + name)


@dataclass(eq=False)
class HadoopClaims:
    """Files of a file system that only Hadoop reaches. HDFS creates atomically; on an object store that doesn't, the
    last of two simultaneous writers wins.
    """

    hadoop: Hadoop
    folder: str
    _: KW_ONLY
    settle_seconds: float

    def names(self) -> list[str]:
        return list(self.hadoop.sizes_in(self.folder))

    def create(self, name: str, text: str) -> bool:
        if not self.hadoop.create_text(f"{self.folder}/{name}", text):
            return False
        time.sleep(self.settle_seconds)
        return self.read(name) == text

    def write(self, name: str, text: str) -> None:
        self.hadoop.write_text(f"{self.folder}/{name}", text)

    def read(self, name: str) -> str | None:
        path = f"{self.folder}/{name}"
        return self.hadoop.read_text(path) if self.hadoop.exists(path) else None

    def delete(self, name: str) -> None:
        self.hadoop.delete(f"{self.folder}/{name}")


ClaimStore = LocalClaims | S3Claims | HadoopClaims


def claim_store(folder: str, hadoop: Hadoop) -> ClaimStore:
    local = local_path(hadoop.qualified(folder))
    if local is not None:
        return LocalClaims(Path(local))
    scheme, _, rest = folder.partition("://")
    if scheme in ("s3", "s3a"):
        with contextlib.suppress(ModuleNotFoundError):
            bucket, _, prefix = rest.partition("/")
            return S3Claims(aws.client("s3", **hadoop.s3_client_arguments()), bucket, f"{prefix}/")
    return HadoopClaims(hadoop, folder, settle_seconds=0 if scheme == "hdfs" else _SETTLE_SECONDS)


LEASE_SECONDS = 60.0
# A job that was just killed may still be ending.
_GRACE_SECONDS = 10.0
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(eq=False)
class Claim:
    """The right to write a table: taken once, renewed in its own thread, checked before each write."""

    store: ClaimStore
    table: str
    _: KW_ONLY
    log: Log
    stop: threading.Event = field(default_factory=threading.Event)
    clock: Callable[[], float] = time.monotonic
    _number: int = field(default=0, init=False)
    _beats: int = field(default=0, init=False)
    _renewed: float = field(default=0.0, init=False)
    _failing: bool = field(default=False, init=False)
    _ended: threading.Event = field(default_factory=threading.Event, init=False)
    _lock: IO[str] | None = field(default=None, init=False)
    _thread: threading.Thread | None = field(default=None, init=False)
    _id: str = field(default_factory=lambda: uuid.uuid4().hex, init=False)

    def acquire(self) -> None:
        """Take the claim if it isn't held already.

        Raises ConcurrentWriterError when a live job holds it; waits up to a lease to find out. Raises InterruptedError
        when the job is told to stop meanwhile.
        """
        if self._number:
            self.check()
            return
        if self._lock is None:
            self._lock = (Path(tempfile.gettempdir()) / f"streamer-{self._id}.lock").open("w")
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        while not self._take():
            if self.stop.is_set():
                raise InterruptedError(f"told to stop while waiting for the claim on {self.table}")
        self._thread = threading.Thread(target=self._keep, name="claim", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raise ConcurrentWriterError when another job has taken the claim; queries only when a renewal is late."""
        if self._number and self.clock() - self._renewed > LEASE_SECONDS / 2:
            self._renew()

    def release(self) -> None:
        """Let the next job continue immediately."""
        self._ended.set()
        if self._thread:
            self._thread.join(LEASE_SECONDS)
        if self._number:
            # Errors here don't matter: the next job detects by itself that this one is gone.
            with contextlib.suppress(Exception):
                if self._highest() == self._number:
                    self.store.write(_name(self._number), self._text(released=True))
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
        self._beats, started = 0, self.clock()
        if not self.store.create(_name(newest + 1), self._text()):
            return False
        if self._highest() != newest + 1:
            # This job was frozen here: others have held the number before, and released it.
            self.store.delete(_name(newest + 1))
            return False
        self._number, self._renewed = newest + 1, started
        # The highest number holds: what stays is deleted with the next one.
        with contextlib.suppress(Exception):
            for number in numbers:
                self.store.delete(_name(number))
        return True

    def _numbers(self) -> list[int]:
        return [int(found[1]) for name in self.store.names() if (found := _NAME.fullmatch(name))]

    def _highest(self) -> int:
        return max(self._numbers(), default=0)

    def _is_free(self, number: int) -> bool:
        """Wait until a claim's job is gone; False if the number is gone, ConcurrentWriterError if the job lives."""
        first = text = self.store.read(_name(number))
        since, told = self.clock(), False
        while text is not None:
            held, waited = _parsed(text), self.clock() - since
            is_here = held.get("machine") == _machine() and Path(str(held.get("lock"))).exists()
            # Its own: the answer to its creation was lost.
            is_over = held.get("released") or held.get("id") == self._id
            if is_over or (is_here and _is_unlocked(str(held["lock"]))):
                return True
            if waited > _GRACE_SECONDS if is_here else text != first:
                raise ConcurrentWriterError(
                    f"{self.table} is being written by another job ({held.get('job')}): run one job per table; "
                    "when that one has ended this one can be started"
                )
            if waited > LEASE_SECONDS:
                self.log(f"{self.table}: the job before ({held.get('job')}) is gone, its claim is taken over")
                return True
            if not told:
                self.log(f"{self.table}: waiting to see whether the job before ({held.get('job')}) still lives")
                told = True
            if self.stop.wait(LEASE_SECONDS / 60):
                return False
            text = self.store.read(_name(number))
        return False

    def _keep(self) -> None:
        while not self._ended.wait(LEASE_SECONDS / 3):
            try:
                self._renew()
            except ConcurrentWriterError:
                return  # the next check reports it
            except Exception as error:  # noqa: BLE001  (S3, HDFS and Hadoop each raise their own)
                if not self._failing:
                    self.log(f"{self.table}: the claim can't be renewed: {first_line(error)}")
                self._failing = True

    def _renew(self) -> None:
        started = self.clock()
        # The highest, not the next one: the next job may have ended, and another one may hold the claim now.
        if self._highest() != self._number:
            self._renewed = float("-inf")
            raise ConcurrentWriterError(f"{self.table}: another job has taken over; run one job per table")
        self._beats += 1
        self.store.write(_name(self._number), self._text())
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


_NAME = re.compile(r"(\d+)\.json")


def _name(number: int) -> str:
    return f"{number:012d}.json"


def _parsed(text: str) -> dict[str, Any]:
    """Return a claim's entries; none for an incomplete one (on a local disk a crash can leave half of it)."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _machine() -> str:
    boot = _BOOT_ID.read_text().strip() if _BOOT_ID.exists() else ""
    return f"{platform.node()} {boot}".strip()


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
