"""The supervisor on a platform that only records calls; test_platform.py has a real one."""

import contextlib
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from local.errors import CancelledError, LockedError, PlatformError
from local.platform.platform import Platform
from local.platform.startup import SUPERVISOR
from local.platform.supervisor import LIMIT, LONGEST_PAUSE_S, STABLE_S, Ledger, Supervisor, read_restarts


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "restarts.json"


@pytest.fixture
def ledger(path: Path, clock: Clock) -> Ledger:
    return Ledger(path, clock)


def seconds_until_due(ledger: Ledger, clock: Clock) -> float:
    began = clock.now
    while not ledger.due("job"):
        clock.now += 1
    return clock.now - began


def test_the_first_restart_is_at_once_and_the_pauses_grow_to_a_minute(ledger: Ledger, clock: Clock) -> None:
    pauses = []
    for _ in range(8):
        pauses.append(seconds_until_due(ledger, clock))
        assert ledger.begin("job", "reason")
    assert pauses == [0, 2, 4, 8, 16, 32, 60, 60]
    assert all(earlier <= later <= LONGEST_PAUSE_S for earlier, later in pairwise(pauses))


def test_who_dies_at_every_restart_is_given_up_for_good(ledger: Ledger, clock: Clock, path: Path) -> None:
    for _ in range(LIMIT):
        clock.now += LONGEST_PAUSE_S
        assert ledger.begin("job", "reason", limit=LIMIT)
    clock.now += LONGEST_PAUSE_S
    assert not ledger.begin("job", "reason", limit=LIMIT)
    clock.now += 10 * STABLE_S
    assert not ledger.due("job")
    entry = read_restarts(path)["job"]
    assert (entry.total, entry.tries, entry.given_up) == (LIMIT, LIMIT, True)
    assert entry.describe(clock.now).startswith(f"restarted {LIMIT} times, last at ")
    assert entry.describe(clock.now).endswith(", then given up: `./lake up` tries again")
    assert entry.recent(clock.now) == LIMIT


def test_a_good_run_makes_the_next_death_the_first_and_keeps_the_total(
    ledger: Ledger, clock: Clock, path: Path
) -> None:
    for _ in range(3):
        ledger.begin("job", "reason")
    assert read_restarts(path)["job"].recent(clock.now) == 3
    clock.now += STABLE_S
    assert read_restarts(path)["job"].recent(clock.now) == 0
    ledger.begin("job", "reason")
    entry = read_restarts(path)["job"]
    assert (entry.total, entry.tries) == (4, 1)


def test_without_a_limit_it_goes_on_for_ever(ledger: Ledger, clock: Clock) -> None:
    for _ in range(10 * LIMIT):
        clock.now += LONGEST_PAUSE_S
        assert ledger.due("orders-sink")
        assert ledger.begin("orders-sink", "S3 answered 503")


def test_a_clock_that_was_set_back_makes_no_pause_of_hours(ledger: Ledger, clock: Clock) -> None:
    ledger.begin("job", "reason")
    clock.now -= 7200
    assert ledger.due("job")


def test_it_says_when_the_next_try_comes(ledger: Ledger, clock: Clock, path: Path) -> None:
    ledger.begin("job", "reason")
    ledger.begin("job", "reason")
    entry = read_restarts(path)["job"]
    assert entry.describe(clock.now + 1) == "restarted 2 times, last at 13:46:40 UTC, the next try in 3 s"
    assert entry.describe(clock.now + 5) == "restarted 2 times, last at 13:46:40 UTC"


@pytest.mark.parametrize("content", ["", "{", "[]", '{"job": 1}', '{"job": {"total": 1}}'])
def test_what_cant_be_read_says_nothing(path: Path, content: str) -> None:
    path.write_text(content)
    assert read_restarts(path) == {}
    assert read_restarts(path.with_name("nothing.json")) == {}


class FakePlatform:
    """Stands in for Platform: services that die on request, and can be made to die at each start."""

    def __init__(self) -> None:
        self.wanted = {SUPERVISOR, "moto", "job", "sink"}
        self.dead: set[str] = set()
        self.broken: dict[str, Exception] = {}
        self.revived: list[str] = []
        self.locked = False
        self.forgotten = False
        # The parts that the supervisor uses.
        self.lock = self.processes = self

    def expected(self) -> frozenset[str]:
        return frozenset(self.wanted)

    def pid(self, name: str) -> int | None:
        return None if name in self.dead or name == "connect" else 1

    def tail(self, name: str) -> str:
        return f"    started\n    {name}'s last words"

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        if self.locked:
            raise LockedError("another command is at work", 7)
        yield

    def revive(self, name: str) -> None:
        self.revived.append(name)
        if name in self.broken:
            raise self.broken[name]
        self.dead.discard(name)


