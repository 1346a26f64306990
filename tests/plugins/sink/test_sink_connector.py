"""One list defines the sink's allowed configuration: tests/local/sink/test_settings.py has the cases, one by one."""

from dataclasses import replace

import pytest

from plugins.connector_properties import rename
from plugins.connector_settings import SinkSettings
from plugins.sink.sink_connector import parquet_sink, parquet_statement, problems, sink_connector
from tests.plugins.conftest import SINK


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
