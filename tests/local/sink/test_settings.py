import json
from dataclasses import replace
from pathlib import Path

import pytest

from contract.sizes import SizeLimits
from local.sink.settings import DeadLetters, SinkError, TaskSettings
from plugins.connector_settings import SinkSettings
from plugins.sink.sink_connector import sink_connector
from tests.local.sink.beside import SETTINGS, Setting

SINK = SinkSettings(topics=("orders",), bucket="landing", region="us-east-1", endpoint="http://127.0.0.1:9000")
TO_ORDERS = sink_connector(SINK)["connect.s3.kcql"]
BOTH = f"{TO_ORDERS};{TO_ORDERS.replace('FROM orders', 'FROM other')}"


def test_the_connectors_own_configuration_is_read(tmp_path: Path) -> None:
    file = tmp_path / "sink.json"
    file.write_text(json.dumps({"name": "orders-sink", "config": sink_connector(SINK)}))
    settings = TaskSettings.read(file)
    assert (settings.statements, settings.bucket) == (SINK.statements, SINK.bucket)
    assert settings.group == "connect-orders-sink"
    assert settings.endpoint == "http://127.0.0.1:9000"
    fetch = {name: int(value) for name, value in SizeLimits().sink(SINK.heap_bytes).items()}
    del fetch["max.poll.records"]  # librdkafka has none
    assert settings.consumer == {"session.timeout.ms": 6000, "heartbeat.interval.ms": 2000, **fetch}
    assert settings.dead_letters is None


def test_a_dead_letter_topic_is_taken_over() -> None:
    config = sink_connector(replace(SINK, dead_letter_topic="dead"))
    letters = TaskSettings.of("s", config).dead_letters
    assert letters == DeadLetters(
        topic="dead",
        producer={
            "compression.type": "zstd",
            "message.max.bytes": str(SizeLimits().request_bytes),
            "queue.buffering.max.kbytes": str(2 * SizeLimits().request_bytes // 1024),
        },
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"connect.s3.compression.codec": "gzip"}, "connect.s3.compression.codec: what is landed"),
        ({"connect.s3.max.retry": "5"}, "connect.s3.max.retry: .* \\(is connect.s3.max.retries meant"),
        (
            {"consumer.override.fetch.min.bytes": "5"},
            "consumer.override.fetch.min.bytes: another way to read could leave events out",
        ),
        ({"transforms": "x"}, "transforms: the job reads events as the source"),
        ({"misspelt": "x"}, "misspelt: isn't a property"),
        ({"connect.s3.max.retries": "\uff15"}, "connect.s3.max.retries: must be a whole number from 1 to 100000"),
        ({"consumer.override.fetch.max.bytes": "x"}, "consumer.override.fetch.max.bytes: must be a whole number"),
        (
            {"value.converter": "org.apache.kafka.connect.storage.StringConverter"},
            "value.converter: must be org.apache.*JsonConverter, not .*: the job reads what",
        ),
        ({"value.converter.schemas.enable": "true"}, "value.converter.schemas.enable: must be false"),
        ({"connect.s3.exactly.once.enable": "false"}, "connect.s3.exactly.once.enable: must be true"),
        (
            {"connect.s3.error.policy": "NOOP"},
            "connect.s3.error.policy: must be RETRY or THROW, not 'NOOP': NOOP loses",
        ),
        ({"errors.tolerance": "all"}, "errors.tolerance: all without errors.deadletterqueue.topic.name would lose"),
        ({"errors.tolerance": "some"}, "errors.tolerance: must be none or all"),
        ({"topics": "other"}, "topics: 'other' isn't the KCQL's topic 'orders'"),
        ({"topics": "orders,other"}, "topics: no KCQL statement says where 'other' goes"),
        ({"connect.s3.kcql": BOTH}, "topics: lacks 'other', which a KCQL statement lands"),
        ({"connect.s3.kcql": f"{TO_ORDERS};{TO_ORDERS}"}, "KCQL: two statements read orders"),
        (
            {"connect.s3.kcql": BOTH.replace("FROM orders", "FROM orders PARTITIONBY a"), "topics": "orders,other"},
            "PARTITIONBY goes with one topic alone",
        ),
        ({"consumer.override.partition.assignment.strategy": "Sticky"}, "strategy: must be org.apache.*RoundRobin"),
        ({"connect.s3.kcql": "INSERT"}, "KCQL: not of the form"),
        ({"connect.s3.kcql": BOTH.replace("landing", "other-bucket", 1), "topics": "orders,other"}, "one bucket alone"),
        ({"connect.s3.kcql": TO_ORDERS.replace("FROM orders", "FROM orders PARTITIONBY a")}, "has no PARTITIONBY"),
    ],
)
def test_what_would_land_other_data_than_the_connector_is_refused(changes: dict[str, str], message: str) -> None:
    with pytest.raises(SinkError, match=message):
        TaskSettings.of("s", {**sink_connector(SINK), **changes})


@pytest.mark.parametrize("row", SETTINGS, ids=lambda row: row.name)
def test_what_the_connector_takes_and_loses_events_by_is_refused(row: Setting) -> None:
    with pytest.raises(SinkError, match=r"^the configuration of s: "):
        TaskSettings.of("s", {**sink_connector(SINK), **row.changed("landing:events", "orders")})


def test_a_missing_property_is_named() -> None:
    endpoint = "connect.s3.custom.endpoint"
    for name in ("topics", "connect.s3.kcql", "connect.s3.aws.region", endpoint):
        config = {key: value for key, value in sink_connector(SINK).items() if key != name}
        reason = "the stand-in is for S3 on this machine" if name == endpoint else "is missing"
        with pytest.raises(SinkError, match=f"{name}: {reason}"):
            TaskSettings.of("s", config)


@pytest.mark.parametrize("text", ["", "[]", '{"name": "s"}', '{"name": "s", "config": 5}'])
def test_a_file_that_isnt_a_configuration_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "sink.json"
    file.write_text(text)
    with pytest.raises(SinkError, match=r"sink\.json: not a connector's configuration"):
        TaskSettings.read(file)
    with pytest.raises(SinkError, match=r"absent\.json"):
        TaskSettings.read(tmp_path / "absent.json")
