"""One query, repeated: its answers, errors and pauses."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from local.state.poller import LONGEST_S, PAUSE_S, QUIET, Poller


def test_a_poll_that_fails_keeps_the_last_answer_and_its_error_goes_away_with_the_next() -> None:
    answers: list[Any] = [1, RuntimeError("away\nand more"), 7]

    def ask() -> Any:
        if isinstance(answer := answers.pop(), Exception):
            raise answer
        return answer

    asked, found = Poller("x", ask), []
    for _ in range(3):
        asked.ask()
        found.append((asked.value, asked.error))
    assert found == [(7, None), (7, "away"), (1, None)]


def test_the_same_answer_is_asked_for_less_often_the_more_it_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    used, answers, pauses = [0.0], [2, 2, 1, 1, 1], []

    def ask() -> int:
        used[0] += 10 if len(answers) == 3 else 0.1
        return answers.pop()

    monkeypatch.setattr(time, "process_time", lambda: used[0])
    asked = Poller("x", ask)
    for _ in range(5):
        asked.ask()
        pauses.append(round(asked._pause_s))
    assert pauses == [PAUSE_S, QUIET * 0.1, LONGEST_S, PAUSE_S, QUIET * 0.1]


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
        asked = Poller("x", ask)
        asked.ask()
        now[0] += 2 * long_s
        assert (asked.unanswered_s, asked.silent_s) == (2 * long_s, 0.0)
        now[0] += 2
        assert asked.silent_s == 2 * long_s + 1
