from dataclasses import replace

import pytest

from contract.sizes import MIB, SizeLimits
from plugins.connector_properties import rename
from plugins.connector_settings import SinkSettings, SourceSettings
from plugins.sink.kcql import parse_all
from plugins.sink.sink_connector import (
    ASSIGNMENT,
    ROUND_ROBIN,
    parquet_sink,
    parquet_statement,
    problems,
    sink_connector,
)
from plugins.source.source_connector import source_connector
from tests.plugins.conftest import SINK, SOURCE

# A decision, and the connector property that follows. What is always set: tests/snapshots/dev/connectors.json.
DECIDED: list[tuple[SourceSettings | SinkSettings, dict[str, str | None]]] = [
    (SOURCE, {"driver.sslfactory": None}),
    (
        replace(SOURCE, heartbeat_interval_ms=1_000),
        {"heartbeat.interval.ms": "1000", "heartbeat.action.query": "CALL datalake.outbox_beat()"},
    ),
    (
        replace(SOURCE, database_sslmode="verify-full", database_root_certificate="ca.pem", poll_interval_ms=50),
        {
            "database.sslmode": "verify-full",
            "driver.sslfactory": "org.postgresql.ssl.SingleCertValidatingFactory",
            "driver.sslfactoryarg": "classpath:ca.pem",
            "poll.interval.ms": "50",
        },
    ),
    (SINK, {ASSIGNMENT: None}),
    (
        replace(SINK, endpoint="http://127.0.0.1:9000"),
        {"connect.s3.custom.endpoint": "http://127.0.0.1:9000", "connect.s3.path.style.access": "true"},
    ),
    (
        replace(SINK, dead_letter_topic="demo.dead"),
        {
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": "demo.dead",
            "errors.log.include.messages": "false",
            # It takes what the topic took.
            "producer.override.max.request.size": str(SizeLimits().request_bytes),
        },
    ),
    (replace(SINK, topics=("a", "b")), {ASSIGNMENT: ROUND_ROBIN}),
    (replace(SINK, partition_by=("customer_id",), flush_bytes=1_000), {}),
]


@pytest.mark.parametrize(("settings", "says"), DECIDED)
def test_a_connector_says_what_is_decided(settings: SourceSettings | SinkSettings, says: dict[str, str | None]) -> None:
    config = source_connector(settings) if isinstance(settings, SourceSettings) else sink_connector(settings)
    # tests/local/sink/test_settings.py has the cases of what a sink may say, one by one.
    assert isinstance(settings, SourceSettings) or not list(problems(config))
    assert {name: config.get(name) for name in says} == says
    assert "name" not in config
    assert all(isinstance(value, str) for value in config.values())


def test_both_connectors_carry_the_largest_event() -> None:
    largest = 19 * MIB
    limits = SizeLimits(largest)
    source = source_connector(replace(SOURCE, largest_event_bytes=largest))
    assert {name: source[f"producer.override.{name}"] for name in limits.producer} == limits.producer
    assert int(source["max.queue.size.in.bytes"]) >= largest
    sink = sink_connector(replace(SINK, largest_event_bytes=largest))
    consumer = limits.sink(SINK.heap_bytes)
    assert {name: sink[f"consumer.override.{name}"] for name in consumer} == consumer


def test_the_source_decides_nothing_about_its_topics() -> None:
    creation = {name: value for name, value in source_connector(SOURCE).items() if name.startswith("topic.creation.")}
    assert len(creation) == 2
    assert set(creation.values()) == {"-1"}


def test_several_topics_get_a_statement_each_with_the_same_settings() -> None:
    settings = replace(SINK, topics=("demo.public.orders", "demo.public.update"), flush_bytes=9)
    config = sink_connector(settings)
    assert config["topics"] == "demo.public.orders,demo.public.update"
    first, second = config["connect.s3.kcql"].split("; ")
    assert first == (
        "INSERT INTO landing:cdc-events SELECT * FROM demo.public.orders STOREAS `JSON`"
        " PROPERTIES('flush.interval'=60,'flush.count'=5000,'flush.size'=9)"
    )
    assert second == first.replace("demo.public.orders", "`demo.public.update`")
    assert parse_all(config["connect.s3.kcql"]) == settings.statements


def test_folders_by_field_are_for_one_topic_and_come_with_a_warning() -> None:
    [warning] = replace(SINK, partition_by=("k",)).warnings
    assert warning.startswith("PARTITIONBY k: ")
    with pytest.raises(ValueError, match=r"^partition_by goes with one topic alone"):
        replace(SINK, topics=("a", "b"), partition_by=("k",))


def test_all_problems_are_named_at_once() -> None:
    config = sink_connector(SINK) | {"conect.s3.kcql": "x", "errors.tolerance": "all"}
    del config["connect.s3.kcql"]
    assert [name for name, _ in problems(config)] == ["conect.s3.kcql", "connect.s3.kcql", "errors.tolerance"]


def test_records_with_their_types_become_compressed_parquet() -> None:
    plain, parquet = sink_connector(SINK), parquet_sink(SINK)
    assert parquet.items() - plain.items() == {
        ("connect.s3.kcql", plain["connect.s3.kcql"].replace("`JSON`", "`PARQUET`")),
        ("connect.s3.compression.codec", "GZIP"),
        ("key.converter.schemas.enable", "true"),
        ("value.converter.schemas.enable", "true"),
    }
    assert plain.keys() <= parquet.keys()


def test_the_folders_field_is_no_column_of_the_file_and_what_folders_have_lost_is_said() -> None:
    # It leaves last, so that it may be renamed before.
    config = parquet_sink(SINK, steps=rename({"country": "land"}), folder="land")
    assert "PARTITIONBY _header.land STOREAS" in config["connect.s3.kcql"]
    assert config["transforms"] == "rename,toHeader"
    assert config["transforms.toHeader.operation"] == "move"
    assert config["transforms.toHeader.fields"] == config["transforms.toHeader.headers"] == "land"
    [warning] = parquet_statement(SINK, "country").warnings
    assert warning.startswith("PARTITIONBY country:")
    assert parquet_statement(SINK).warnings == ()


@pytest.mark.parametrize("folder", ["a b", "limit", "a.b"])
def test_folders_that_kcql_cannot_name_are_refused(folder: str) -> None:
    with pytest.raises(ValueError, match=r"^partition_by must be"):
        parquet_sink(SINK, folder=folder)
