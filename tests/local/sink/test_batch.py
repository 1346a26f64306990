from typing import Any

import pytest

from local.sink.batch import Batch
from local.sink.errors import MalformedValueError
from local.sink.layout import Layout
from tests.local.sink.fakes import task_settings


def batch(start: int = 0, *, until: int | None = None, **settings: Any) -> Batch:
    return Batch(Layout(task_settings(**settings).statements[0]), 0, start, until=until)


def add(to: Batch, *values: bytes | None, now: float = 0.0) -> None:
    for value in values:
        to.add(value, offset=to.end, timestamp_ms=1_000 + to.end, now=now)


def test_an_empty_batch_is_never_due() -> None:
    assert batch().due_in(1e9) is None
    assert batch().is_empty


def test_a_batch_is_due_when_its_first_record_is_as_old_as_the_interval() -> None:
    open_batch = batch(flush_interval_seconds=10)
    add(open_batch, b"1", now=100.0)
    add(open_batch, b"2", now=109.0)
    assert open_batch.due_in(109.0) == 1.0
    assert open_batch.due_in(110.0) == 0.0
    assert open_batch.due_in(200.0) == 0.0


def test_the_interval_counts_from_the_flush_before() -> None:
    first = batch(flush_interval_seconds=10)
    add(first, b"1", now=0.0)
    busy, idle = first.next("key", 10.0), first.next("key", 10.0)
    add(busy, b"2", now=13.0)
    assert busy.due_in(13.0) == 7.0
    assert idle.due_in(100.0) is None
    add(idle, b"2", now=100.0)
    assert idle.due_in(100.0) == 0.0


def test_a_batch_is_due_at_its_count() -> None:
    open_batch = batch(flush_count=2)
    add(open_batch, b"1")
    assert open_batch.due_in(0.0) == 60.0
    add(open_batch, b"2")
    assert open_batch.due_in(0.0) == 0.0


def test_a_batch_is_due_at_its_size_in_bytes() -> None:
    open_batch = batch(flush_count=1_000, flush_bytes=10)
    add(open_batch, b"12345678")
    assert open_batch.due_in(0.0) == 60.0
    add(open_batch, b"9")
    assert open_batch.due_in(0.0) == 0.0


def test_one_full_key_takes_along_all_open_keys_of_the_partition() -> None:
    open_batch = batch(flush_count=2, partition_by=("k",))
    add(open_batch, b'{"k": 1}', b'{"k": 2}', b'{"k": 3}')
    assert open_batch.due_in(0.0) == 60.0
    add(open_batch, b'{"k": 2}')
    assert open_batch.due_in(0.0) == 0.0
    assert dict(open_batch.objects()) == {
        "events/k=1/orders(0_000000000000).json": b'{"k": 1}\n',
        "events/k=2/orders(0_000000000003).json": b'{"k": 2}\n{"k": 2}\n',
        "events/k=3/orders(0_000000000002).json": b'{"k": 3}\n',
    }


def test_the_name_has_the_earliest_and_the_latest_time() -> None:
    open_batch = batch(start=7)
    for timestamp_ms in (5, 3, 9, 4):
        open_batch.add(b"1", offset=open_batch.end, timestamp_ms=timestamp_ms, now=0.0)
    assert [key for key, _ in open_batch.objects()] == ["events/orders/0/000000000010_3_9.json"]


def test_a_tombstone_at_the_end_is_no_part_of_the_name() -> None:
    open_batch = batch(start=7)
    open_batch.add(b"1", offset=open_batch.end, timestamp_ms=5, now=0.0)
    add(open_batch, None)
    assert [key for key, _ in open_batch.objects()] == ["events/orders/0/000000000007_5_5.json"]
    assert open_batch.end == 9


def test_tombstones_alone_make_no_object_but_a_batch_that_is_committed() -> None:
    open_batch = batch()
    add(open_batch, None, None, now=5.0)
    assert list(open_batch.objects()) == []
    assert (open_batch.start, open_batch.end, open_batch.records) == (0, 2, 0)
    assert open_batch.due_in(5.0) == 60.0


def test_left_out_offsets_are_holes() -> None:
    open_batch = batch(start=5)
    for offset in (5, 6, 9, 12):
        open_batch.add(b"1", offset=offset, timestamp_ms=0, now=0.0)
    assert open_batch.holes == [(7, 9), (10, 12)]


def test_a_malformed_value_leaves_the_batch_as_it_was() -> None:
    open_batch = batch(partition_by=("k",))
    add(open_batch, b'{"k": 1}')
    with pytest.raises(MalformedValueError):
        add(open_batch, b"{")
    assert (open_batch.end, open_batch.records, len(dict(open_batch.objects()))) == (1, 1, 1)


def test_a_batch_landed_again_ends_where_it_ended_before() -> None:
    again = batch(until=5, flush_count=2, flush_interval_seconds=1)
    add(again, b"1", b"2", b"3", b"4")
    assert again.due_in(1e9) is None
    assert not again.may_end
    add(again, b"5")
    assert again.due_in(0.0) == 0.0
    assert again.may_end


def test_the_next_batch_begins_behind() -> None:
    first = batch(until=2)
    add(first, b"1", b"2")
    second = first.next("key", 0.0)
    assert (second.start, second.end, second.until, second.landed) == (2, 2, None, "key")
