import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from contract import events
from local.errors import PlatformError
from local.resnapshot import log_tables
from local.resnapshot.changed_tables import new_tables, removed_tables
from local.resnapshot.log_tables import as_event, delete_event, is_read, settled_event
from plugins.connector_settings import SourceSettings
from plugins.source.captured import CapturedTable
from plugins.source.source_connector import source_connector

TABLES = (CapturedTable(schema="public", table="a"), CapturedTable(schema="public", table="b"))
SOURCE = SourceSettings(
    database_hostname="db", database_password="${file:/run/secret:password}", topic_prefix="shop", tables=TABLES
)
# PostgreSQL's timestamp, which has no zone.
DAY_TWO = dt.datetime.fromisoformat("1970-01-02T00:00:00")
RUNNING = {"incremental_snapshot_collections": "[…]", "lsn": 200}


@pytest.mark.parametrize(
    ("value", "avro", "expected"),
    [
        (7, "int", 7),
        ("Zürich", ["null", "string"], "Zürich"),
        (True, "boolean", True),
        (dt.date(2026, 11, 22), {"type": "int", "logicalType": "date"}, 20_779),
        (Decimal("1.50"), {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, "1.50"),
        (DAY_TWO, {"type": "long", "connect.name": "io.debezium.time.MicroTimestamp"}, 86_400_000_000),
        (DAY_TWO, {"type": "long", "connect.name": "io.debezium.time.Timestamp"}, 86_400_000),
        (
            dt.datetime(2026, 11, 22, 1, 2, 3, 4, tzinfo=dt.UTC),
            {"type": "string", "connect.name": "io.debezium.time.ZonedTimestamp"},
            "2026-11-22T01:02:03.000004Z",
        ),
    ],
)
def test_a_keys_value_is_written_as_debezium_writes_it(value: Any, avro: Any, expected: Any) -> None:
    assert as_event(value, avro) == expected


@pytest.mark.parametrize("value", [None, b"\x00", [1], {"a": 1}])
def test_a_key_that_cant_be_told_is_refused(value: Any) -> None:
    with pytest.raises(PlatformError, match="can't be written as an event"):
        as_event(value, "bytes")


def test_a_delete_says_nothing_but_the_key() -> None:
    event = delete_event(("public", "a"), "devdb", {"id": 7}, 99)
    assert event[events.OPERATION] == events.DELETE
    assert event[events.DELETED] == events.IS_DELETED
    assert (event["id"], event[events.LSN], event[events.TABLE]) == (7, 99, "a")
    assert set(event) == {"id", *events.ADDED_TYPES}


def test_what_settles_a_truncate_is_the_tables_and_no_rows() -> None:
    event = settled_event(("public", "a"), "devdb", 99)
    assert (event[events.OPERATION], event[events.LSN], event[events.TABLE]) == (events.SETTLED, 99, "a")
    assert set(event) == events.ADDED_TYPES.keys() - {events.DELETED}


@pytest.mark.parametrize(
    ("offsets", "done"),
    [([], False), ([{"lsn": 100}], False), ([RUNNING], False), ([{"lsn": 101}], True), ([{"lsn": None}], False)],
)
def test_a_snapshot_is_over_once_the_offset_is_behind_the_request_and_names_none(
    offsets: Sequence[Mapping[str, Any]], done: bool
) -> None:
    assert is_read(offsets, 100) is done


def test_heartbeats_arent_progress_of_a_snapshot() -> None:
    assert log_tables._reached([RUNNING]) == log_tables._reached([RUNNING | {"lsn": 300}])
    assert log_tables._reached([RUNNING]) != log_tables._reached([RUNNING | {"incremental_snapshot_primary_key": "b"}])


def test_only_the_tables_that_a_running_connector_lacks_are_new() -> None:
    running = source_connector(SOURCE)
    another = CapturedTable(schema="public", table="c")
    assert new_tables(running, SOURCE) == []
    assert new_tables(running, SourceSettings(**(vars(SOURCE) | {"tables": (*TABLES, another)}))) == [another]


def test_a_connectors_first_start_reads_its_tables_by_itself() -> None:
    assert new_tables({}, SOURCE) == []


def test_tables_that_left_the_file_are_told_by_the_connectors_configuration() -> None:
    running = source_connector(SOURCE)
    assert removed_tables(running, SOURCE) == []
    assert removed_tables(running, replace(SOURCE, tables=TABLES[:1])) == ["public.b"]
    assert removed_tables({}, SOURCE) == []
