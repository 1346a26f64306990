"""What Debezium's configuration may say beside ours, and what would lose changes: names, values and why.

Meanings are those of Debezium 3.7's PostgreSQL connector (its documentation, "Connector properties", and the
descriptions in the connector itself) and of Kafka Connect's producer, as far as an environment may override it.
"""

from collections.abc import Iterator, Mapping

# What the stacks and the job decide, whatever the value: where events go, what they are keyed and made of.
CONTRADICTIONS: Mapping[str, str] = {
    "column.exclude.list": "the job's schema has every column of the outbox: take it out",
    "column.include.list": "the job's schema has every column of the outbox: take it out",
    "converters": "the job reads values as Debezium writes them: take it out",
    "errors.tolerance": "all would skip what can't be converted, and a source has no dead-letter topic: take it out",
    "heartbeat.action.query": "the heartbeat also sends what the outbox has queued: take it out",
    "message.key.columns": "the order of changes is kept per key, and the table has the outbox's: take it out",
    "message.prefix.exclude.list": "messages in the log have no topic of their own: take it out",
    "message.prefix.include.list": "messages in the log have no topic of their own: take it out",
    "post.processors": "the job reads values as Debezium writes them: take it out",
    "schema.exclude.list": "the outbox is all that is captured (table.include.list): take it out",
    "schema.include.list": "the outbox is all that is captured (table.include.list): take it out",
    "table.exclude.list": "the outbox is all that is captured (table.include.list): take it out",
    "topic.delimiter": "the sink reads the topic under its name: take it out",
    "topic.heartbeat.prefix": "the connector may write the heartbeat's topic under its name alone: take it out",
    "topic.naming.strategy": "the sink reads the topic under its name: take it out",
}
# The transformation and the converters are the job's input: none is added to those that we name.
_CONTRADICTING_PREFIXES = (
    "key.converter.",
    "predicates",
    "transforms.",
    "value.converter.",
    "snapshot.select.statement.overrides",
)
# Name → the values that lose nothing, and what others do.
_SAFE: Mapping[str, tuple[frozenset[str], str]] = {
    "flush.lsn.source": (
        frozenset({"true"}),
        "the slot would never move on, and fill the database's disk until it is dropped: take it out",
    ),
    "heartbeat.interval.ms": (
        frozenset(str(ms) for ms in range(1_000, 60_001, 1_000)),
        "0 switches the heartbeat off, by which the slot moves on and the outbox's queue is sent: from 1000 to 60000",
    ),
    "lsn.flush.mode": (
        frozenset({"connector"}),
        "the slot moves on when the connector says what it has sent; nobody else does: take it out",
    ),
    "offset.mismatch.strategy": (
        frozenset({"no_validation", "fail"}),
        "following the slot or the offset, whichever is ahead, passes over what lies between: take it out",
    ),
    "producer.override.acks": (
        frozenset({"all", "-1"}),
        "an event that one broker alone has is gone with it, and Debezium doesn't send it again: set all",
    ),
    "producer.override.enable.idempotence": (
        frozenset({"true"}),
        "a producer that tries again could write an event twice, the older one last: set true, or take it out",
    ),
    "producer.override.max.in.flight.requests.per.connection": (
        frozenset({"1"}),
        "what is tried again would overtake what came before: set 1, or take it out",
    ),
    "producer.override.retries": (
        frozenset({"2147483647"}),
        "a broker that is away for a moment would end the task: take it out",
    ),
    "publication.autocreate.mode": (
        frozenset({"disabled"}),
        "the publication is the source preparation's; another one would leave changes out: take it out",
    ),
    "skipped.operations": (
        frozenset({"none", "t"}),
        "these operations would never reach the lake: take it out",
    ),
    "slot.drop.on.stop": (
        frozenset({"false"}),
        "what is written until the connector starts again would be gone with the slot (Debezium: for testing only): "
        "set false, or take it out",
    ),
    "snapshot.isolation.mode": (
        frozenset({"serializable", "repeatable_read"}),
        "rows that change during a snapshot could be missing from it: take it out",
    ),
    "snapshot.mode": (
        frozenset({"initial", "when_needed", "always"}),
        "what was there before the connector, or changes after its snapshot, wouldn't be captured: set initial",
    ),
}
LOSING = frozenset(_SAFE)


def contradiction(name: str) -> str | None:
    """Say why a property can't be added to the source's configuration in any environment; None when it can."""
    if name.startswith(_CONTRADICTING_PREFIXES):
        return "the job relies on rows as they are, transformed and converted as we do: take it out"
    return CONTRADICTIONS.get(name)


def losses(config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield `(property, reason)` for what would lose changes, or keep them from the lake for ever."""
    for name, value in config.items():
        safe, reason = _SAFE.get(name, (frozenset({value}), ""))
        if value.strip().lower() not in safe and value not in safe:
            yield name, f"{value!r}: {reason}"
