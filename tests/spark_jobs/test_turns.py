"""Who may work: small batches never wait for large ones, and those come in the order in which they asked."""

import threading
import time

from spark_jobs.turns import Turns


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
    with turns.take():
        assert turns._free == {False: 0, True: 1}
