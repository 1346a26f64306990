"""Partitions' folders, none outside the table or read as another value; and rows of tables without a key, each once."""

import json
from typing import Any

import pytest

from contract.events import EVENT_ID
from spark_jobs.decoding.row_keys import DEFAULT, values_of
from spark_jobs.errors import SettingsError
from spark_jobs.options import keys
from tests.spark_jobs.events import CONF, SCHEMA, Event, event
from tests.spark_jobs.lake import Lake

PARTITIONED = "cdc_events_partitioned.properties"
ENCODE = "hoodie.datasource.write.partitionpath.urlencode"
INDEX = "hoodie.index.type"


def key_only_delete(order_id: int, lsn: int) -> Event:
    """A delete as Debezium rewrites it under the default replica identity: nulls except the key."""
    return event(order_id, lsn, "d") | {
        name: None for name in event(1, 1) if not name.startswith("__") and name != "order_id"
    }


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("customer_id=a%2F..%2F%3Db/order_id=1", ["a/../=b", "1"]),
        ("a%3Ab/100%25", ["a:b", "100%"]),
        ("customer_id=a+b c/order_id=__HIVE_DEFAULT_PARTITION__", ["a+b c", DEFAULT]),
        ("customer_id=50%/order_id=", ["50%", ""]),
    ],
)
def test_a_folder_is_decoded_as_hive_does(path: str, values: list[str]) -> None:
    assert values_of(path) == values


@pytest.mark.long
@pytest.mark.integration
def test_a_key_only_delete_finds_its_row_in_merge_on_read_too(lake: Lake) -> None:
    lake.conf, lake.arguments = PARTITIONED, ("--table-type", "MERGE_ON_READ")
    lake.run(event(1, 10, "c", customer_id="A"), event(2, 10, "c", customer_id="a:b"))
    report = lake.run(key_only_delete(2, 20))
    assert (report.deletes, report.quarantined) == (1, 0)
    assert lake.lsns() == {1: 10}


@pytest.mark.long
@pytest.mark.integration
def test_a_table_whose_folders_are_not_encoded_stays_so(lake: Lake) -> None:
    lake.conf, lake.extra = PARTITIONED, {ENCODE: "false", INDEX: "SIMPLE"}
    lake.run(event(1, 10, "c", customer_id="A b"))
    lake.extra = {INDEX: "SIMPLE"}
    report = lake.run(event(1, 20, customer_id="A b"), event(2, 20, customer_id="a:b"), key_only_delete(1, 30))
    assert report.quarantined == 2
    assert lake.lsns() == {1: 20}
    assert [entry["reason"] for entry in lake.quarantined()] == [
        "partition: customer_id can't be a folder's name: a:b",
        "missing: customer_id, by which a delete finds its row",
    ]
    for other in ({ENCODE: "true"}, {"hoodie.datasource.write.hive_style_partitioning": "false"}):
        lake.extra = {INDEX: "SIMPLE", **other}
        [(key, value)] = other.items()
        with pytest.raises(SettingsError, match=f"exists with {key}=.*, the settings say {value}"):
            lake.job()


@pytest.fixture
def log_table(lake: Lake) -> Lake:
    lake.extra = {keys.APPEND_ONLY: "true"}
    conf = lake.folder / "append_only.properties"
    lines = (CONF / lake.conf).read_text().replace("include=", f"include={CONF}/").splitlines()
    conf.write_text("\n".join(line for line in lines if not line.startswith(keys.RECORD_KEY)))
    lake.conf = str(conf)
    return lake


def rows(lake: Lake) -> list[dict[str, Any]]:
    return sorted(lake.stored(), key=lambda row: str(row[EVENT_ID]))


@pytest.mark.integration
def test_every_event_is_a_row_once(log_table: Lake) -> None:
    misfits = ("{", json.dumps(event(2, 10, "c", __lsn=None)))
    truncate = {key: value for key, value in event(1, 25, "t").items() if key.startswith("__") and key != "__deleted"}
    events = [event(1, 10, "c"), event(1, 20), event(1, 20, customer_id="OTHER"), truncate, event(1, 30, "d")]
    report = log_table.run(*events, *misfits)
    assert (report.upserts, report.deletes, report.folded, report.quarantined) == (5, 0, 0, 2)
    expected = [(10, "c", 1), (20, "u", 1), (20, "u", 1), (25, "t", None), (30, "d", 1)]
    assert [(row["__lsn"], row["__op"], row["order_id"]) for row in rows(log_table)] == expected
    before = [row[EVENT_ID] for row in rows(log_table)]
    assert len(set(before)) == 5
    log_table.run(*events)  # in a separate batch
    # And twice in one, which brings a column.
    log_table.run(*events, *events, event(2, 40, "c", note="new"))
    assert [row[EVENT_ID] for row in rows(log_table)][:5] == before
    assert [row["note"] for row in rows(log_table)] == [None] * 5 + ["new"]
    # And once the schema file has that column, in another place.
    file = log_table.folder / "described.avsc"
    file.write_text(SCHEMA.read_text().replace("[", '[{"name": "note", "type": ["null", "string"]},', 1))
    log_table.extra = {**log_table.extra, keys.SCHEMA_FILE: str(file)}
    log_table.run(event(2, 40, "c", note="new"))
    assert len(rows(log_table)) == 6


@pytest.mark.integration
def test_equal_rows_of_one_copy_are_all_kept(log_table: Lake) -> None:
    # One record of PostgreSQL's log, so one position, and rows with equal columns. Spark reads the file in two parts.
    copied = [event(7, 10, "c")] * 400 + [event(8, 10, "c")]
    log_table.run(*copied)
    assert len(rows(log_table)) == 401
    # The sink may cut between two rows of one microsecond each.
    log_table.land(event(9, 30, "c", updated_at="2026-11-20T23:23:11.083001Z"))
    last = event(9, 30, "c", updated_at="2026-11-20T23:23:11.083002Z")
    log_table.run(event(1, 5, "c"), *copied, event(9, 20, "c"), *copied, last)
    assert len(rows(log_table)) == 405
