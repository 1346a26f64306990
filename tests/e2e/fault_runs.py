"""Injects each fault of the deck into running platforms under load, in random order, and records what came of it.

`./lake dev test faults` runs it. Each run ends with source and lake equal, after the remedy that `status` has named if
it named a command, and with `status` and the page well. A run that doesn't is reported, and its platform is kept.
"""

import random
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from contract.errors import NO
from contract.states import Word
from contract.table_names import lake_name
from local.comparison.reconcile import compare_platform
from local.dashboard.watcher import Watcher
from local.errors import PlatformError
from local.platform.platform import Platform
from local.platform.record import PlatformOptions
from local.platform.services import LocalTable
from local.problem import Problem
from local.state.collect import Collector, PipelineState
from stacks.monitoring.watches import WORDS
from tests.conftest import ask
from tests.e2e.fault_deck import Fault, deck
from tests.e2e.writers import Business, Registry, Writer
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
PIPELINES = ("orders", "pagila", "pagilaquery")
LOOK_S = 0.5
BEFORE = 10
EQUAL_S = 180
REMEDY_S = 500
# Under load, changes may well be late.
WELL = (Word.UP_TO_DATE, Word.MOVING, Word.LATE)
COMMAND = re.compile(r"`\./lake ([^`]+)`")
HEAD = f"{'fault':42s} told  page   well  lost  twice"


@dataclass(frozen=True, kw_only=True)
class Said:
    """A problem that was said at a monotonic time, with the word then; no word where a restart was only counted."""

    at: float
    problem: Problem
    word: Word | None


