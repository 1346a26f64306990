"""Starts, finds and stops the processes of one platform.

A service outlives the command that started it, so every command has to find it again. Each process carries the
platform's folder and the service's name in its environment: unlike a recorded pid, this survives a kill -9 of the
starter, a reboot, a reused pid and a stepped clock (docs/decisions/0030).
"""

import contextlib
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol, TypedDict

import psutil

from contract.errors import error_text
from contract.text import UTF_8_LOCALE
from local.errors import CancelledError, PlatformError
from local.files import tail

PLATFORM_VARIABLE = "CDC_PLATFORM_FOLDER"
SERVICE_VARIABLE = "CDC_PLATFORM_SERVICE"
LOG_START_VARIABLE = "CDC_PLATFORM_LOG_START"
# Nothing else of the caller's environment reaches a service: no AWS credentials, no JAVA_TOOL_OPTIONS, PG* or locale.
INHERITED = ("HOME", "PATH", "TMPDIR", "USER")
POLL_S = 0.05
READY_TIMEOUT_S = 120
DESCENDANTS_GRACE_S = 5
KILL_TIMEOUT_S = 10
MARKS_TIMEOUT_S = 5
ROTATE_BYTES = 5_000_000
TAIL_LINES = 8
TAIL_BYTES = 16_384
STACK_FRAME = re.compile(r"\s+(at |\.\.\. \d+ more)")

# The children of this Python process by pid: their starter must take their exit status.
_children: dict[int, subprocess.Popen[bytes]] = {}


class Identity(TypedDict, total=False):
    """Arguments of subprocess that make a child run as another account; none for our own."""

    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True, kw_only=True)
class Command:
    """How to start a service: its arguments (no secret in them), its additional environment, and its folder."""

    argv: Sequence[str]
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    identity: Identity = field(default_factory=Identity)


class Service(Protocol):
    """A process that listens on a port."""

    name: str

    def prepare(self) -> Command:
        """Write its configuration and return how to start it."""

    def ready(self) -> bool:
        """Tell whether it answers."""


@dataclass(frozen=True, kw_only=True)
class StopRules:
    """How to find and stop a service whose marks may be unreadable and which needs another signal than SIGTERM.

    `pid` finds its first process (None: it doesn't run); it gets each of the signals in turn.
    """

    pid: Callable[[], int | None]
    stop_signals: Sequence[signal.Signals]


