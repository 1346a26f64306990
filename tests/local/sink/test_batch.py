from typing import Any

import pytest

from local.sink.settings import MalformedValueError, Partition
from local.sink.values import Batch
from tests.local.sink.fakes import task_settings


def batch(start: int = 0, *, counts_from: float | None = None, **settings: Any) -> Batch:
    [rules] = task_settings(**settings).statements
    return Batch(partition=Partition("orders", 0), rules=rules, start=start, counts_from=counts_from)


def add(to: Batch, *values: bytes | None, now: float = 0.0) -> None:
    for value in values:
        to.add(value, offset=to.end, timestamp_ms=1_000 + to.end, now=now)


def test_an_empty_batch_is_never_due() -> None:
    assert not batch().is_due(1e9)
    assert not batch(counts_from=0.0).is_due(1e9)


@pytest.mark.parametrize(("counts_from", "due_at"), [(None, 110.0), (95.0, 105.0)])
def test_its_age_counts_from_the_flush_before_else_from_its_first_record(
    counts_from: float | None, due_at: float
) -> None:
    open_batch = batch(flush_interval_seconds=10, counts_from=counts_from)
    add(open_batch, b"1", now=100.0)
    add(open_batch, b"2", now=104.0)
    assert [open_batch.is_due(now) for now in (due_at - 0.1, due_at, due_at + 100)] == [False, True, True]


@pytest.mark.parametrize(("flush", "first"), [({"flush_count": 2}, b"1"), ({"flush_bytes": 10}, b"12345678")])
def test_it_is_due_at_its_count_or_size(flush: dict[str, int], first: bytes) -> None:
    open_batch = batch(**{"flush_count": 1_000, **flush})
    add(open_batch, first)
    assert not open_batch.is_due(0.0)
    add(open_batch, b"9")
    assert open_batch.is_due(0.0)


@pytest.mark.parametrize(
    ("times", "tombstones", "key"),
    [((5, 3, 9, 4), 0, "events/orders/0/000000000010_3_9.json"), ((5,), 1, "events/orders/0/000000000007_5_5.json")],
)
def test_the_name_tells_the_last_landed_offset_and_the_range_of_times(
    times: tuple[int, ...], tombstones: int, key: str
) -> None:
    open_batch = batch(start=7)
    for timestamp_ms in times:
        open_batch.add(b"1", offset=open_batch.end, timestamp_ms=timestamp_ms, now=0.0)
    add(open_batch, *[None] * tombstones)
    assert open_batch.key == key
    assert open_batch.end == 7 + len(times) + tombstones


def test_tombstones_alone_leave_no_line() -> None:
    open_batch = batch()
    add(open_batch, None, None, now=5.0)
    assert (open_batch.start, open_batch.end, open_batch.lines) == (0, 2, [])
    assert open_batch.is_due(65.0)


def test_left_out_offsets_are_holes() -> None:
    open_batch = batch(start=5)
    for offset in (5, 6, 9, 12):
        open_batch.add(b"1", offset=offset, timestamp_ms=0, now=0.0)
    assert open_batch.holes == [(7, 9), (10, 12)]


def test_a_malformed_value_leaves_the_batch_as_it_was() -> None:
    open_batch = batch()
    add(open_batch, b'{"k": 1}')
    with pytest.raises(MalformedValueError):
        add(open_batch, b"{")
    assert (open_batch.end, open_batch.lines) == (1, [b'{"k": 1}\n'])