@dataclass
class Observer:
    """Looks at a platform in a thread, and keeps what it says."""

    look: Callable[[], PipelineState]
    said: list[Said] = field(default_factory=list)
    well_at: float = 0.0
    error: Exception | None = None
    _restarts: dict[str, int] = field(default_factory=dict)

    @contextmanager
    def observing(self) -> Iterator[None]:
        stop = threading.Event()
        thread = threading.Thread(target=self._run, args=[stop], daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def wait_for(self, told: str, since: float) -> Said:
        """Return the first problem since a monotonic time that begins so."""

        def found() -> list[Said]:
            return [one for one in [*self.said] if one.at > since and re.match(told, str(one.problem))]

        return wait_until(found, told)[0]

    def _run(self, stop: threading.Event) -> None:
        while not stop.wait(LOOK_S):
            began = time.monotonic()
            try:
                found = self.look()
            except PlatformError:
                continue  # `down` is part of a fault
            except Exception as error:  # noqa: BLE001  (the run reports it)
                self.error = error
                continue
            now = time.monotonic()
            self.said += [Said(at=now, problem=problem, word=found.state.word) for problem in found.problems]
            for service in found.services:
                # A short death may lie between two looks, and is then seen in the column of restarts.
                if service.restarts > self._restarts.get(service.name, 0):
                    self.said.append(Said(at=now, problem=Problem(part=service.name, what="has died"), word=None))
                self._restarts[service.name] = service.restarts
            if not found.problems and found.state.word in WELL:
                self.well_at = began


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Seconds until status and page told the fault, and from its end or the remedy until both were well; rows."""

    told_s: float
    page_s: float
    well_s: float
    lost: int
    twice: int
    remedy: str = ""

    def __str__(self) -> str:
        numbers = f"{self.told_s:4.1f} {self.page_s:5.1f} {self.well_s:6.1f} {self.lost:5d} {self.twice:6d}"
        return numbers + (f"  ./lake {self.remedy}" if self.remedy else "")


class Trial:
    """One platform with its writer's kind, on which faults are tried."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._status = Observer(Collector(platform).look)
        self._watcher = Watcher(platform)
        self._page = Observer(lambda: self._watcher.picture.found)

    @contextmanager
    def observed(self) -> Iterator[None]:
        with self._watcher, self._status.observing(), self._page.observing():
            yield

    def run(self, fault: Fault, seed: int) -> Outcome:
        """Break something under load, wait until it is told, and end it or follow the remedy. Raises AssertionError."""
        chance = random.Random(seed)
        self._status.error = self._page.error = None
        with self._writer(seed) as writer:
            writer.wait_for(BEFORE)
            before = time.monotonic()
            ends = fault.breaks(self._platform)
            broken = time.monotonic()
            try:
                told, shown = self._told(fault, before)
                if ends:
                    time.sleep(chance.uniform(*fault.held_s))
            finally:
                repairing = time.monotonic()
                if ends:
                    ends()
            remedy = "" if ends else self._follow(told.problem, writer)
            repairing = repairing if ends or remedy else broken
            since = time.monotonic()
            wait_until(lambda: min(self._status.well_at, self._page.well_at) > since, "all is well")
            well = time.monotonic()
        lost, twice = self._compare()
        assert not (errors := [one.error for one in (self._status, self._page) if one.error]), errors
        self._platform.up()
        self._status.said.clear()
        self._page.said.clear()
        return Outcome(
            told_s=max(told.at - broken, 0.0),
            page_s=max(shown.at - broken, 0.0),
            well_s=well - repairing,
            lost=lost,
            twice=twice,
            remedy=remedy,
        )

    def _told(self, fault: Fault, since: float) -> tuple[Said, Said]:
        """Wait until status and page have said the fault; they and the alarm must have one word for it."""
        told, shown = self._status.wait_for(fault.told, since), self._page.wait_for(fault.told, since)
        words = {told.word, shown.word, WORDS[fault.alarm] if fault.alarm else None} - {None}
        assert len(words) <= 1, f"status, page and alarm disagree: {told}, {shown}, {fault.alarm}"
        return told, shown

    def _writer(self, seed: int) -> Business:
        source = self._platform.source
        if self._platform.services.pipeline.outbox is not None:
            newest = ask(source, "SELECT max(order_id) FROM datalake.orders")
            return Writer(source, first_order=newest + 1, rate=4, patient=True)
        return Registry(source, rate=1, seed=seed, patient=True)

    def _follow(self, problem: Problem, writer: Business) -> str:
        """Run the command that the problem names, if any; return it."""
        found = COMMAND.search(problem.remedy)
        if found is None:
            return ""
        argv = [sys.executable, "-m", "cli", *shlex.split(found[1]), "--folder", str(self._platform.state_dir)]
        done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=REMEDY_S, check=False)
        assert done.returncode == 0, f"{found[0]} failed: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        with suppress(PlatformError):
            writer.parameters = self._platform.source
        return found[1]

    def _compare(self) -> tuple[int, int]:
        """Return how many rows the lake lacks or shows wrong, and how many it has twice or only the lake has."""
        comparisons = compare_platform(self._platform, timeout_s=EQUAL_S)
        assert all(one.equal for one in comparisons), comparisons
        assert any(one.source_rows for one in comparisons)
        lost = sum(one.missing + one.different + one.late for one in comparisons)
        return lost, sum(one.extra for one in comparisons) + sum(map(self._doubled, self._platform.services.tables))

    @staticmethod
    def _doubled(table: LocalTable) -> int:
        names = [lake_name(column) for column in table.entry.key]
        rows = table.lake.rows(names)
        return int(rows.num_rows - rows.group_by(names).aggregate([]).num_rows)


def main(seed: int, only: str, folder: Path | None) -> int:
    """Inject every fault that matches `only` into a platform of each kind; raise at the first one that isn't got over.

    `seed`: of the faults' order and of what is written; 0 is a random one. `folder`: for the platforms.
    """
    seed = seed or random.SystemRandom().randrange(1, 1_000_000)
    folder = folder or Path(tempfile.mkdtemp(prefix="faults-"))
    print(f"seed {seed}\n{HEAD}", flush=True)
    runs = sum(_try_all(folder / name, name, seed, only) for name in PIPELINES)
    print(f"{runs} faults, each ended equal")
    return 0 if runs else NO


def _try_all(folder: Path, pipeline: str, seed: int, only: str) -> int:
    platform = Platform(folder, PlatformOptions(pipeline=pipeline, supervised=True))
    platform.up()
    faults = [fault for fault in deck(platform) if re.search(only, f"{pipeline}: {fault.name}")]
    random.Random(seed).shuffle(faults)
    trial = Trial(platform)
    with trial.observed():
        for number, fault in enumerate(faults):
            print(f"{fault.name:40.40s}", end="  ", flush=True)
            try:
                print(trial.run(fault, seed + number), flush=True)
            except BaseException:
                print(f"seed {seed}; the platform is left in {folder}", flush=True)
                raise
    platform.remove()
    return len(faults)