class Processes:
    """The processes of the platform whose state is in `folder`; one log file per service in `logs`.

    `rules`: those of services that have their own.
    """

    def __init__(self, folder: Path, logs: Path, rules: Mapping[str, StopRules] | None = None) -> None:
        self.folder = folder.resolve()
        self.logs = logs
        self._rules = rules or {}
        self.cancelled = threading.Event()
        self._handles: dict[str, psutil.Process] = {}
        self._log_starts: dict[str, int] = {}

    def run(self, service: Service, *, timeout_s: float = READY_TIMEOUT_S) -> None:
        """Start a service, unless it runs, and wait until it is ready. Raises PlatformError, CancelledError."""
        if self.main(service.name) is None:
            self.start(service.name, service.prepare())
        self.wait_until(service.name, service.ready, timeout_s=timeout_s)

    def start(self, name: str, command: Command) -> None:
        """Start a service in its own session, which Ctrl-C on a command doesn't reach.

        Raises PlatformError when the program can't be run, CancelledError when the start was given up meanwhile.
        """
        if self.cancelled.is_set():
            raise CancelledError(f"{name} not started")
        self.stop(name, grace_s=0)  # descendants of a killed service
        environment = {key: os.environ[key] for key in INHERITED if key in os.environ}
        markers = {PLATFORM_VARIABLE: str(self.folder), SERVICE_VARIABLE: name}
        try:
            with _open_log(self.log_file(name)) as log:
                self._log_starts[name] = log.tell()
                markers[LOG_START_VARIABLE] = str(log.tell())
                child = subprocess.Popen(
                    [str(part) for part in command.argv],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=command.folder,
                    env={**environment, **UTF_8_LOCALE, **command.environment, **markers},
                    start_new_session=True,
                    **command.identity,
                )
        except OSError as error:
            raise PlatformError(f"{name} can't be started: {error_text(error)}") from error
        _children[child.pid] = child
        self._handles[name] = psutil.Process(child.pid)
        _wait_for_marks(self._handles[name])

    def wait_until(self, name: str, ready: Callable[[], bool], *, timeout_s: float) -> None:
        """Wait until `ready` returns True.

        Raises PlatformError with the end of its log when the service dies before, or after `timeout_s`.
        """
        deadline = time.monotonic() + timeout_s
        while not ready():
            self.check_alive(name)
            if time.monotonic() > deadline:
                raise PlatformError(f"{name} isn't ready after {timeout_s:.0f} s: see {self.log_file(name)}")
            self.pause(POLL_S)

    def pause(self, seconds: float) -> None:
        """Sleep; raise CancelledError as soon as the start is given up."""
        if self.cancelled.wait(seconds):
            raise CancelledError("given up")

    def check_alive(self, name: str) -> None:
        """Raise PlatformError with the end of its log when the service doesn't run."""
        if self.main(name) is None:
            raise PlatformError(f"{name} has ended; the end of {self.log_file(name)}:\n{self.tail(name)}")

    def main(self, name: str) -> psutil.Process | None:
        """Return the process that was started as the service, or None when it doesn't run.

        Descendants alone don't count: a killed JVM may leave a Python driver behind for a while.
        """
        _reap()
        if self.is_known_to_run(name):
            return self._handles[name]
        leader = next(iter(_leaders(self.find().get(name, []))), None)
        if leader is not None:
            self._handles[name] = leader
        return leader

    def is_known_to_run(self, name: str) -> bool:
        """Tell whether a service's process, found earlier, still runs; doesn't search for another one."""
        handle = self._handles.get(name)
        return handle is not None and _runs(handle)

    def find(self) -> dict[str, list[psutil.Process]]:
        """Return all running processes of this platform by service, including descendants."""
        _reap()
        found: dict[str, list[psutil.Process]] = {}
        for process in psutil.process_iter():
            try:
                environment = process.environ()
            except (psutil.Error, OSError):  # another user's, or gone
                continue
            folder, service = environment.get(PLATFORM_VARIABLE), environment.get(SERVICE_VARIABLE)
            if service is not None and folder == str(self.folder) and _runs(process):
                found.setdefault(service, []).append(process)
        for name, rules in self._rules.items():
            with contextlib.suppress(psutil.NoSuchProcess):
                if (pid := rules.pid()) is not None:
                    leader = psutil.Process(pid)
                    found[name] = [leader, *leader.children(recursive=True)]
        return found

    def stop(self, name: str, *, grace_s: float) -> None:
        """Ask a service to end, wait for `grace_s`, then kill what is left. Does nothing when it doesn't run.

        Raises PlatformError when a process outlives even that.
        """
        processes = self.find().get(name, [])
        leaders = _leaders(processes)
        for position, number in enumerate(self._rules[name].stop_signals if name in self._rules else [signal.SIGTERM]):
            _signal(leaders, number)
            if _wait_gone(leaders, min(grace_s, DESCENDANTS_GRACE_S) if position else grace_s):
                _signal(left := [process for process in processes if _runs(process)], signal.SIGTERM)
                _wait_gone(left, DESCENDANTS_GRACE_S)
                break
        # Search again: a process may have started another one meanwhile.
        left = [*self.find().get(name, []), *(process for process in processes if _runs(process))]
        _signal(left, signal.SIGKILL)
        if not _wait_gone(left, KILL_TIMEOUT_S):
            pids = ", ".join(str(process.pid) for process in left if _runs(process))
            raise PlatformError(f"{name} (pid {pids}) can't be killed")
        self._handles.pop(name, None)

    def log_file(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def log_start(self, name: str) -> int | None:
        """Return where in its log the running service's output begins, in bytes; None when it doesn't run."""
        main = self.main(name)
        with contextlib.suppress(psutil.Error, OSError, ValueError):
            return None if main is None else int(main.environ().get(LOG_START_VARIABLE, "0"))
        return None

    def tail(self, name: str) -> str:
        """Return the last lines of the service's log since its start, indented, without Java's stack frames."""
        text = tail(self.log_file(name), TAIL_BYTES, start=self._log_starts.get(name, 0))
        lines = [line for line in text.splitlines() if line.strip() and not STACK_FRAME.match(line)]
        return "\n".join(f"    {line}" for line in lines[-TAIL_LINES:] or ["(empty)"])


def _open_log(path: Path) -> BinaryIO:
    """Open a log for appending; a large one is first renamed to `<name>.log.1`, replacing the previous one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size > ROTATE_BYTES:
        path.replace(path.with_name(path.name + ".1"))
    return path.open("ab")


def _reap() -> None:
    """Take the exit status of children that have ended; otherwise they stay as zombies."""
    for pid, child in list(_children.items()):
        if child.poll() is not None:
            _children.pop(pid, None)


def _wait_for_marks(process: psutil.Process) -> None:
    """Wait until a new process's environment is visible: without it no command finds the process.

    It is empty for a moment after the start, and once the process has ended.
    """
    deadline = time.monotonic() + MARKS_TIMEOUT_S
    with contextlib.suppress(psutil.Error, OSError):
        while not process.environ() and _runs(process) and time.monotonic() < deadline:
            time.sleep(0.001)


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _leaders(processes: Sequence[psutil.Process]) -> list[psutil.Process]:
    """Return the processes started as the service: in their own session, and not by another one of these."""
    pids = {process.pid for process in processes}

    def leads(process: psutil.Process) -> bool:
        try:
            return os.getsid(process.pid) == process.pid and process.ppid() not in pids
        except (ProcessLookupError, psutil.NoSuchProcess):
            return False

    return [process for process in processes if leads(process)]


def _signal(processes: Iterable[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(number)


def _wait_gone(processes: Sequence[psutil.Process], timeout_s: float) -> bool:
    """Wait until none of the processes runs; a zombie that its parent doesn't reap counts as gone."""
    deadline = time.monotonic() + timeout_s
    while any(_runs(process) for process in processes):
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
        _reap()
    return True
