"""Polls one platform for all viewers, and combines the answers into the picture that the page draws.

Each source is polled in its own thread: one that hangs blocks no other, and the picture reports it.
"""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import psutil

from contract.states import JOB, Word
from contract.table_names import lake_name
from local.comparison.command import REPORT
from local.dashboard.changes import Change, TopicChanges
from local.dashboard.commit_changes import CommitChanges
from local.dashboard.commit_log import CommitLog, Logged
from local.platform.platform import Platform
from local.platform.services import LocalDerived, LocalTable
from local.platform.supervisor import read_restarts
from local.problem import Problem
from local.state.collect import Collector, PipelineState
from local.state.history import Commit, Commits, Failure, Failures, restarted
from local.state.word import DOWN, UP, Alive, State, judge
from settings.load import PIPELINES

Value = TypeVar("Value")
PICTURE_S = 0.5
PAUSE_S = 1.0
# While answers stay the same, the pause is this many times the CPU seconds of the last poll, up to a limit.
QUIET, LONGEST_S = 60, 15.0
# As in `python -m cli up`, which `./lake up` runs.
PROGRAM = "cli"
# The columns' description in a commit's metadata.
SCHEMA = "schema"
# A table's commits are read again after this time at most, even if the job's log has no new one.
AGAIN_S = 30.0
# Time for a running look to end.
END_S = 10.0


@dataclass(frozen=True, kw_only=True)
class Picture:
    """Everything that the page shows; `at`: when the platform was last looked at, in seconds since 1970.

    `commits`, `schemas` (Avro) and `changes` are by table; `logged`: the job's commits by its log; `logs`: the folder
    of the services' logs.
    """

    at: float
    pipeline: str
    found: PipelineState
    commits: Mapping[str, Sequence[Commit]] = field(default_factory=dict)
    schemas: Mapping[str, str] = field(default_factory=dict)
    logged: tuple[Logged, ...] = ()
    failures: tuple[Failure, ...] = ()
    changes: Mapping[str, Sequence[Change]] = field(default_factory=dict)
    reconciled: tuple[str, ...] = ()
    logs: Path = Path()
    unseen: tuple[str, ...] = ()

    @property
    def state(self) -> State:
        return self.found.state


class Poller(Generic[Value]):
    """Repeats one query. `value`: the last answer. `error`: why the last attempt failed, in one line.

    `woken` ends the pause; it is long while answers stay the same by `key`.
    """

    def __init__(
        self, name: str, ask: Callable[[], Value], key: Callable[[Value], object] = lambda value: value
    ) -> None:
        self.name = name
        self.value: Value | None = None
        self.error: str | None = None
        self.woken = threading.Event()
        self._ask = ask
        self._key = key
        self._last: object = None
        self._pause_s = PAUSE_S
        self._ended = time.monotonic()
        self._took_s = 0.0

    def start(self, stop: threading.Event) -> threading.Thread:
        """Start polling in a daemon thread, since a query that never ends must not keep the program from exiting."""
        thread = threading.Thread(target=self._run, args=[stop], name=f"look at {self.name}", daemon=True)
        thread.start()
        return thread

    @property
    def unanswered_s(self) -> float:
        return time.monotonic() - self._ended

    @property
    def silent_s(self) -> float:
        """Seconds overdue; 0 until twice the last poll's duration: large tables take a while to count."""
        unanswered_s = self.unanswered_s - self._pause_s
        return unanswered_s if unanswered_s > 2 * self._took_s else 0.0

    def ask(self) -> None:
        began, used = time.monotonic(), time.process_time()
        last, self._last = self._last, None
        try:
            self.value = self._ask()
            self.error, self._last = None, self._key(self.value)
        except Exception as error:  # noqa: BLE001  (any error may be gone at the next poll)
            self.error = (str(error) or type(error).__name__).splitlines()[0]
        is_quiet = self.error is None and self._last == last
        quiet_s = min(QUIET * (time.process_time() - used), LONGEST_S)
        self._pause_s = max(PAUSE_S, quiet_s) if is_quiet else PAUSE_S
        self._ended = time.monotonic()
        self._took_s = self._ended - began

    def _run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            self.ask()
            self.woken.wait(self._pause_s)
            self.woken.clear()


