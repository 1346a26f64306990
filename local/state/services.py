"""How a platform's services are: running, dead, or without an answer."""

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import psutil
import psycopg2
from botocore.exceptions import BotoCoreError, ClientError
from confluent_kafka import KafkaException

from contract.table_states import RUNNING
from db.connecting import LoadError
from local.errors import PlatformError, RefusedError
from local.look.lake import LakeError
from local.platform.platform import Platform
from local.platform.startup import STOP_ORDER
from local.platform.supervisor import Restarts
from local.sink.settings import SinkError, UnavailableError

Value = TypeVar("Value")
# Errors of a client whose service is down, or has no data yet.
UNAVAILABLE = (
    psycopg2.Error,
    KafkaException,
    TimeoutError,
    BotoCoreError,
    ClientError,
    LakeError,
    LoadError,
    PlatformError,
    SinkError,
    UnavailableError,
)
ANSWER_S = 5.0
PAUSE_S = 0.1
SETS_PASSWORD = "`./lake up` sets a new password"  # noqa: S105  (a remedy)


@dataclass(frozen=True, kw_only=True)
class ServiceStatus:
    """One service: its first process, its port, the memory of all its processes in bytes, its restarts since `up`.

    `silent`: it runs, but is stopped by a signal or doesn't answer. `refusal`: why it refuses our login.
    """

    name: str
    running: bool
    silent: bool = False
    refusal: str = ""
    pid: int | None = None
    port: int | None = None
    rss_bytes: int | None = None
    restarts: int = 0

    @property
    def usable(self) -> bool:
        return self.running and not self.silent and not self.refusal

    @property
    def word(self) -> str:
        return "hangs" if self.silent else RUNNING if self.running else "dead"


def read_services(platform: Platform, restarts: Mapping[str, Restarts]) -> tuple[ServiceStatus, ...]:
    """Read the services that were started, in the order of a start; takes ANSWER_S when one hangs."""
    found, expected = platform.processes.find(), platform.expected()
    running = {name for name in found if platform.processes.main(name) is not None}
    ports, (hanging, refusals) = platform.services.ports, unusable_services(platform, running & expected)
    return tuple(
        ServiceStatus(
            name=name,
            running=name in running,
            silent=name in hanging,
            refusal=refusals.get(name, ""),
            pid=platform.pid(name),
            port=ports.get(name),
            rss_bytes=_rss(found.get(name, [])),
            restarts=restarts[name].total if name in restarts else 0,
        )
        for name in reversed(STOP_ORDER)
        if name in expected
    )


def require_answers(platform: Platform, *names: str) -> None:
    """Raise PlatformError when one of these services doesn't run, hangs or refuses our login."""
    platform.require(*names)
    silent, refusals = unusable_services(platform, set(names))
    if silent:
        logs = ", ".join(str(platform.processes.log_file(name)) for name in sorted(silent))
        raise PlatformError(f"{', '.join(sorted(silent))} doesn't respond (stopped or hung): see {logs}")
    if refusals:
        lines = (f"{name} refuses the login: {reason}" for name, reason in refusals.items())
        raise PlatformError(f"{'; '.join(lines)}: {SETS_PASSWORD}")


def unusable_services(platform: Platform, running: set[str]) -> tuple[set[str], dict[str, str]]:
    """Name what hangs, stopped by a signal or without an answer for ANSWER_S, and what refuses our login, and why."""
    stopped = {name for name in running if is_stopped(platform.pid(name))}
    listening = platform.services.listening
    asked = {name: answer(partial(_refusal, listening[name].ready)) for name in listening.keys() & running - stopped}
    wait(asked.values(), ANSWER_S)
    answered = {name: one for name, one in asked.items() if one.done() and one.exception() is None}
    refusals = {name: reason for name, one in answered.items() if (reason := one.result())}
    return stopped | asked.keys() - answered.keys(), refusals


def answer(read: Callable[[], Value]) -> Future[Value]:
    """Ask in a daemon thread: a query that never ends must not keep the command from exiting."""
    found: Future[Value] = Future()

    def ask() -> None:
        try:
            found.set_result(read())
        except BaseException as error:  # noqa: BLE001  (raised where it was asked)
            found.set_exception(error)

    threading.Thread(target=ask, daemon=True).start()
    return found


def _refusal(ready: Callable[[], bool]) -> str:
    """Wait until a service is ready; return why it refuses our login, if it does. Raises TimeoutError."""
    deadline = time.monotonic() + ANSWER_S
    try:
        while not ready():
            if time.monotonic() > deadline:
                raise TimeoutError
            time.sleep(PAUSE_S)
    except RefusedError as error:
        return str(error)
    return ""


def is_stopped(pid: int | None) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return pid is not None and psutil.Process(pid).status() == psutil.STATUS_STOPPED
    return False


def _rss(processes: list[psutil.Process]) -> int | None:
    """Add up the resident memory of a service's processes; shared pages count in each."""
    total = 0
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            total += process.memory_info().rss
    return total or None
