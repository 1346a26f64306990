"""The maximum size of a change event, and the limits of Kafka's clients and brokers that follow from it.

One number decides: the bytes of the event's JSON value in the topic, uncompressed. The source refuses larger events;
every later limit is derived here, each wider than the one before, so that what the source accepts passes them all.
Sources: Kafka 3.9's configuration pages and KIP-74.
"""

from dataclasses import dataclass

MIB = 1024 * 1024
LARGEST_EVENT_BYTES = 16 * MIB
# Jackson, which the sink and Spark use to read JSON, accepts texts of up to 20,000,000 characters.
LARGEST_SETTING_BYTES = 19 * MIB
# The producer also counts key, headers and framing; the broker the batch, which grows if it can't be compressed.
HEADROOM_BYTES = MIB
# Kafka's defaults, where they are larger.
_BUFFER_MEMORY = 32 * MIB
_FETCH_BYTES = 50 * MIB
COMPRESSION = "zstd"
# Heap of the Connect worker on this machine; on AWS our assumption for an MCU's 4 GiB, as MSK Connect documents none.
LOCAL_HEAP_BYTES, MCU_HEAP_BYTES = 512 * MIB, 2_048 * MIB
# A polled event's memory as a multiple of its size: as bytes, as a map, as a line, with some reserve.
_COPIES = 8
# Kafka's default, and the fraction of the heap for one fetch.
_POLLED_EVENTS, _FETCHES = 500, 16


@dataclass(frozen=True)
class SizeLimits:
    """Kafka's limits for events of at most `event_bytes` bytes; settings allow LARGEST_SETTING_BYTES at the most."""

    event_bytes: int = LARGEST_EVENT_BYTES

    @property
    def request_bytes(self) -> int:
        """A producer's limit per record, before compression."""
        return self.event_bytes + HEADROOM_BYTES

    @property
    def message_bytes(self) -> int:
        """A broker's limit per batch, as compressed."""
        return self.request_bytes + HEADROOM_BYTES

    @property
    def producer(self) -> dict[str, str]:
        return {
            "max.request.size": str(self.request_bytes),
            # A record needs its space at once; space for two lets the next one be prepared meanwhile.
            "buffer.memory": str(max(_BUFFER_MEMORY, 2 * self.request_bytes)),
            "compression.type": COMPRESSION,
        }

    @property
    def consumer(self) -> dict[str, str]:
        """A consumer's properties, by names that Java's and librdkafka share."""
        return {
            "max.partition.fetch.bytes": str(self.message_bytes),
            "fetch.max.bytes": str(max(_FETCH_BYTES, self.message_bytes)),
        }

    def sink(self, heap_bytes: int) -> dict[str, str]:
        """Return the properties of a sink's consumer; `heap_bytes`: its task's share of the worker's heap.

        Fetch limits count compressed bytes, so a poll is bounded by how many of the largest events fit.
        """
        return {
            **self.consumer,
            "fetch.max.bytes": str(max(self.message_bytes, min(_FETCH_BYTES, heap_bytes // _FETCHES))),
            "max.poll.records": str(max(1, min(_POLLED_EVENTS, heap_bytes // (_COPIES * self.event_bytes)))),
        }

    @property
    def topic(self) -> dict[str, str]:
        """The properties of a topic for events: it accepts them whatever the brokers' current limit."""
        return {"max.message.bytes": str(self.message_bytes)}

    @property
    def broker(self) -> dict[str, str]:
        return {
            "message.max.bytes": str(self.message_bytes),
            "replica.fetch.max.bytes": str(self.message_bytes),
            "replica.fetch.response.max.bytes": str(self.message_bytes),
            "compression.type": "producer",
        }


# Keys derived from the size setting: a connector's own configuration can't set them.
DERIVED_KEYS = frozenset(
    {
        "max.queue.size.in.bytes",
        "topic.creation.default.max.message.bytes",
        "topic.creation.default.compression.type",
        *(f"producer.override.{name}" for name in SizeLimits().producer),
        *(f"consumer.override.{name}" for name in SizeLimits().sink(LOCAL_HEAP_BYTES)),
    }
)
