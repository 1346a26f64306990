"""Repeated polling: one that hangs or fails blocks no other."""

import threading
import time
from collections.abc import Callable

import pytest

from local.dashboard.poller import Poller


def test_an_answer_stays_while_the_next_look_fails() -> None:
    answers = iter([7])
    asked = Poller("x", lambda: next(answers))
    asked.ask()
    asked.ask()
    assert asked.value == 7
    assert asked.error == "StopIteration"


def test_an_error_goes_away_with_the_next_answer() -> None:
    answers = [RuntimeError("away\nand more")]

    def ask() -> int:
        if answers:
            raise answers.pop()
        return 1

    asked = Poller("x", ask)
    errors = []
    for _ in range(2):
        asked.ask()
        errors.append(asked.error)
    assert errors == ["away", None]
    assert asked.value == 1


@pytest.mark.parametrize("ask", [lambda: 1, lambda: [][0]])
def test_an_answer_and_an_error_are_both_an_end(ask: Callable[[], int], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    asked = Poller("x", ask)
    clock[0] = 107.0
    assert asked.unanswered_s == 7.0
    asked.ask()
    assert asked.unanswered_s == 0.0


def test_what_hangs_is_unanswered_and_doesnt_hold_up_who_asks() -> None:
    hanging, stop = threading.Event(), threading.Event()
    asked = Poller("x", hanging.wait)
    before = time.monotonic()
    asked.start(stop)
    time.sleep(0.05)
    assert asked.unanswered_s >= 0.05
    assert time.monotonic() - before < 5
    stop.set()
    hanging.set()


def test_what_takes_its_time_as_a_rule_isnt_silent_until_it_takes_twice_as_long() -> None:
    long_s, now = 60.0, [0.0]

    def ask() -> None:
        now[0] += long_s

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "monotonic", lambda: now[0])
        asked = Poller("x", ask, pause_s=1)
        asked.ask()
        now[0] += 2 * long_s
        assert (asked.unanswered_s, asked.silent_s) == (2 * long_s, 0.0)
        now[0] += 2
        assert asked.silent_s == 2 * long_s + 1
