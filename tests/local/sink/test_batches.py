import pytest

from local.sink.batch import Batch
from local.sink.batches import OpenBatches
from local.sink.layout import Layout
from local.sink.partition import Partition
from tests.local.sink.fakes import task_settings

TOPICS = tuple(f"table-{number}" for number in range(3))
LAYOUTS = [Layout(statement) for statement in task_settings(topics=TOPICS, flush_interval_seconds=10).statements]


def opened(*, count: int = 3, now: float = 0.0) -> OpenBatches:
    batches = OpenBatches()
    for layout in LAYOUTS[:count]:
        batches.put(Batch(layout, 0, 0), now)
    return batches


def add(batches: OpenBatches, topic: str, now: float, value: bytes = b"1") -> None:
    batch = batches.get(Partition(topic, 0))
    assert batch is not None
    before = batch.size_bytes
    batch.add(value, offset=batch.end, timestamp_ms=0, now=now)
    batches.changed(batch, batch.size_bytes - before, now)


def due(batches: OpenBatches, now: float) -> list[str]:
    return [batch.partition.topic for batch in batches.due(now)]


def test_nothing_is_due_of_empty_batches() -> None:
    assert due(opened(), 1e9) == []
    assert opened().next_in(0.0) is None


def test_each_batch_is_due_by_its_own_age_the_oldest_first() -> None:
    batches = opened()
    add(batches, "table-1", 1.0)
    add(batches, "table-0", 2.0)
    assert batches.next_in(3.0) == 8.0
    assert due(batches, 10.9) == []
    assert due(batches, 11.0) == ["table-1"]
    assert due(batches, 13.0) == ["table-1", "table-0"]
    assert batches.next_in(13.0) == 0.0


def test_a_full_batch_is_due_at_once() -> None:
    batches = opened()
    for _ in range(3):
        add(batches, "table-2", 5.0)
    assert due(batches, 5.0) == ["table-2"]


def test_a_batch_that_was_landed_or_dropped_isnt_due_any_more() -> None:
    batches = opened()
    for topic in TOPICS[:2]:
        add(batches, topic, 0.0)
    landed = batches.get(Partition("table-0", 0))
    assert landed is not None
    assert due(batches, 10.0) == ["table-0", "table-1"]
    batches.put(landed.next(None, 10.0), 10.0)
    batches.drop(Partition("table-1", 0))
    assert due(batches, 100.0) == []


def test_the_bytes_of_all_batches_are_counted() -> None:
    batches = opened()
    for topic, value in zip(TOPICS, (b"1", b"12345", b"12"), strict=True):
        add(batches, topic, 0.0, value)
    assert batches.size_bytes == 2 + 6 + 3
    assert batches.largest().partition.topic == "table-1"
    batches.drop(Partition("table-1", 0))
    assert batches.size_bytes == 5
    batches.clear()
    assert batches.size_bytes == 0


def test_a_record_costs_no_look_at_the_other_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0
    due_in = Batch.due_in

    def counted(self: Batch, now: float) -> float | None:
        nonlocal looks
        looks += 1
        return due_in(self, now)

    batches = opened()
    monkeypatch.setattr(Batch, "due_in", counted)
    add(batches, "table-0", 1.0)
    batches.due(1.0)
    batches.next_in(1.0)
    assert looks == 1
