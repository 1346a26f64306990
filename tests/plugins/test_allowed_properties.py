"""Allowed additions to connectors' configurations, checked against Debezium, Kafka Connect and Kafka's clients.

The S3 sink's classes are on no package registry: docs/decisions/0040.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from local.tools.worker_classes import jvm
from plugins.allowed_properties import OF_SINKS, OF_SOURCES, UNKNOWN, AllowedProperties
from plugins.source.captured import CapturedTable
from plugins.source.source_connector import following_slot, source_connector
from tests.plugins.conftest import SOURCE

OF_TABLES = replace(
    SOURCE,
    database_sslmode="verify-full",
    database_root_certificate="ca.pem",
    tables=(CapturedTable(schema="public", table="people", key=("id",), leave_out=("a",), hashed=("b",)),),
    signal_table="lake.signal",
)
CONFIG = "io.debezium.connector.postgresql.PostgresConnectorConfig"
FIELD = "io.debezium.config.Field"
# Prefixes that Debezium and Connect accept: the rest of the name belongs to another component.
OPEN = ("driver.", "every.", "hashed.", "key.converter", "predicates", "transforms", "value.converter")
PRODUCER, CONSUMER = "producer.override.", "consumer.override."
UNWRAP = "transforms.unwrap."


@pytest.fixture(scope="module")
def java() -> Iterator[Any]:
    with jvm() as gateway:
        yield gateway.jvm


@pytest.fixture(scope="module")
def debezium(java: Any) -> frozenset[str]:
    """The names of all fields of Debezium's connector, including undocumented ones."""
    connector = java.io.debezium.connector.postgresql.PostgresConnectorConfig
    every = java.java.util.stream.StreamSupport.stream(connector.ALL_FIELDS.spliterator(), False).toList()
    fields = [field.name() for field in every]
    config = connector.configDef().getClass().getClassLoader().loadClass(CONFIG)
    while config.getName() != "java.lang.Object":
        found = [field for field in config.getDeclaredFields() if field.getType().getName() == FIELD]
        fields += [field.get(None).name() for field in found if field.trySetAccessible()]
        config = config.getSuperclass()
    return frozenset(fields)


def names(java: Any, kind: str) -> set[str]:
    config = getattr(java.org.apache.kafka.connect.runtime, f"{kind}ConnectorConfig")
    return set(config.configDef().names())


def clients(java: Any) -> set[str]:
    """The properties of Kafka's clients that a connector may override."""
    kafka = java.org.apache.kafka.clients
    return {f"{PRODUCER}{name}" for name in kafka.producer.ProducerConfig.configNames()} | {
        f"{CONSUMER}{name}" for name in kafka.consumer.ConsumerConfig.configNames()
    }


def refused(java: Any, config: Mapping[str, str]) -> dict[str, list[str]]:
    """Complaints of Debezium, Connect and the producer about a source configuration, by property."""
    of_debezium = java.io.debezium.config.Configuration
    fields = java.io.debezium.connector.postgresql.PostgresConnectorConfig.ALL_FIELDS
    given = java.java.util.HashMap()
    producer = java.java.util.HashMap()
    for name in ("key.serializer", "value.serializer"):
        producer.put(name, "org.apache.kafka.common.serialization.ByteArraySerializer")
    for name, value in config.items():
        given.put(name, value)
        if name.startswith(PRODUCER):
            producer.put(name.removeprefix(PRODUCER), value)
    values = [
        *getattr(of_debezium, "from")(given).validate(fields).values(),
        *java.org.apache.kafka.clients.producer.ProducerConfig.configDef().validate(producer),
    ]
    return {value.name(): list(value.errorMessages()) for value in values if value.errorMessages()}


@pytest.mark.integration
def test_whatever_debezium_and_connect_know_is_allowed_or_has_a_reason(java: Any, debezium: frozenset[str]) -> None:
    assert len(debezium) > 140
    known = {*debezium, *names(java, "Source"), *(name for name in clients(java) if name.startswith(PRODUCER))}
    assert [name for name in sorted(known) if _is_unknown(OF_SOURCES, name)] == []
    of_sinks = {*names(java, "Sink"), *(name for name in clients(java) if name.startswith(CONSUMER))}
    assert [name for name in sorted(of_sinks) if _is_unknown(OF_SINKS, name)] == []


