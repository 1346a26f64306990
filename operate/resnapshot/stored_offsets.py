"""Reads a source connector's stored offsets on AWS from its own topic, which Kafka Connect writes.

On one machine the worker's REST API shows them; MSK Connect has none, and on EKS the topic is the same.
"""

import json
from typing import Any

from confluent_kafka import TopicPartition

from local.resnapshot.run import Connector
from operate.kafka.reader import REQUEST_TIMEOUT_S, Reader


class StoredOffsets:
    """The newest offset of each of a connector's sources; reading resumes where it stopped before.

    Methods raise KafkaException, and `failure` PlatformError.
    """

    def __init__(self, messages: Reader, topic: str, connector: Connector) -> None:
        self._messages = messages
        self._topic = topic
        self._connector = connector
        self._next: dict[int, int] = {}
        self._newest: dict[bytes, dict[str, Any]] = {}

    def offsets(self) -> list[dict[str, Any]]:
        """Return the offsets, as the connector wrote them; none while it hasn't stored any."""
        places, ends = [], {}
        for partition in self._messages.partitions().get(self._topic, []):
            first, end = self._messages.bounds(self._topic, partition)
            place = max(first, self._next.get(partition, 0))
            if place < end:
                places.append(TopicPartition(self._topic, partition, place))
                ends[partition] = end
        if places:
            self._messages.assign(places)
        while ends and (message := self._messages.poll(REQUEST_TIMEOUT_S)) is not None:
            partition, after = message.partition() or 0, (message.offset() or 0) + 1
            self._take(message.key(), message.value())
            self._next[partition] = after
            if after >= ends.get(partition, after):
                ends.pop(partition, None)
        return list(self._newest.values())

    def failure(self) -> str | None:
        """Return that the connector has failed."""
        return self._connector.failure()

    def _take(self, key: object, value: object) -> None:
        """Keep the newest message per source of Connect's compacted topic; one without a value revokes it."""
        source = key if isinstance(key, bytes) else str(key).encode()
        if isinstance(value, bytes | str) and value:
            self._newest[source] = json.loads(value)
        else:
            self._newest.pop(source, None)
