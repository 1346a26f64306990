"""Properties that both connectors' configurations share."""

from collections.abc import Mapping

JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
# What brokers allow at the least (group.min.session.timeout.ms): a dead member holds its share for so long.
SHORTEST_SESSION_MS = 6_000


def override(client: str, properties: Mapping[str, str]) -> dict[str, str]:
    """Return properties of the clients that Kafka Connect makes for a connector: `client` is producer or consumer."""
    return {f"{client}.override.{name}": value for name, value in properties.items()}


def session(timeout_ms: int) -> dict[str, str]:
    """Return how a member of a group shows that it lives: three times within the time after which it counts as dead."""
    return {"session.timeout.ms": str(timeout_ms), "heartbeat.interval.ms": str(timeout_ms // 3)}


def converters() -> dict[str, str]:
    """Take and leave values as JSON without schemas."""
    return {
        "key.converter": JSON_CONVERTER,
        "key.converter.schemas.enable": "false",
        "value.converter": JSON_CONVERTER,
        "value.converter.schemas.enable": "false",
    }
