"""One list defines the sink's allowed configuration: tests/local/sink/test_settings.py has the cases, one by one."""

from dataclasses import replace

import pytest

from plugins.connector_properties import rename
from plugins.connector_settings import SinkSettings
from plugins.sink.sink_connector import parquet_sink, parquet_statement, problems, sink_connector

SINK = SinkSettings(topics=("orders",), bucket="landing", region="us-east-1")


@pytest.mark.parametrize(
    "settings",
    [
        SINK,
        replace(SINK, endpoint="http://127.0.0.1:9000"),
        replace(SINK, dead_letter_topic="dead"),
        replace(SINK, partition_by=("customer_id",), flush_bytes=1_000),
    ],
)
def test_what_we_make_ourselves_has_no_problem(settings: SinkSettings) -> None:
    assert list(problems(sink_connector(settings))) == []


def test_all_problems_are_named_at_once() -> None:
    config = sink_connector(SINK) | {"conect.s3.kcql": "x", "errors.tolerance": "all"}
    del config["connect.s3.kcql"]
    assert [name for name, _ in problems(config)] == ["conect.s3.kcql", "connect.s3.kcql", "errors.tolerance"]


SETTINGS = SinkSettings(topics=("pagila.query.places",), bucket="landing", region="us-east-1")


def test_records_with_their_types_become_compressed_parquet() -> None:
    config = parquet_sink(SETTINGS)
    assert "STOREAS `PARQUET`" in config["connect.s3.kcql"]
    assert "PARTITIONBY" not in config["connect.s3.kcql"]
    assert config["connect.s3.compression.codec"] == "GZIP"
    assert config["value.converter.schemas.enable"] == "true"
    assert "transforms" not in config


def test_the_folders_field_is_no_column_of_the_file() -> None:
    config = parquet_sink(SETTINGS, folder="country")
    assert "PARTITIONBY _header.country STOREAS" in config["connect.s3.kcql"]
    assert config["transforms"] == "toHeader"
    assert config["transforms.toHeader.operation"] == "move"
    assert config["transforms.toHeader.fields"] == config["transforms.toHeader.headers"] == "country"


def test_the_field_leaves_last_so_that_it_may_be_renamed_before_and_what_folders_have_lost_is_said() -> None:
    config = parquet_sink(SETTINGS, steps=rename({"country": "land"}), folder="land")
    assert config["transforms"] == "rename,toHeader"
    [warning] = parquet_statement(SETTINGS, "country").warnings
    assert warning.startswith("PARTITIONBY country:")
    assert parquet_statement(SETTINGS).warnings == ()


def test_everything_else_is_as_of_every_sink() -> None:
    plain, parquet = sink_connector(SETTINGS), parquet_sink(SETTINGS, folder="country")
    differing = {name for name in plain if plain[name] != parquet[name]}
    assert differing == {"connect.s3.kcql", "key.converter.schemas.enable", "value.converter.schemas.enable"}


def test_one_topic_and_no_field_of_the_value_make_folders() -> None:
    with pytest.raises(ValueError, match="takes one topic"):
        parquet_sink(replace(SETTINGS, topics=("a", "b")))
    with pytest.raises(ValueError, match="leave partition_by empty"):
        parquet_sink(replace(SETTINGS, partition_by=("country",)))


@pytest.mark.parametrize("folder", ["a b", "limit", "a.b"])
def test_a_folder_that_kcql_cannot_name_is_refused(folder: str) -> None:
    with pytest.raises(ValueError, match=r"^partition_by must be"):
        parquet_sink(SETTINGS, folder=folder)
