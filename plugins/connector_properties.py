"""Parts of a connector's configuration: converters, clients' properties, and Connect's own transformations (SMTs)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
# A group member's session timeout: the brokers' minimum (group.min.session.timeout.ms), because a dead member holds its
# share this long. Three heartbeats are within that time.
SESSION = {"session.timeout.ms": "6000", "heartbeat.interval.ms": "2000"}
# Read and write values as JSON without schemas.
CONVERTERS = {
    "key.converter": JSON_CONVERTER,
    "key.converter.schemas.enable": "false",
    "value.converter": JSON_CONVERTER,
    "value.converter.schemas.enable": "false",
}


def check_within(name: str, value: int, low: int, high: int) -> None:
    """Raise ValueError unless a setting is a number within these bounds."""
    if isinstance(value, bool) or not low <= value <= high:
        raise ValueError(f"{name} must be from {low:,} to {high:,}, not {value!r}")


def override(client: str, properties: Mapping[str, str]) -> dict[str, str]:
    """Return properties of the clients that Kafka Connect creates for a connector: `client` is producer or consumer."""
    return {f"{client}.override.{name}": value for name, value in properties.items()}


# Kafka Connect's own transformations and predicates (SMTs) as data: changes that a connector applies to each record.
#
# Names and meanings: Kafka 3.9, "Connect: Transformations". A test looks the properties up in its classes.

STANDARD = "org.apache.kafka.connect.transforms"
_INSERTED = ("topic.field", "partition.field", "offset.field", "timestamp.field", "static.field")


@dataclass(frozen=True)
class Transform:
    """A transformation by its name: its properties, and its predicate's name; `negate`: where that doesn't hold."""

    name: str
    properties: dict[str, str]
    predicate: str | None = None
    negate: bool = False


def properties(steps: Sequence[Transform]) -> dict[str, str]:
    """Return the properties of a connector that applies these steps, in order; none for no step."""
    result = {"transforms": ",".join(step.name for step in steps)} if steps else {}
    for step in steps:
        entry = step.properties | ({"predicate": step.predicate} if step.predicate else {})
        entry |= {"negate": "true"} if step.negate else {}
        result |= {f"transforms.{step.name}.{key}": value for key, value in entry.items()}
    return result


def key_of(column: str) -> tuple[Transform, ...]:
    """Make a column of the value the record's key: its value alone, no structure."""
    return (
        Transform("createKey", {"type": f"{STANDARD}.ValueToKey", "fields": column}),
        Transform("extractKey", {"type": f"{STANDARD}.ExtractField$Key", "field": column}),
    )


def insert_topic(field: str) -> Transform:
    """Write the topic's name into a field of the value."""
    return Transform("insertTopic", {"type": f"{STANDARD}.InsertField$Value", "topic.field": field})


def insert_values(values: Mapping[str, str]) -> tuple[Transform, ...]:
    """Write fixed texts into fields of the value, one step each."""
    return tuple(
        Transform(
            f"insert_{field}", {"type": f"{STANDARD}.InsertField$Value", "static.field": field, "static.value": value}
        )
        for field, value in values.items()
    )


def rename(names: Mapping[str, str]) -> tuple[Transform, ...]:
    """Rename fields of the value; no step for no names. Raises ValueError for names that its list can't contain."""
    if wrong := sorted(name for name in (*names, *names.values()) if not name or set(name) & set(",:")):
        raise ValueError(f"rename: {wrong[0]!r} can't stand in a list of names")
    if not names:
        return ()
    renames = ",".join(f"{old}:{new}" for old, new in names.items())
    return (Transform("rename", {"type": f"{STANDARD}.ReplaceField$Value", "renames": renames}),)


def to_header(field: str) -> Transform:
    """Move a field of the value to a header of that name."""
    return Transform(
        "toHeader", {"type": f"{STANDARD}.HeaderFrom$Value", "fields": field, "headers": field, "operation": "move"}
    )


def problems(config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield `(property, reason)` for steps that do nothing, or that REST accepts with 201 and the task fails on."""
    for name in (part.strip() for part in config.get("transforms", "").split(",") if part.strip()):
        step = f"transforms.{name}"
        kind = config.get(f"{step}.type")
        if kind is None:
            yield f"{step}.type", "is missing: the step is named in transforms"
        elif kind.startswith(f"{STANDARD}.InsertField$"):
            if not any(config.get(f"{step}.{field}") for field in _INSERTED):
                yield step, 'names no field ("No field insertion configured"): give topic.field, or static.field'
            elif config.get(f"{step}.static.field") and f"{step}.static.value" not in config:
                yield f"{step}.static.value", "is missing: nothing would be inserted"
