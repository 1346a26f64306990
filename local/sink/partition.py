"""Names a partition of a topic: it is read, batched, landed and committed on its own."""

from typing import NamedTuple


class Partition(NamedTuple):
    """A topic partition; written as in Kafka's logs: `orders[0]`."""

    topic: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic}[{self.number}]"
