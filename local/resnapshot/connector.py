"""The source connector of the local platform, as a re-snapshot needs it."""

import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaException

from contract.events import LSN
from local.look.topic import Topic
from local.services.connect_api import ConnectApi
from plugins.source.source_connector import following_slot

# The newest events also show deletes, which leave no row in the lake.
TAIL_EVENTS = 1_000


class LocalConnector:
    """A connector on our own worker: it can be stopped, and its stored offsets can be read."""

    def __init__(
        self, api: ConnectApi, topics: Sequence[Topic], name: str, slot: str, configuration: Mapping[str, str]
    ) -> None:
        self._api = api
        self._topics = topics
        self._name = name
        self.slot = slot
        self._configuration = configuration

    def newest_position(self) -> int:
        """Return the highest log position among the stored offset and the topics' newest events."""
        stored = [int(offset.get("lsn") or 0) for offset in self._api.stored_offsets(self._name)]
        return max([*stored, *(position for topic in self._topics for position in _tail(topic))], default=0)

    def failure(self) -> str | None:
        return self._api.failure(self._name)

    def release(self) -> None:
        self._api.stop(self._name)

    def follow_slot(self) -> None:
        self._api.put_connector(self._name, following_slot(self._configuration))
        self._api.resume(self._name)
        self.restart()

    def restart(self) -> None:
        self._api.restart_failed(self._name)

    def settle(self) -> None:
        self._api.put_connector(self._name, self._configuration)
        self._api.resume(self._name)

    def offsets(self) -> list[dict[str, Any]]:
        return self._api.stored_offsets(self._name)


def _tail(topic: Topic) -> list[int]:
    with contextlib.suppress(KafkaException, TimeoutError):
        first, end = topic.bounds()
        events = topic.raw_events(max(first, end - TAIL_EVENTS))
        return [position for event in events if event.value and (position := _position(event.value)) is not None]
    return []


def _position(value: bytes | str) -> int | None:
    """Return an event's log position; None without one, as in a record of foreign origin."""
    with contextlib.suppress(ValueError, TypeError, KeyError):
        return int(json.loads(value)[LSN])
    return None
