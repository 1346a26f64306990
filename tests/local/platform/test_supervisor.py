"""The supervisor on a platform that only records calls; test_platform.py has a real one."""

import contextlib
import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import pytest

from local.errors import CancelledError, LockedError, PlatformError
from local.platform.record import Record
from local.platform.startup import SUPERVISOR
from local.platform.supervisor import LIMIT, LONGEST_PAUSE_S, STABLE_S, Ledger, Restarts, Supervisor, read_restarts


class FakePlatform:
    """Stands in for Platform: services that die on request, and can be made to die at each start."""

    def __init__(self) -> None:
        self.wanted = {SUPERVISOR, "moto", "job", "sink"}
        self.dead: set[str] = set()
        self.broken: dict[str, Exception] = {}
        self.revived: list[str] = []
        self.locked = False
        self.state_dir = Path("/")
        self.record = SimpleNamespace(read=lambda: Record(ports={}, services=frozenset()))
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
        self.ledger = Ledger(self.path, lambda: self.now)
        self.supervisor = Supervisor(cast(Any, self.platform), self.ledger, threading.Event(), self.lines.append)

    @property
    def entry(self) -> Restarts:
        """What is recorded of the job."""
        return read_restarts(self.path)["job"]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_the_first_restart_is_at_once_and_the_pauses_grow_to_a_minute(scene: Scene) -> None:
    pauses = []
    for _ in range(8):
        began = scene.now
        while not scene.ledger.due("job"):
            scene.now += 1
        pauses.append(scene.now - began)
        assert scene.ledger.begin("job", "reason")
    assert pauses == [0, 2, 4, 8, 16, 32, LONGEST_PAUSE_S, LONGEST_PAUSE_S]


def test_who_dies_at_every_restart_is_given_up_for_good(scene: Scene) -> None:
    for _ in range(LIMIT):
        scene.now += LONGEST_PAUSE_S
        assert scene.ledger.begin("job", "reason", limit=LIMIT)
        assert scene.ledger.begin("orders-sink", "S3 answered 503"), "without a limit it goes on"
    scene.now += LONGEST_PAUSE_S
    assert not scene.ledger.begin("job", "reason", limit=LIMIT)
    assert scene.ledger.begin("orders-sink", "S3 answered 503")
    scene.now += 10 * STABLE_S
    assert not scene.ledger.due("job")
    assert (scene.entry.total, scene.entry.tries, scene.entry.given_up) == (LIMIT, LIMIT, True)
    assert scene.entry.describe(scene.now).startswith(f"restarted {LIMIT} times, last at ")
    assert scene.entry.describe(scene.now).endswith(", then given up: `./lake up` tries again")


def test_a_good_run_makes_the_next_death_the_first_and_keeps_the_total(scene: Scene) -> None:
    for _ in range(3):
        scene.ledger.begin("job", "reason")
    assert scene.entry.tries == 3
    scene.now += STABLE_S
    scene.ledger.begin("job", "reason")
    assert (scene.entry.total, scene.entry.tries) == (4, 1)


def test_it_says_when_the_next_try_comes_and_a_clock_set_back_makes_no_pause_of_hours(scene: Scene) -> None:
    for _ in range(2):
        scene.ledger.begin("job", "reason")
    assert scene.entry.describe(scene.now + 1) == "restarted 2 times, last at 13:46:40 UTC, the next try in 3 s"
    assert scene.entry.describe(scene.now + 5) == "restarted 2 times, last at 13:46:40 UTC"
    scene.now -= 7200
    assert scene.ledger.due("job")


ENTRY = '{"job": {"total": 1, "tries": %s, "last_at": %s, "reason": %s}}'


@pytest.mark.parametrize(
    "content",
    [
        *("", "{", "[]", "\xff", '{"job": 1}', '{"job": {"total": 1}}'),
        *(ENTRY % odd for odd in (("-1", "9", '""'), ('"1"', "9", '""'), ("1", "NaN", '""'), ("1", "9", "null"))),
        *(ENTRY % ("1", at, '""') for at in ("-1", "1e300", "Infinity")),
    ],
)
def test_what_cant_be_read_says_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / "restarts.json").write_text(content, encoding="latin-1")
    assert read_restarts(tmp_path / "restarts.json") == read_restarts(tmp_path / "nothing.json") == {}


def test_a_dead_service_is_started_again_once_unless_another_command_is_at_work_or_after_a_down(scene: Scene) -> None:
    scene.platform.dead, scene.platform.locked = {"sink"}, True
    with pytest.raises(LockedError):
        scene.supervisor.look()
    scene.platform.locked, wanted, scene.platform.wanted = False, scene.platform.wanted, set()
    scene.supervisor.look()
    assert (scene.platform.revived, read_restarts(scene.path)) == ([], {})
    scene.platform.wanted = wanted
    for _ in range(2):
        scene.supervisor.look()
    assert scene.platform.revived == ["sink"]
    assert scene.lines == ["sink has ended: starting it again; the end of its log: sink's last words"]
    assert read_restarts(scene.path)["sink"].total == 1


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


def test_who_was_given_up_while_the_disk_was_full_is_started_again_once_there_is_room(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/data/kafka/server.properties")

    def refuse(_path: Path, _text: str) -> None:
        raise full

    scene.platform.broken["sink"] = full
    scene.platform.dead = {"sink"}
    with monkeypatch.context() as patch:
        patch.setattr("local.platform.supervisor.free_bytes", lambda _folder: 0)
        patch.setattr("local.platform.supervisor.write_private", refuse)
        for _ in range(3 * LIMIT):
            scene.supervisor.look()
            scene.now += LONGEST_PAUSE_S
        with pytest.raises(OSError, match="No space left"):
            scene.ledger.save()
    assert scene.platform.revived == ["sink"] * LIMIT
    assert "is full, so /data/kafka/server.properties can't be written: make room" in scene.lines[-2]
    assert scene.lines[-1].startswith("sink has ended: given up; ")
    assert read_restarts(scene.path) == {}
    scene.platform.broken.clear()
    scene.supervisor.look()
    scene.ledger.save()
    assert scene.platform.dead == set()
    assert read_restarts(scene.path)["sink"].total == LIMIT + 1


def test_it_survives_any_error_and_logs_it_once(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    errors = [OSError("a"), OSError("a"), ValueError("b\nc"), None, OSError("a"), CancelledError("given up")]
    monkeypatch.setattr(Supervisor, "look", Mock(side_effect=errors))
    monkeypatch.setattr("local.platform.supervisor.LOOK_S", 0)
    scene.supervisor.run()
    assert scene.lines == [f"tries again: {said}" for said in ("a", "b", "a")]


def test_an_unforeseen_error_of_one_service_is_logged_and_the_others_are_started(scene: Scene) -> None:
    scene.platform.broken["sink"] = ZeroDivisionError("unforeseen")
    # The job is left to the catalog, which starts it.
    scene.platform.dead = {"sink", "moto", "job"}
    scene.supervisor.look()
    assert sorted(scene.platform.revived) == ["moto", "sink"]
    assert scene.platform.dead == {"sink", "job"}
    assert "sink: unforeseen" in scene.lines


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
