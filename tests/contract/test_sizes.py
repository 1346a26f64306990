import pytest

from contract.sizes import DERIVED_KEYS, LARGEST_EVENT_BYTES, LARGEST_SETTING_BYTES, MIB, SizeLimits

SOCKET_REQUEST_BYTES = 100 * MIB
LIBRDKAFKA_RECEIVE_BYTES = 100_000_000


def test_an_event_of_sixteen_megabytes_gets_through_by_default_and_none_that_jackson_refuses() -> None:
    assert 16_000_000 <= SizeLimits().event_bytes == LARGEST_EVENT_BYTES
    assert LARGEST_SETTING_BYTES < 20_000_000


@pytest.mark.parametrize("event_bytes", [MIB, LARGEST_EVENT_BYTES, LARGEST_SETTING_BYTES])
def test_each_limit_lets_pass_what_the_one_before_let_pass(event_bytes: int) -> None:
    limits = SizeLimits(event_bytes)
    request = int(limits.producer["max.request.size"])
    message = int(limits.broker["message.max.bytes"])
    assert limits.topic == {"max.message.bytes": str(message)}
    assert event_bytes < request < message < SOCKET_REQUEST_BYTES
    assert int(limits.producer["buffer.memory"]) >= request
    for name in ("replica.fetch.max.bytes", "replica.fetch.response.max.bytes"):
        assert int(limits.broker[name]) >= message
    fetched = int(limits.consumer["max.partition.fetch.bytes"])
    assert message <= fetched <= int(limits.consumer["fetch.max.bytes"]) < LIBRDKAFKA_RECEIVE_BYTES


@pytest.mark.parametrize(("heap_mib", "events"), [(512, 4), (2_048, 16), (64, 1), (1_000_000, 500)])
def test_a_poll_of_the_largest_events_takes_a_part_of_the_heap(heap_mib: int, events: int) -> None:
    limits = SizeLimits()
    found = limits.sink(heap_mib * MIB)
    assert int(found["max.poll.records"]) == events
    assert limits.message_bytes <= int(found["fetch.max.bytes"]) <= 50 * MIB


def test_every_key_that_follows_from_the_setting_is_known() -> None:
    assert {"producer.override.max.request.size", "consumer.override.max.partition.fetch.bytes"} < DERIVED_KEYS
