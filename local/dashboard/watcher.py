"""Combines the polls of one platform into the picture that the page draws."""

import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from contract.states import CATALOGUE, LAKE, Word
from contract.table_names import lake_name
from local.comparison.command import REPORT
from local.dashboard.changes import SHOWN, Change, Changes, date_columns
from local.dashboard.charts import READ, Orders, read_orders
from local.dashboard.files import Reconciled, last_lines, read_reconciled, running_command
from local.dashboard.history import Commit, Commits, Failure, Failures, restarted
from local.dashboard.kept import RowCounts, TableRow, kept_tables
from local.dashboard.poller import Poller
from local.dashboard.quarantine import Quarantine, QuarantinedLine, newest
from local.dashboard.queried_changes import QueriedChanges
from local.dashboard.stages import Lakes, Stage, Stages
from local.dashboard.state import Alive, State, judge
from local.look.json_lines import consumed, lands_behind, offset_behind
from local.look.lake import LakeError
from local.look.status import DataStatus, ServiceStatus, Status, is_stopped, read_status
from local.platform.platform import Platform
from local.platform.services import GLUE_DATABASE, LocalDerived, LocalTable
from local.platform.supervisor import read_restarts
from settings.load import PIPELINES

PICTURE_S = 0.25
# Viewers wait for the lake.
LAKE_S = 0.5
# Time for running polls to end.
END_S = 10.0


@dataclass(frozen=True, kw_only=True)
class Picture:
    """Everything that the page shows, at `at` in seconds since 1970; `logs`: last lines of failed services."""

    at: float
    pipeline: str
    state: State
    stages: tuple[Stage, ...] = ()
    services: tuple[ServiceStatus, ...] = ()
    tables: tuple[TableRow, ...] = ()
    commits: tuple[Commit, ...] = ()
    failures: tuple[Failure, ...] = ()
    changes: tuple[Change, ...] = ()
    put_aside: tuple[QuarantinedLine, ...] = ()
    reconciled: Reconciled | None = None
    logs: tuple[tuple[str, tuple[str, ...]], ...] = ()
    orders: Orders | None = None
    unseen: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Found:
    """Result of polling the lake's tables; `read_to`: the offset at which the job resumes, by table."""

    commits: tuple[Commit, ...] = ()
    read_to: dict[str, int] = field(default_factory=dict)
    put_aside: tuple[QuarantinedLine, ...] = ()


