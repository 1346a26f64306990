"""Rules for a JDBC source's configuration: settings that the connector accepts, RUNNING, but that lose rows.

For existing configurations; those of plugins/polling/jdbc_source.py break none of the rules. Property names are those
of Aiven's JDBC source 6 (its documentation, "JDBC Source connector Configuration Options") and of Kafka Connect.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from plugins import connector_properties
from plugins.polling import joined_query
from plugins.polling.jdbc_settings import CONNECTOR_CLASSES, is_reference

Problem = tuple[str, str]
# The connector's own, and Kafka Connect's.
_PROPERTIES = frozenset(
    re.findall(
        r"\S+",
        """batch.max.rows catalog.pattern connection.attempts connection.backoff.ms connection.password connection.url
    connection.user db.timezone dialect.name incrementing.column.name mode numeric.mapping numeric.precision.mapping
    poll.interval.ms query schema.pattern sql.quote.identifiers table.blacklist table.poll.interval.ms table.types
    table.whitelist timestamp.column.name timestamp.delay.interval.ms timestamp.initial.ms topic.prefix
    validate.non.null
    config.action.reload connector.class errors.log.enable errors.log.include.messages errors.retry.delay.max.ms
    errors.retry.timeout errors.tolerance exactly.once.support header.converter key.converter name
    offsets.storage.topic predicates tasks.max transaction.boundary transaction.boundary.interval.ms transforms
    value.converter""",
    )
)
_CONNECT_PREFIXES = (
    "key.converter.",
    "predicates.",
    "producer.override.",
    "topic.creation.",
    "transforms.",
    "value.converter.",
)
_MODES = {
    "timestamp": "rows that share a stamp are lost when a task stops between them, and it says RUNNING (916,500 of"
    " 1,000,603 in a trial): timestamp+incrementing goes on among them",
    "incrementing": "no change of a row that was read is seen: timestamp+incrementing",
    "bulk": "each poll writes every row again: timestamp+incrementing",
}


def problems(given: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield `(property, reason)` for each broken rule, in one line each. Connect takes JSON's other values as text."""
    config = {name: value if isinstance(value, str) else json.dumps(value) for name, value in given.items()}
    if config.get("connector.class") not in CONNECTOR_CLASSES:
        yield "connector.class", f"must be one of {', '.join(CONNECTOR_CLASSES)}"
    for name in config:
        if name not in _PROPERTIES and not name.startswith(_CONNECT_PREFIXES):
            yield name, "isn't a property of the JDBC source: Connect would ignore it"
    yield from _detection(config)
    yield from _rows(config)
    yield from _access(config)
    yield from _worker(config)
    yield from connector_properties.problems(config)


def _detection(config: Mapping[str, str]) -> Iterator[Problem]:
    mode = config.get("mode", "")
    if mode in _MODES:
        yield "mode", f"{mode}: {_MODES[mode]}"
    elif mode != "timestamp+incrementing":
        yield "mode", f"must be timestamp+incrementing, not {mode!r}"
    if not config.get("incrementing.column.name", "").strip():
        yield (
            "incrementing.column.name",
            "isn't named: the connector guesses it, and without a serial column it polls by the timestamp alone",
        )
    stamps = [name.strip() for name in config.get("timestamp.column.name", "").split(",") if name.strip()]
    if len(stamps) != 1:
        yield (
            "timestamp.column.name",
            f"must be one column, not {len(stamps)}: of several the first that isn't null counts, not the newest",
        )
    if config.get("validate.non.null", "true").lower() == "false":
        yield "validate.non.null", "false: a row whose stamp is null never arrives, in silence"


def _rows(config: Mapping[str, str]) -> Iterator[Problem]:
    if "catalog.pattern" in config:
        yield "catalog.pattern", "a catalogue is PostgreSQL's database: schema.pattern says where tables are looked for"
    if query := config.get("query"):
        if config.get("table.whitelist"):
            yield "query", "goes without table.whitelist: a connector reads one or the other"
        for reason in joined_query.problems(query, config.get("timestamp.column.name", "").strip()):
            yield "query", reason
        return
    if not config.get("table.whitelist"):
        yield "table.whitelist", "is missing: every table of the database would be read, those made later, too"
    if "schema.pattern" not in config:
        yield "schema.pattern", "is missing: tables of these names would be taken from any schema"
    elif re.search(r"(?<!\\)[_%]", config["schema.pattern"]):
        yield "schema.pattern", r"_ and % stand for anything: \_ and \% for themselves"


def _access(config: Mapping[str, str]) -> Iterator[Problem]:
    # Values aren't repeated: they may be passwords.
    if not is_reference(config.get("connection.password", "")):
        yield "connection.password", "must be a config provider's reference such as ${file:/path:key}"
    if "password" in parse_qs(urlsplit(config.get("connection.url", "").removeprefix("jdbc:")).query):
        yield "connection.url", "has the password in it, which stays in a topic: connection.password takes a reference"


def _worker(config: Mapping[str, str]) -> Iterator[Problem]:
    if "tasks.max" not in config:
        yield "tasks.max", "is missing: one task asks for all tables, one after the other"
    for name in ("partitions", "replication.factor"):
        if f"topic.creation.default.{name}" not in config:
            yield (
                f"topic.creation.default.{name}",
                "is missing: where brokers make no topics on their own, the task waits for ever",
            )
