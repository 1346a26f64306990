"""A real Debezium's output for each type's values, including those that it can't convert itself."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from local.services.postgres import ConnectionParameters
from plugins.source.source_connector import source_connector
from plugins.workers.connect_workers import EVERY_VALUE
from tests.broker import RunningBroker
from tests.events.recorders.types import TABLES, TARGET, record
from tests.plugins.conftest import SOURCE

# The time at which an event was recorded.
PASSING = ("__db", "__lsn", "__source_ts_ms")


def test_the_converter_has_debeziums_placeholder_and_the_outbox_needs_none() -> None:
    found = source_connector(replace(SOURCE, tables=TABLES))
    assert found[f"{found['converters']}.type"] == EVERY_VALUE.name
    assert found[f"{found['converters']}.placeholder"] == found["unavailable.value.placeholder"]
    assert "converters" not in source_connector(SOURCE)


@pytest.mark.integration
def test_debezium_sends_what_was_recorded(
    database: ConnectionParameters, shared_broker: RunningBroker, tmp_path: Path
) -> None:
    found = record(database, shared_broker.kafka, tmp_path)
    recorded = TARGET.read_text(encoding="utf-8").strip().split("\n")
    for event, expected in zip(map(lasting, found), map(lasting, recorded), strict=True):
        assert event == expected


def lasting(line: str | bytes) -> dict[str, Any]:
    return {name: value for name, value in json.loads(line).items() if name not in PASSING}
