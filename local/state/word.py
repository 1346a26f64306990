"""A pipeline's state in one word, and the reason."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from contract.states import CATALOGUE, LAKE, MEANING, Word
from local.platform.platform import Platform
from local.problem import Problem
from local.state.services import is_stopped
from local.state.stages import Stage

# How long a change may be on its way before it counts as late, and a poll may take before it counts as unanswered.
LATE_S = 60.0
ANSWER_S = 10.0
# Commands that start and stop services.
UP, DOWN = "up", "down"


@dataclass(frozen=True, kw_only=True)
class State:
    """The word with its one-line reason; `parts`: the services concerned."""

    word: Word
    reason: str
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Alive:
    """Which services were started, which run, and which are stopped by a signal."""

    expected: frozenset[str] = frozenset()
    running: frozenset[str] = frozenset()
    stopped: frozenset[str] = frozenset()

    @classmethod
    def of(cls, platform: Platform) -> Self:
        expected = platform.expected()
        # To look at a known process costs little, to search for others a lot.
        known = expected and all(map(platform.processes.is_known_to_run, expected))
        running = expected if known else frozenset(platform.running())
        stopped = frozenset(name for name in running if is_stopped(platform.pid(name)))
        return cls(expected=expected, running=running, stopped=stopped)

    @property
    def is_down(self) -> bool:
        return not self.expected and not self.running

    @property
    def broken(self) -> tuple[str, ...]:
        return tuple(sorted((self.expected - self.running) | (self.stopped & self.expected)))


def judge(
    alive: Alive | None,
    problems: Sequence[Problem] | None,
    stages: Sequence[Stage],
    *,
    unanswered_s: float,
    loads: Sequence[str] = (),
    command: str | None = None,
) -> State:
    """Return the state. `problems` is None before the first poll; `unanswered_s`: time since a poll last ended.

    `loads`: lines about tables whose first rows are being read.

    `command`: `up` or `down` while it works on the platform: services that don't run then are no failure.
    """
    if alive is None:
        return State(word=Word.STARTING, reason="the first look isn't done yet")
    if alive.is_down:
        return State(word=Word.DOWN, reason="the platform is down: `./lake up` starts it")
    broken = alive.broken
    if command == DOWN and broken:
        return State(word=Word.DOWN, reason="`./lake down` stops the platform")
    if command == UP and (broken or problems):
        first = ", ".join(broken) or next(iter(problems or ()))
        return State(word=Word.STARTING, reason=f"`./lake up` is at work: {first}")
    if broken:
        return State(word=Word.FAILING, reason=_broken(alive, broken, problems or ()), parts=broken)
    if unanswered_s > ANSWER_S:
        return State(word=Word.NO_ANSWER, reason=f"no look has ended for {unanswered_s:.0f} s: a service may hang")
    if problems is None:
        return State(word=Word.STARTING, reason="the first look isn't done yet")
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        parts = tuple(sorted({problem.log.stem for problem in problems if problem.log is not None}))
        return State(word=Word.FAILING, reason=f"{problems[0]}{more}", parts=parts)
    if loads:
        more = f" (and {len(loads) - 1} more)" if len(loads) > 1 else ""
        return State(word=Word.MOVING, reason=f"{loads[0]}{more}")
    return _moving(stages)


def _broken(alive: Alive, broken: Sequence[str], problems: Sequence[Problem]) -> str:
    """Prefer the line of `./lake status`: it names the log and what is done about it."""
    said = next((str(problem) for problem in problems if problem.part == broken[0]), None)
    how = {name: "is stopped by a signal" if name in alive.running else "is dead" for name in broken}
    first = said or f"{broken[0]} {how[broken[0]]}"
    return "; ".join([first, *(f"{name} {how[name]}" for name in broken[1:])])


def _moving(stages: Sequence[Stage]) -> State:
    behind = [stage for stage in stages if stage.lag_events or (stage.lag_s or 0) > 0]
    if not behind and stages and {stage.name for stage in stages} <= {LAKE, CATALOGUE}:
        return State(word=Word.UP_TO_DATE, reason="the job runs, and each look brings what changed before it")
    if not behind:
        return State(word=Word.UP_TO_DATE, reason=MEANING[Word.UP_TO_DATE])
    slowest = max(behind, key=lambda stage: stage.lag_s or 0.0)
    events = max(stage.lag_events or 0 for stage in behind)
    on_their_way = f"{events:,} events on their way" if events else MEANING[Word.MOVING]
    lag_s = slowest.lag_s or 0.0
    if lag_s > LATE_S:
        return State(word=Word.LATE, reason=f"{slowest.name} is {lag_s:.0f} s behind, {on_their_way}")
    return State(word=Word.MOVING, reason=on_their_way)
