"""Combines the looks at one platform into the picture that the page draws."""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from contract.states import JOB, Word
from contract.table_names import lake_name
from local.comparison.command import REPORT
from local.dashboard.changes import Change, Changes, date_columns
from local.dashboard.commit_log import CommitLog, Logged
from local.dashboard.files import read_reconciled, running_command
from local.dashboard.queried_changes import QueriedChanges
from local.look.lake import LakeError
from local.platform.platform import Platform
from local.platform.services import LocalDerived, LocalTable
from local.platform.supervisor import read_restarts
from local.state.collect import Collector, PipelineState
from local.state.history import Commit, Commits, Failure, Failures, restarted
from local.state.poller import Poller
from local.state.problems import Problem
from local.state.word import Alive, State, judge
from settings.load import PIPELINES

PICTURE_S = 0.5
# The columns' description in a commit's metadata.
SCHEMA = "schema"
# A table's commits are read again after this time even if the job's log has no new one.
AGAIN_S = 30.0
# Time for running looks to end.
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


class Watcher:
    """Watches one platform until `close`."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._stop = threading.Event()
        self._failures = Failures()
        self._log = CommitLog(platform.processes.log_file(JOB))
        self._status = Poller("status", self._look, _moved)
        self._newest = Poller("last changes", self._read_changes)
        self._pollers: tuple[Poller[Any], ...] = (self._status, self._newest)
        self._alive: Alive | None = None
        self._threads: list[threading.Thread] = []
        self._forget()
        state = judge(None, None, (), unanswered_s=0)
        self.picture = Picture(at=time.time(), pipeline=platform.options.pipeline, found=PipelineState(state=state))

    def start(self) -> None:
        for asked in self._pollers:
            self._threads.append(asked.start(self._stop))
        threading.Thread(target=self._run, name="picture", daemon=True).start()

    def close(self) -> None:
        """Stop looking. A look that hangs is abandoned: it ends with the program."""
        self._stop.set()
        self._wake()
        deadline = time.monotonic() + END_S
        for thread in self._threads:
            # A look still inside third-party C++ code when Python exits would abort the process with SIGABRT.
            thread.join(max(0.0, deadline - time.monotonic()))

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
        now, alive = time.time(), Alive.of(self._platform)
        if alive.is_down:
            self._forget()
        if alive != self._alive:
            self._alive = alive
            self._wake()
        found = self._status.value
        problems = None if found is None else (*found.problems, *self._failed_look())
        asked = (self._status,) if alive.is_down else self._pollers
        state = judge(
            alive,
            problems,
            found.stages if found else (),
            unanswered_s=max(one.silent_s for one in asked),
            command=running_command(self._platform.lock.path),
        )
        self._note(state, problems or (), now)
        return Picture(
            at=now - self._status.unanswered_s,
            pipeline=self._platform.options.pipeline,
            found=replace(found or PipelineState(state=state), state=state),
            commits={name: known.all for name, known in [*self._commits.items()]},
            schemas={name: known.newest[1].get(SCHEMA, "") for name, known in [*self._commits.items()]},
            logged=self._log.commits,
            failures=(*self._failures.all(), *restarted(read_restarts(self._platform.restarts_file))),
            changes=self._newest.value or {},
            reconciled=read_reconciled(self._platform.state_dir / REPORT),
            logs=self._platform.processes.logs,
            unseen=tuple(f"{one.name}: {one.error}" for one in asked if one.error),
        )

    def _wake(self) -> None:
        for asked in self._pollers:
            asked.woken.set()

    def _forget(self) -> None:
        """Start over: after a stop, the folder may hold another platform."""
        self._commits: dict[str, Commits] = {}
        self._read: dict[str, tuple[object, float]] = {}
        self._changes: dict[str, Changes] = {}
        self._queried: dict[str, QueriedChanges] = {}
        self._collector = Collector(self._platform, self._newest_of)
        for asked in self._pollers:
            asked.value = None

    def _note(self, state: State, problems: tuple[Problem, ...], now: float) -> None:
        if not problems and state.word in (Word.FAILING, Word.NO_ANSWER):
            problems = (Problem(part="the pipeline", what=f"is {state.word}", reason=state.reason),)
        self._failures.note(problems, now)

    def _failed_look(self) -> list[Problem]:
        return [Problem(part="a look", what="failed", reason=self._status.error)] if self._status.error else []

    def _look(self) -> PipelineState:
        return self._collector.look()

    def _newest_of(self, table: LocalTable | LocalDerived) -> tuple[str, Mapping[str, str]]:
        """Return what Lake.newest_of_job does, from all commits, which the page shows."""
        known = self._commits.setdefault(table.name, Commits(table.name))
        # Without a new line of the job's, there is hardly a new commit.
        before, read_at = self._read.get(table.name, (None, 0.0))
        if before is not (logged := self._log.commits) or time.monotonic() > read_at + AGAIN_S:
            known.read(table.lake)
            self._read[table.name] = logged, time.monotonic()
        return known.newest

    def _read_changes(self) -> dict[str, list[Change]]:
        return {
            table.name: self._queried_changes(table) if table.entry.is_queried else self._logged_changes(table)
            for table in self._platform.services.tables
        }

    def _logged_changes(self, table: LocalTable) -> list[Change]:
        if table.name not in self._changes:
            dates = date_columns(PIPELINES / self._platform.services.pipeline.schema_file(table.entry))
            self._changes[table.name] = Changes(table.name, dates)
        return self._changes[table.name].read(table.topic)

    def _queried_changes(self, table: LocalTable) -> list[Change]:
        """Return changes from commits, since there is no topic; the previous ones when the read fails."""
        key = [lake_name(column) for column in table.entry.key]
        known = self._queried.setdefault(table.name, QueriedChanges(table.name, table.lake, key))
        commits = self._commits.get(table.name)
        try:
            return known.read(commits.all if commits else [])
        except LakeError:
            return known.newest


def _moved(found: PipelineState) -> object:
    """Return what stays the same while nothing happens."""
    return found.state.word, found.data.tables, len(found.problems)