class Watcher:
    """Watches one platform until `close`."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._stop = threading.Event()
        self._stages = Stages()
        self._failures = Failures()
        self._commits: dict[str, Commits] = {}
        self._changes: dict[str, Changes] = {}
        self._queried: dict[str, QueriedChanges] = {}
        self._counts = RowCounts()
        self._quarantines: dict[str, Quarantine] = {}
        self._status = Poller("status", self._read_status)
        self._lake = Poller(LAKE, self._read_lake, LAKE_S)
        self._newest = Poller("last changes", self._read_changes)
        self._catalogue = Poller(CATALOGUE, self._read_catalogue)
        self._orders = Poller("orders", self._read_orders)
        self._orders_of = ""
        self._threads: list[threading.Thread] = []
        self.picture = Picture(
            at=time.time(), pipeline=platform.options.pipeline, state=judge(None, None, (), unanswered_s=0)
        )

    def start(self) -> None:
        for asked in (self._status, self._lake, self._newest, self._catalogue, self._orders):
            self._threads.append(asked.start(self._stop))
        threading.Thread(target=self._run, name="picture", daemon=True).start()

    def close(self) -> None:
        """Stop polling. A hanging poll is abandoned: it ends with the program."""
        self._stop.set()
        deadline = time.monotonic() + END_S
        for thread in self._threads:
            # A poll still inside third-party C++ code when Python exits would abort the process with SIGABRT.
            thread.join(max(0.0, deadline - time.monotonic()))

    def _run(self) -> None:
        while not self._stop.wait(PICTURE_S):
            try:
                self.picture = self.look()
            except Exception as error:  # noqa: BLE001  (a frozen page would keep saying that all is well)
                reason = f"the page can't look: {(str(error) or type(error).__name__).splitlines()[0]}"
                self.picture = replace(self.picture, at=time.time(), state=State(word=Word.FAILING, reason=reason))

    def look(self) -> Picture:
        """Combine the last results; makes no call that could hang."""
        now, alive = time.time(), self._alive()
        down = not alive.expected and not alive.running
        if down:
            self._forget()
        status, wal = self._status.value or (None, None)
        found = self._lake.value or Found()
        stages = self._read_stages(now, wal, status.data, found) if status else []
        problems = None if status is None else [*status.problems, *self._status_error()]
        others: list[Poller[Any]] = [self._lake, self._newest, self._catalogue, self._orders]
        asked = [self._status, *([] if down else others)]
        silent_s = max(one.silent_s for one in asked)
        state = judge(alive, problems, stages, unanswered_s=silent_s, command=running_command(self._platform.lock.path))
        self._note(state, problems or [], now)
        return Picture(
            at=now,
            pipeline=self._platform.options.pipeline,
            state=state,
            stages=tuple(stages),
            services=tuple(status.services) if status else (),
            tables=kept_tables(status.data) if status else (),
            commits=found.commits,
            failures=(*self._failures.all(), *restarted(read_restarts(self._platform.restarts_file))),
            changes=tuple(self._newest.value or ()),
            put_aside=found.put_aside,
            reconciled=read_reconciled(self._platform.state_dir / REPORT),
            logs=tuple((name, tuple(last_lines(self._log(name)))) for name in state.parts),
            orders=self._orders.value,
            unseen=tuple(f"{one.name}: {one.error}" for one in asked if one.error),
        )

    def _read_stages(self, now: float, wal: str | None, data: DataStatus, found: Found) -> list[Stage]:
        """Use a monotonic clock: a jump of the system clock would show hours of lag."""
        counted = time.monotonic()
        stages = self._stages.read(counted, wal, data, self._lakes(found))
        return [stage if stage.last is None else replace(stage, last=now - (counted - stage.last)) for stage in stages]

    def _forget(self) -> None:
        """Start over: after a stop, the folder may hold another platform."""
        self._stages = Stages()
        for known in (self._commits, self._changes, self._queried, self._quarantines, self._counts):
            known.clear()
        for asked in (self._status, self._lake, self._newest, self._catalogue, self._orders):
            asked.value = None
        self._orders_of = ""

    def _note(self, state: State, problems: list[str], now: float) -> None:
        wrong = [*problems] if problems or state.word not in (Word.FAILING, Word.NO_ANSWER) else [state.reason]
        self._failures.note(wrong, now)

    def _status_error(self) -> list[str]:
        return [f"a look failed: {self._status.error}"] if self._status.error else []

    def _log(self, name: str) -> Path:
        return self._platform.processes.log_file(name)

    def _alive(self) -> Alive:
        running = self._platform.running()
        return Alive(
            expected=self._platform.expected(),
            running=frozenset(running),
            stopped=frozenset(name for name in running if is_stopped(self._platform.pid(name))),
        )

    def _lakes(self, found: Found) -> Lakes:
        newest = max((commit.instant for commit in found.commits), default=None)
        tables = len(self._platform.services.tables) + len(self._platform.services.derived)
        synced, catalogued = self._catalogue.value or (None, None)
        return Lakes(read_to=found.read_to, newest=newest, synced=synced, catalogued=catalogued, tables=tables)

    def _read_status(self) -> tuple[Status, str | None]:
        status = read_status(self._platform, count=self._counts)
        answers = status.data.slot is not None
        return status, self._platform.services.database.wal_position() if answers else None

    def _read_lake(self) -> Found:
        services = self._platform.services
        s3 = services.s3.client()
        commits: list[Commit] = []
        put_aside: list[QuarantinedLine] = []
        read_to: dict[str, int] = {}
        for table in services.tables:
            quarantine = self._quarantines.setdefault(table.name, Quarantine(table.name, table.lake_name))
            put_aside += quarantine.read(s3)
            of_table = self._commits_of(table)
            commits += of_table
            if of_table:
                read_to[table.name] = self._read_to(table, of_table[-1].progress)
        for derived in services.derived:
            commits += self._commits_of(derived)
        return Found(
            commits=tuple(sorted(commits, key=lambda commit: commit.instant)),
            read_to=read_to,
            put_aside=tuple(newest(put_aside)),
        )

    def _commits_of(self, table: LocalTable | LocalDerived) -> list[Commit]:
        """Return a table's commits; the previous ones when the read fails, none for a table without events."""
        known = self._commits.setdefault(table.name, Commits(table.name))
        try:
            return known.read(table.lake)
        except LakeError:
            return known.all

    def _read_to(self, table: LocalTable, progress: str) -> int:
        """Return the offset after the last event in the lake, from the landed objects."""
        name = consumed(progress)
        offset = offset_behind(name) if name else 0
        landed = self._landed(table)
        if landed is None or landed <= offset:
            return offset
        # Not every event becomes a line of an object: a tombstone doesn't.
        return offset if lands_behind(self._platform.services.s3.client(), table, name) else landed

    def _landed(self, table: LocalTable) -> int | None:
        status = self._status.value[0] if self._status.value else None
        return next((one.sink_offset for one in status.data.tables if one.name == table.name), None) if status else None

    def _read_changes(self) -> list[Change]:
        services = self._platform.services
        found: list[Change] = []
        for table in services.tables:
            found += self._queried_changes(table) if table.entry.is_queried else self._logged_changes(table)
        return sorted(found, key=lambda change: (change.at or 0, change.offset), reverse=True)[:SHOWN]

    def _logged_changes(self, table: LocalTable) -> list[Change]:
        if table.name not in self._changes:
            dates = date_columns(PIPELINES / self._platform.services.pipeline.schema_file(table.entry))
            self._changes[table.name] = Changes(table.name, dates)
        return self._changes[table.name].read(table.topic)

    def _queried_changes(self, table: LocalTable) -> list[Change]:
        """Return changes from commits, since there is no topic; the previous ones when the read fails."""
        key = [lake_name(column) for column in table.entry.key]
        commits = (self._lake.value or Found()).commits
        known = self._queried.setdefault(table.name, QueriedChanges(table.name, table.lake, key))
        try:
            return known.read([commit for commit in commits if commit.table == table.name])
        except LakeError:
            return known.newest

    def _read_orders(self) -> Orders | None:
        """Read the order items again after a new commit; there are none without an outbox."""
        services, found = self._platform.services, self._lake.value
        newest = found.commits[-1].instant if found and found.commits else ""
        if services.pipeline.outbox is not None and newest != self._orders_of:
            orders = read_orders(services.lake.rows(list(READ)))
            self._orders_of = newest
            return orders
        return self._orders.value

    def _read_catalogue(self) -> tuple[str | None, int]:
        services = self._platform.services
        wanted = {table.lake_name for table in services.tables} | {table.lake_name for table in services.derived}
        pages = services.aws.glue().get_paginator("get_tables").paginate(DatabaseName=GLUE_DATABASE)
        found = [table for page in pages for table in page["TableList"] if table["Name"] in wanted]
        told = [str(table.get("Parameters", {}).get("last_commit_time_sync") or "") for table in found]
        return max(filter(None, told), default=None), len(found)
