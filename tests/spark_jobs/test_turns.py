"""Who may work: small batches never wait for large ones, and those come in the order in which they asked."""

import threading
import time

import pytest

from spark_jobs.turns import PACE_SECONDS, Turns, large_turns


def test_large_batches_come_in_their_order_and_small_ones_at_once() -> None:
    turns, order, threads = Turns(1), list[int](), list[threading.Thread]()

    def work(number: int) -> None:
        with turns.take():
            order.append(number)

    with turns.take():
        for number in range(5):
            threads.append(threading.Thread(target=work, args=(number,)))
            threads[-1].start()
            until = time.monotonic() + 10
            while len(turns._waiting[False]) <= number and time.monotonic() < until:
                time.sleep(0.001)
        with turns.take(small=True):
            assert order == []
    for thread in threads:
        thread.join(10)
    assert order == [0, 1, 2, 3, 4]


def test_a_failure_gives_its_turn_back() -> None:
    turns = Turns(1)
    for _ in range(2):
        try:
            with turns.take():
                raise ValueError
        except ValueError:
            continue
    assert turns.min_interval_seconds() == 0
    with turns.take():
        assert turns._busy == {False: 1, True: 0}
        assert turns.min_interval_seconds() == PACE_SECONDS


@pytest.mark.parametrize(("slots", "large"), [(0, 1), (2, 1), (4, 1), (6, 2), (8, 3), (16, 4)])
def test_large_batches_leave_slots_to_small_ones(slots: int, large: int) -> None:
    assert large_turns(4, slots) == large


def test_as_many_large_batches_work_as_the_executors_have_room_for_now() -> None:
    slots, works, ends = [6], threading.Event(), threading.Event()
    turns = Turns(4, lambda: slots[0])

    def work() -> None:
        with turns.take():
            works.set()
            ends.wait(10)

    waiting = threading.Thread(target=work)
    with turns.take(), turns.take():
        waiting.start()
        assert not works.wait(0.05)
        slots[0] = 10
        with turns.take():
            assert works.wait(10)
    ends.set()
    waiting.join(10)