class Watcher:
    """Watches one platform while it is entered."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._stop = threading.Event()
        self._failures = Failures()
        self._log = CommitLog(platform.processes.log_file(JOB))
        self._status = Poller("status", lambda: self._collector.look(), _moved)
        self._changes = Poller("last changes", self._read_changes)
        self._pollers: tuple[Poller[Any], ...] = (self._status, self._changes)
        self._alive: Alive | None = None
        self._threads: list[threading.Thread] = []
        self._forget()
        state = judge(None, None, (), unanswered_s=0)
        self.picture = Picture(at=time.time(), pipeline=platform.options.pipeline, found=PipelineState(state=state))

    def __enter__(self) -> Self:
        self._threads = [poller.start(self._stop) for poller in self._pollers]
        threading.Thread(target=self._run, name="picture", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop looking. A look that hangs is abandoned: it ends with the program."""
        self._stop.set()
        self._wake()
        for thread in self._threads:
            # A look still inside third-party C++ code when Python exits would abort the process with SIGABRT.
            thread.join(END_S)

    def _run(self) -> None:
        while not self._stop.wait(PICTURE_S):
            try:
                if self._log.read():
                    self._wake()
                self.picture = self.look()
            except Exception as error:  # noqa: BLE001  (a frozen page would keep saying that all is well)
                reason = f"the page can't look: {(str(error) or type(error).__name__).splitlines()[0]}"
                state = State(word=Word.FAILING, reason=reason)
                self.picture = replace(self.picture, at=time.time(), found=replace(self.picture.found, state=state))

    def look(self) -> Picture:
        """Combine the last results; makes no call that could hang."""
        alive, platform, now = Alive.of(self._platform), self._platform, time.time()
        if alive.is_down:
            self._forget()
        if alive != self._alive:
            self._alive = alive
            self._wake()
        pollers = (self._status,) if alive.is_down else self._pollers
        commits = [*self._commits.items()]
        return Picture(
            at=now - self._status.unanswered_s,
            pipeline=platform.options.pipeline,
            found=self._judged(alive, max(poller.silent_s for poller in pollers), now),
            commits={name: known.all for name, known in commits},
            schemas={name: known.newest[1].get(SCHEMA, "") for name, known in commits},
            logged=self._log.commits,
            failures=(*self._failures.all(), *restarted(read_restarts(platform.restarts_file))),
            changes=self._changes.value or {},
            reconciled=read_reconciled(platform.state_dir / REPORT),
            logs=platform.processes.logs,
            unseen=tuple(f"{poller.name}: {poller.error}" for poller in pollers if poller.error),
        )

    def _judged(self, alive: Alive, unanswered_s: float, now: float) -> PipelineState:
        """Return the last look with the state as of now, and note what is wrong."""
        found, error = self._status.value, self._status.error
        problems = [*found.problems] if found else []
        if found and error:
            problems.append(Problem(part="a look", what="failed", reason=error))
        command, stages = running_command(self._platform.lock.path), found.stages if found else ()
        loads = found.data.loads if found else ()
        state = judge(
            alive, problems if found else None, stages, loads=loads, unanswered_s=unanswered_s, command=command
        )
        if not problems and state.word in (Word.FAILING, Word.NO_ANSWER):
            problems.append(Problem(part="the pipeline", what=f"is {state.word}", reason=state.reason))
        self._failures.note(problems, now)
        return replace(found or PipelineState(state=state), state=state)

    def _wake(self) -> None:
        for poller in self._pollers:
            poller.woken.set()

    def _forget(self) -> None:
        """Start over: after a stop, the folder may hold another platform."""
        self._commits: dict[str, Commits] = {}
        self._read: dict[str, object] = {}
        self._followed: dict[str, TopicChanges | CommitChanges] = {}
        self._collector = Collector(self._platform, self._newest_of)
        for poller in self._pollers:
            poller.value = None

    def _newest_of(self, table: LocalTable | LocalDerived) -> tuple[str, Mapping[str, str]]:
        """Return what Lake.newest_of_job does, from all commits, which the page shows."""
        known = self._commits.setdefault(table.name, Commits())
        # Without a new line of the job's, there is hardly a new commit.
        now = self._log.commits[-1:], time.monotonic() // AGAIN_S
        if self._read.get(table.name) != now:
            known.read(table.lake)
            self._read[table.name] = now
        return known.newest

    def _read_changes(self) -> dict[str, list[Change]]:
        return {table.name: self._follow(table).read() for table in self._platform.services.tables}

    def _follow(self, table: LocalTable) -> TopicChanges | CommitChanges:
        """Return the follower of a table: of its commits where there is no topic."""
        if table.name not in self._followed:
            if table.entry.is_queried:
                key = [lake_name(column) for column in table.entry.key]
                commits = self._commits.setdefault(table.name, Commits())
                self._followed[table.name] = CommitChanges(table.name, table.lake, key, commits)
            else:
                schema = PIPELINES / self._platform.services.pipeline.schema_file(table.entry)
                self._followed[table.name] = TopicChanges(table.name, table.topic, schema.read_text(encoding="utf-8"))
        return self._followed[table.name]


def _moved(found: PipelineState) -> object:
    """Return what stays the same while nothing happens."""
    return found.state.word, found.data.tables, len(found.problems)


def read_reconciled(path: Path) -> tuple[str, ...]:
    """Return when source and lake were last compared, and each table's result, from the report."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        at = str(found["at"]).replace("T", " ").replace("+00:00", " UTC")
        tables = [str(one["line"]).replace("  ", ", ") for one in found["tables"]]
        return f"{at}: {'equal' if found['equal'] else 'not equal'}", *tables
    except (OSError, ValueError, LookupError, TypeError):
        return ("not yet: `./lake reconcile` compares source and lake",)


def running_command(lock: Path) -> str | None:
    """Return `up` or `down` while the last command that took the lock is one of these and still runs; else None.

    The lock's file holds the process id of the last holder. Taking the lock to find out would block other commands.
    """
    try:
        arguments = psutil.Process(int(lock.read_text(encoding="utf-8"))).cmdline()
    except (OSError, ValueError, psutil.Error):
        return None
    return next((after for before, after in pairwise(arguments) if before == PROGRAM and after in (UP, DOWN)), None)
