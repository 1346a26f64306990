"""One list defines the sink's allowed configuration: tests/local/sink/test_settings.py has the cases, one by one."""

from dataclasses import replace

import pytest

from plugins.connector_settings import SinkSettings
from plugins.sink.sink_connector import problems, sink_connector

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
