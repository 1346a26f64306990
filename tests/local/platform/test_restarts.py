from itertools import pairwise
from pathlib import Path

import pytest

from local.platform.supervisor import LIMIT, LONGEST_PAUSE_S, STABLE_S, Ledger, read_restarts


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
