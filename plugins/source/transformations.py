"""A source connector's processing of each event before its topic: Kafka Connect's transformations and predicates.

Signals are dropped first. Then changes become rows (`unwrap`). A TRUNCATE stops the task; or it bypasses the
unwrapping, which would drop it, and becomes an event of its own (docs/decisions/0021).
"""

import re
from collections.abc import Iterable, Sequence

from contract import events
from contract.table_names import table_topic
from plugins.connector_names import OUTBOX
from plugins.smt import STANDARD, Transform, properties
from plugins.source.captured import CapturedTable
from plugins.workers.worker_classes import IS_TRUNCATE, WITHOUT_DEFAULTS

_UNWRAP, _SIGNALS, _TRUNCATES = "unwrap", "signals", "truncates"
# Fields of Debezium's envelope.
_OPERATION, _SOURCE = "op", "source"


def transformations(tables: Sequence[CapturedTable], prefix: str, signal_table: str | None) -> dict[str, str]:
    """Return the properties that name transformations and predicates, and the operations that Debezium skips.

    Signals are for the connector alone: Debezium would write them to a topic of their own, which doesn't exist. Our
    predicate stops the task at a TRUNCATE of a table with `stops_at_truncate`, and leads the event of one with
    `tells_of_truncate` past the unwrapping. Before that, rows lose their columns' defaults.
    """
    before, predicates = [], {}
    if signal_table is not None:
        topic = table_topic(prefix, *signal_table.split(".", 1))
        before.append(Transform(_SIGNALS, {"type": f"{STANDARD}.Filter"}, _SIGNALS))
        predicates[_SIGNALS] = _topics([topic])
    topics = [table.topic(prefix) for table in tables if table.stops_at_truncate]
    behind = _truncate_events() if any(table.tells_of_truncate for table in tables) else []
    if looked_for := bool(topics or behind):
        predicates[_TRUNCATES] = {"type": IS_TRUNCATE.name, **({"stops": _pattern(topics)} if topics else {})}
    # The outbox has no column with a DEFAULT.
    nulls = [] if tuple(tables) == (OUTBOX,) else [Transform("nulls", {"type": WITHOUT_DEFAULTS.name})]
    unwrap = Transform(_UNWRAP, _unwrap(), _TRUNCATES if looked_for else None, negate=looked_for)
    return {
        **properties([*before, *nulls, unwrap, *behind]),
        **({"predicates": ",".join(predicates)} if predicates else {}),
        **{f"predicates.{name}.{key}": value for name, entry in predicates.items() for key, value in entry.items()},
        # By default Debezium emits no TRUNCATE events.
        **({"skipped.operations": "none"} if looked_for else {}),
    }


def _unwrap() -> dict[str, str]:
    return {
        "type": "io.debezium.transforms.ExtractNewRecordState",
        "delete.tombstone.handling.mode": "rewrite",
        "add.fields": ",".join(events.METADATA_FIELDS),
        "add.fields.prefix": events.PREFIX,
    }


def _truncate_events() -> list[Transform]:
    """Turn a TRUNCATE's envelope into a flat event: the added fields of every event, without a row's."""
    names = {_flat(field): events.added(field) for field in events.METADATA_FIELDS}
    renames = ",".join(f"{flat}:{name}" for flat, name in names.items())
    replace = f"{STANDARD}.ReplaceField$Value"
    steps = {
        "source": {"type": replace, "include": f"{_OPERATION},{_SOURCE}"},
        "flat": {"type": f"{STANDARD}.Flatten$Value", "delimiter": "_"},
        "names": {"type": replace, "include": ",".join(names), "renames": renames},
    }
    return [Transform(f"{_TRUNCATES}{name}", properties, _TRUNCATES) for name, properties in steps.items()]


def _flat(field: str) -> str:
    """Return a Debezium metadata field's name in its flattened envelope: `lsn` is the source's."""
    return field if field == _OPERATION else f"{_SOURCE}_{field.removeprefix(f'{_SOURCE}.')}"


def _topics(names: Iterable[str]) -> dict[str, str]:
    return {"type": f"{STANDARD}.predicates.TopicNameMatches", "pattern": _pattern(names)}


def _pattern(names: Iterable[str]) -> str:
    return "|".join(map(re.escape, names))
