from dataclasses import replace

import pytest

from contract.sizes import MIB, SizeLimits
from plugins.connector_settings import SinkSettings, SourceSettings
from plugins.sink.kcql import parse, parse_all
from plugins.sink.sink_connector import sink_connector
from plugins.source.source_connector import source_connector

SOURCE = SourceSettings(
    database_hostname="127.0.0.1",
    database_password="${file:/run/platform/connect.secrets:password}",
    topic_prefix="demo",
)
SINK = SinkSettings(topics=("demo.datalake.cdc_events",), bucket="landing", region="us-east-1")


def test_the_source_reads_the_outbox_through_what_the_database_prepared() -> None:
    config = source_connector(SOURCE)
    assert config["table.include.list"] == "datalake.cdc_events"
    assert config["publication.name"] == "cdc_publication"
    assert config["publication.autocreate.mode"] == "disabled"
    assert config["slot.name"] == "cdc_orders"
    assert config["slot.drop.on.stop"] == "false"
    assert config["plugin.name"] == "pgoutput"
    assert SOURCE.topic == "demo.datalake.cdc_events"


def test_the_source_flattens_events_with_the_property_names_of_debezium_3() -> None:
    config = source_connector(SOURCE)
    assert config["transforms.unwrap.delete.tombstone.handling.mode"] == "rewrite"
    assert config["transforms.unwrap.add.fields"] == "op,db,table,schema,lsn,source.ts_ms"
    assert config["transforms.unwrap.add.fields.prefix"] == "__"
    assert config["tombstones.on.delete"] == "false"
    assert not {"transforms.unwrap.drop.tombstones", "transforms.unwrap.delete.handling.mode"} & config.keys()
    assert config["value.converter.schemas.enable"] == "false"


def test_the_source_never_turns_a_value_into_null_and_never_gives_up_on_the_database() -> None:
    config = source_connector(SOURCE)
    assert config["event.converting.failure.handling.mode"] == "fail"
    assert config["event.processing.failure.handling.mode"] == "fail"
    assert config["errors.max.retries"] == "-1"


def test_the_heartbeat_calls_the_procedure_that_the_source_has_for_it() -> None:
    config = source_connector(replace(SOURCE, heartbeat_interval_ms=1_000))
    assert config["heartbeat.interval.ms"] == "1000"
    assert config["heartbeat.action.query"] == "CALL datalake.outbox_beat()"


def test_what_an_environment_decides_arrives_in_the_source() -> None:
    settings = replace(SOURCE, database_sslmode="verify-full", poll_interval_ms=50)
    config = source_connector(settings)
    assert config["database.sslmode"] == "verify-full"
    assert config["poll.interval.ms"] == "50"


def test_a_root_certificate_is_found_by_the_class_loader() -> None:
    config = source_connector(replace(SOURCE, database_sslmode="verify-full", database_root_certificate="ca.pem"))
    assert config["driver.sslfactory"] == "org.postgresql.ssl.SingleCertValidatingFactory"
    assert config["driver.sslfactoryarg"] == "classpath:ca.pem"
    assert not [name for name in source_connector(SOURCE) if name.startswith("driver.")]


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


def test_no_topic_is_made_because_the_sink_asks_for_it() -> None:
    assert sink_connector(SINK)["consumer.override.allow.auto.create.topics"] == "false"


def test_a_dead_letter_topic_takes_what_the_topic_took() -> None:
    assert not [name for name in sink_connector(SINK) if name.startswith("producer.override.")]
    config = sink_connector(replace(SINK, dead_letter_topic="demo.dead"))
    assert config["producer.override.max.request.size"] == str(SizeLimits().request_bytes)


@pytest.mark.parametrize("connector", [source_connector(SOURCE), sink_connector(SINK)])
def test_configurations_are_strings_without_a_name(connector: dict[str, object]) -> None:
    assert "name" not in connector
    assert all(isinstance(value, str) for value in connector.values())


@pytest.mark.parametrize(
    "reference", ["${file:/a/b.secrets:key}", "${secretManager:orders:password}", "${env:PASSWORD}"]
)
def test_a_reference_to_a_password_is_taken(reference: str) -> None:
    assert source_connector(replace(SOURCE, database_password=reference))["database.password"] == reference


def test_the_sink_lands_json_without_partition_folders_and_leaves_exactly_once_on() -> None:
    config = sink_connector(SINK)
    kcql = parse(config["connect.s3.kcql"])
    assert (kcql,) == SINK.statements
    assert kcql.partition_by == ()
    assert config["topics"] == "demo.datalake.cdc_events"
    assert config["connect.s3.skip.null.values"] == "true"
    assert config.get("connect.s3.exactly.once.enable", "true") == "true"
    assert not [name for name in config if name.startswith("aws.")]
    assert SINK.warnings == ()


def test_only_a_server_other_than_aws_gets_an_endpoint() -> None:
    assert not [name for name in sink_connector(SINK) if "endpoint" in name or "path.style" in name]
    config = sink_connector(replace(SINK, endpoint="http://127.0.0.1:9000"))
    assert config["connect.s3.custom.endpoint"] == "http://127.0.0.1:9000"
    assert config["connect.s3.path.style.access"] == "true"


def test_a_folder_per_order_is_an_option_with_a_warning() -> None:
    settings = replace(SINK, partition_by=("customer_id", "order_id"))
    assert "PARTITIONBY customer_id,order_id" in sink_connector(settings)["connect.s3.kcql"]
    assert len(settings.warnings) == 1


def test_an_unreadable_value_stops_the_sink_unless_there_is_a_dead_letter_topic() -> None:
    assert sink_connector(SINK)["errors.tolerance"] == "none"
    config = sink_connector(replace(SINK, dead_letter_topic="demo.dead"))
    assert config["errors.tolerance"] == "all"
    assert config["errors.deadletterqueue.topic.name"] == "demo.dead"
    assert config["errors.log.include.messages"] == "false"


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


def test_tasks_share_topics_by_turns_only_where_there_are_several() -> None:
    assert not [name for name in sink_connector(SINK) if "assignment" in name]
    config = sink_connector(replace(SINK, topics=("a", "b")))
    assert config["consumer.override.partition.assignment.strategy"].endswith(".RoundRobinAssignor")


def test_folders_by_field_are_for_one_topic() -> None:
    with pytest.raises(ValueError, match=r"^partition_by goes with one topic alone"):
        replace(SINK, topics=("a", "b"), partition_by=("k",))


def test_the_consumers_heartbeat_fits_its_session_timeout() -> None:
    config = sink_connector(SINK)
    assert config["consumer.override.session.timeout.ms"] == "6000"
    assert config["consumer.override.heartbeat.interval.ms"] == "2000"