@pytest.mark.integration
def test_nothing_is_allowed_or_refused_that_isnt_there(java: Any, debezium: frozenset[str]) -> None:
    known = {*debezium, *names(java, "Source"), *clients(java), *OPEN}
    assert OF_SOURCES.names <= known
    assert [begin for begin in OF_SOURCES.refused if not any(name.startswith(begin) for name in known)] == []
    sink = [name for name in OF_SINKS.names if not name.startswith("connect.s3.")]
    assert set(sink) <= names(java, "Sink") | clients(java)


@pytest.mark.integration
def test_debezium_takes_every_number_and_word_that_is_allowed(java: Any) -> None:
    allowed, made = OF_SOURCES, source_connector(SOURCE)
    assert refused(java, made) == refused(java, source_connector(OF_TABLES)) == {}
    # A queue's and a batch's sizes are checked together: alone, each meets Debezium's default for the other.
    for together in (allowed.numbers, ["max.queue.size"], ["max.batch.size"]):
        for bound in (0, 1):
            added = {name: str(allowed.numbers[name][bound]) for name in together}
            assert refused(java, made | added) == {}
    for name, words in allowed.words.items():
        assert [word for word in words if refused(java, made | {name: word})] == []


@pytest.mark.integration
def test_debezium_knows_every_property_of_the_source(java: Any, debezium: frozenset[str]) -> None:
    config = following_slot(source_connector(OF_TABLES))
    known = debezium | names(java, "Source") | clients(java)
    known |= {f"topic.creation.default.{name}" for name in ("partitions", "replication.factor")}
    assert {name for name in config if not name.startswith(OPEN)} <= known
    unwrap = java.io.debezium.transforms.ExtractNewRecordState().config().names()
    ours = {name.removeprefix(UNWRAP) for name in config if name.startswith(UNWRAP)}
    assert ours - {"type"} <= set(unwrap)
    # Names of 2021.
    assert not {"database.server.name", "delete.handling.mode", "schema.include"} & (known | set(unwrap))


def _is_unknown(allowed: AllowedProperties, name: str) -> bool:
    return UNKNOWN in (allowed.problem(name, "?") or "")


# As production accepted them: properties of Debezium and Connect themselves, misspelt ones, values out of any bounds.
ODD = {
    "column.truncate.to.5.chars": "public.a.b",
    "connector.client.config.override.policy": "All",
    "database.initial.statements": "SET default_transaction_read_only = on",
    "driver.sslmode": "disable",
    "errors.max.retries": "0",
    "event.processing.failure.handling.mode": "skip",
    "field.name.adjustment.mode": "avro",
    "heartbeat.interval.ms": "0",
    "max.batch.size": "8192",
    "max.queue.size": "2048",
    "misspelt.property": "1",
    "offset.mismatch.strategy": "trust_slot",
    "poll.interval.ms": "\uff15",
    "poll.interval.mss": "5",
    "producer.override.acks": "1",
    "producer.override.bootstrap.servers": "elsewhere:9092",
    "producer.override.linger.ms": "-1",
    "retriable.restart.connector.wait.ms": "1e3",
    "signal.enabled.channels": "",
    "skip.messages.without.change": "true",
    "skipped.operations": "t",
    "slot.seek.to.known.offset.on.start": "false",
    "slot.max.retries": "9" * 5_000,
    "slot.stream.params": "origin=none",
    "snapshot.fetch.size": " 5 ",
    "snapshot.include.collection.list": "public.a",
    "snapshot.mode": "when_needed",
    "table.ignore.builtin": "false",
    "": "",
}


@pytest.mark.parametrize(("name", "value"), ODD.items(), ids=ODD)
def test_an_odd_addition_to_the_source_has_one_reason(name: str, value: str) -> None:
    [(named, reason)] = OF_SOURCES.problems({name: value}, source_connector(SOURCE))
    assert named == name
    assert "\n" not in reason


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("poll.interval.mss", f"{UNKNOWN} (is poll.interval.ms meant?)"),
        ("snapshot.fetch.sizes", "by `./lake resnapshot`: take it out (is snapshot.fetch.size meant?)"),
        ("misspelt.property", UNKNOWN),
        ("poll.interval.ms", "must be a whole number from 1 to 5000, not 'x'"),
        ("errors.log.enable", "must be true or false, not 'x'"),
        ("producer.override.acks", "must be all or -1, not 'x': an event that one broker alone has"),
    ],
)
def test_a_reason_names_the_values_or_the_name_that_may_be_meant(name: str, reason: str) -> None:
    assert reason in (OF_SOURCES.problem(name, "x") or "")


def test_what_says_the_same_as_our_own_is_fine() -> None:
    made = source_connector(SOURCE)
    assert list(OF_SOURCES.problems(made, made)) == []