class Scene:
    def __init__(self, folder: Path) -> None:
        self.now = 1_000_000.0
        self.path = folder / "restarts.json"
        self.platform = FakePlatform()
        self.lines: list[str] = []
        ledger = Ledger(self.path, lambda: self.now)
        self.supervisor = Supervisor(cast(Any, self.platform), ledger, threading.Event(), self.lines.append)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_the_fake_has_what_the_supervisor_asks_a_platform_for() -> None:
    assert {"expected", "pid", "revive"} <= set(dir(Platform))


def test_a_dead_service_is_started_again_at_once_and_counted(scene: Scene) -> None:
    scene.platform.dead = {"sink"}
    scene.supervisor.look()
    assert scene.platform.revived == ["sink"]
    assert scene.lines == ["sink has ended: starting it again; the end of its log: sink's last words"]
    assert read_restarts(scene.path)["sink"].total == 1
    scene.supervisor.look()
    assert scene.platform.revived == ["sink"]


def test_nothing_is_started_while_another_command_is_at_work_nor_after_a_down(scene: Scene) -> None:
    scene.platform.dead, scene.platform.locked = {"sink"}, True
    with pytest.raises(LockedError):
        scene.supervisor.look()
    scene.platform.locked, scene.platform.wanted = False, set()
    scene.supervisor.look()
    assert scene.platform.revived == []
    assert read_restarts(scene.path) == {}


def test_a_service_that_dies_at_every_start_is_given_up_and_keeps_nobody_else(scene: Scene) -> None:
    scene.platform.broken["sink"] = PlatformError("sink has ended")
    scene.platform.dead = {"sink"}
    for _ in range(3 * LIMIT):
        scene.supervisor.look()
        scene.now += LONGEST_PAUSE_S
    assert scene.platform.revived == ["sink"] * LIMIT
    assert read_restarts(scene.path)["sink"].given_up
    assert scene.lines[-1] == "sink has ended: given up; the end of its log: sink's last words"
    scene.platform.dead = {"sink", "job"}
    scene.supervisor.look()
    assert scene.platform.revived == ["sink"] * LIMIT + ["job"]


def test_an_unforeseen_error_of_one_service_is_logged_and_the_others_are_started(scene: Scene) -> None:
    scene.platform.broken["sink"] = ZeroDivisionError("unforeseen")
    scene.platform.dead = {"sink", "job"}
    scene.supervisor.look()
    assert sorted(scene.platform.revived) == ["job", "sink"]
    assert scene.platform.dead == {"sink"}
    assert "sink: unforeseen" in scene.lines


def test_the_job_is_left_to_the_catalogue_that_starts_it(scene: Scene) -> None:
    scene.platform.dead = {"moto", "job"}
    scene.supervisor.look()
    assert scene.platform.revived == ["moto"]


def test_a_connector_that_fails_at_a_table_goes_on_without_it_and_else_is_started_again(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing: list[str | None] = ["public.large", None]
    started: list[str] = []
    source = SimpleNamespace(name="shop-source")
    connectors = SimpleNamespace(source=source, set_aside=lambda: failing.pop(0))
    scene.platform.pipeline = SimpleNamespace(connectors=connectors)  # type: ignore[attr-defined]
    monkeypatch.setattr(Supervisor, "_failed", lambda _self: {"shop-source": "too large"})
    monkeypatch.setattr(Supervisor, "_api", lambda _self: SimpleNamespace(restart_failed=started.append))
    scene.supervisor.look()
    assert scene.lines[-1] == "connector shop-source goes on without table public.large, which is set aside"
    assert (started, read_restarts(scene.path)) == ([], {})
    scene.supervisor.look()
    assert started == ["shop-source"]


def test_a_start_that_is_given_up_ends_the_supervisor(scene: Scene) -> None:
    scene.platform.broken["sink"] = CancelledError("given up")
    scene.platform.dead = {"sink"}
    scene.supervisor.run()
    assert scene.platform.revived == ["sink"]
