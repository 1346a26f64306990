"""How large one change event may be, and what Kafka's clients and brokers need so that it gets through.

One number decides: the bytes of the event's JSON value as it stands in the topic, uncompressed. The source refuses
larger ones; every limit behind it is derived here, each wider than the one before, so that what the source lets
through passes them all. Sources: Kafka 3.9's configuration pages and KIP-74.
"""

from dataclasses import dataclass

MIB = 1024 * 1024
LARGEST_EVENT_BYTES = 16 * MIB
# Jackson, by which the sink and Spark read JSON, takes no text of more than 20,000,000 characters.
LARGEST_SETTING_BYTES = 19 * MIB
# The producer counts key, headers and framing, too; the broker the batch, which grows when it can't be compressed.
HEADROOM_BYTES = MIB
# Kafka's defaults, where they are the larger ones.
_BUFFER_MEMORY = 32 * MIB
_FETCH_BYTES = 50 * MIB
COMPRESSION = "zstd"
# Heap of the Connect worker on this machine; on AWS what we count with of an MCU's 4 GiB: MSK Connect doesn't say its.
LOCAL_HEAP_BYTES, MCU_HEAP_BYTES = 512 * MIB, 2_048 * MIB
# How many times its size a polled event may take: as bytes, as a map, as a line, with room for the rest.
_COPIES = 8
# Kafka's default, and the part of the heap that one fetch may take.
_POLLED_EVENTS, _FETCHES = 500, 16


@dataclass(frozen=True)
class SizeLimits:
    """Kafka's limits for events of at most `event_bytes` bytes. Raises ValueError for what Kafka couldn't carry."""

    event_bytes: int = LARGEST_EVENT_BYTES

    def __post_init__(self) -> None:
        if isinstance(self.event_bytes, bool) or not MIB <= self.event_bytes <= LARGEST_SETTING_BYTES:
            raise ValueError(
                f"largest_event_bytes must be from {MIB:,} to {LARGEST_SETTING_BYTES:,}, not {self.event_bytes!r}"
            )

    @property
    def request_bytes(self) -> int:
        """What a producer may send of one record, before compression."""
        return self.event_bytes + HEADROOM_BYTES

    @property
    def message_bytes(self) -> int:
        """What a broker takes as one batch, as it is compressed."""
        return self.request_bytes + HEADROOM_BYTES

    @property
    def producer(self) -> dict[str, str]:
        """A Java producer's properties."""
        return {
            "max.request.size": str(self.request_bytes),
            # A record needs its room at once; with room for two the next one is made meanwhile.
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

        What is fetched counts as it is compressed: a poll is bounded by how many of the largest events fit.
        """
        return {
            **self.consumer,
            "fetch.max.bytes": str(max(self.message_bytes, min(_FETCH_BYTES, heap_bytes // _FETCHES))),
            "max.poll.records": str(max(1, min(_POLLED_EVENTS, heap_bytes // (_COPIES * self.event_bytes)))),
        }

    @property
    def topic(self) -> dict[str, str]:
        """The properties of a topic that carries events: it takes them whatever the brokers' own limit is just then."""
        return {"max.message.bytes": str(self.message_bytes)}

    @property
    def broker(self) -> dict[str, str]:
        """A broker's properties."""
        return {
            "message.max.bytes": str(self.message_bytes),
            "replica.fetch.max.bytes": str(self.message_bytes),
            "replica.fetch.response.max.bytes": str(self.message_bytes),
            "compression.type": "producer",
        }


# What a connector's own configuration can't say besides the setting that these follow from.
DERIVED_KEYS = frozenset(
    {
        "max.queue.size.in.bytes",
        "topic.creation.default.max.message.bytes",
        "topic.creation.default.compression.type",
        *(f"producer.override.{name}" for name in SizeLimits().producer),
        *(f"consumer.override.{name}" for name in SizeLimits().sink(LOCAL_HEAP_BYTES)),
    }
)
