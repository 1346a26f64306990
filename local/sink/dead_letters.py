"""Receives values that can't be landed, when the configuration names a dead-letter queue."""

from collections.abc import Mapping

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from local.sink.errors import UnavailableError
from local.sink.settings import DeadLetters

DELIVERY_TIMEOUT_S = 10.0


class DeadLetterQueue:
    """A topic that keeps records unchanged, with their origin and the reason in Connect's own headers."""

    def __init__(self, kafka: Mapping[str, str], settings: DeadLetters) -> None:
        self._settings = settings
        self._connection: dict[str, str | int | float | bool] = {**kafka, "log_level": 0}
        self._producer: Producer | None = None

    def send(self, message: Message, reason: str) -> None:
        """Write a record and wait until it is stored. Raises UnavailableError when it isn't."""
        failures: list[KafkaError] = []
        headers = {
            "__connect.errors.topic": str(message.topic()),
            "__connect.errors.partition": str(message.partition()),
            "__connect.errors.offset": str(message.offset()),
            "__connect.errors.exception.message": reason,
        }
        try:
            producer = self._connected()
            producer.produce(
                self._settings.topic,
                key=message.key(),
                value=message.value(),
                headers={name: value.encode() for name, value in headers.items()},
                on_delivery=lambda error, _: failures.append(error) if error else None,
            )
            left = producer.flush(DELIVERY_TIMEOUT_S)
        except KafkaException as error:
            raise UnavailableError(f"{self._settings.topic}: {error.args[0].str()}") from error
        if failures or left:
            self._producer = None
            raise UnavailableError(f"{self._settings.topic}: {failures[0].str() if failures else 'no answer'}")

    def _connected(self) -> Producer:
        """Create the producer at the first use: mostly it isn't needed."""
        if self._producer is None:
            delivery = {"acks": "all", "message.timeout.ms": int(DELIVERY_TIMEOUT_S * 1000)}
            self._producer = Producer({**self._connection, **self._settings.producer, **delivery})
        return self._producer
