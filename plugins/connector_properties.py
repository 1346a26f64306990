"""Properties that both connectors' configurations share."""

from collections.abc import Mapping

JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
# The brokers' minimum (group.min.session.timeout.ms): a dead member holds its share this long.
SHORTEST_SESSION_MS = 6_000


def override(client: str, properties: Mapping[str, str]) -> dict[str, str]:
    """Return properties of the clients that Kafka Connect creates for a connector: `client` is producer or consumer."""
    return {f"{client}.override.{name}": value for name, value in properties.items()}


def session(timeout_ms: int) -> dict[str, str]:
    """Return a group member's session timeout and its heartbeats, three within that time."""
    return {"session.timeout.ms": str(timeout_ms), "heartbeat.interval.ms": str(timeout_ms // 3)}


def converters() -> dict[str, str]:
    """Read and write values as JSON without schemas."""
    return {
        "key.converter": JSON_CONVERTER,
        "key.converter.schemas.enable": "false",
        "value.converter": JSON_CONVERTER,
        "value.converter.schemas.enable": "false",
    }
