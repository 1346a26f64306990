"""Placeholders and the order of changes on frames alone, and rows whose key changed in an update (TOAST)."""

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from contract.events import PLACEHOLDER
from spark_jobs.ordering import changes
from tests.spark_jobs.events import Event, event
from tests.spark_jobs.lake import Lake

pytestmark = pytest.mark.integration

KEY = f"`{changes.KEY}` string"
STORED = f"{KEY}, `{changes.STORED_AT}` long"
EVENTS = (
    f"{KEY}, row struct<lsn:long,t:string>, deleted boolean, placeholders array<string>, tie int, block int, number int"
)


def _events(spark: SparkSession, *changes: tuple[str, int, str | None]) -> DataFrame:
    """Events of key, lsn and t; `gone` for t is a delete."""
    rows: list[Any] = []
    for number, (key, lsn, text) in enumerate(changes):
        placeholders = ["t"] if text == PLACEHOLDER else []
        rows.append((key, (lsn, None if text == "gone" else text), text == "gone", placeholders, 0, 0, number))
    return spark.createDataFrame(rows, EVENTS).coalesce(1)


# Per key: the table's row, the batch, the restored event (lsn and t of the newest), and the quarantined ones.
CASES: dict[
    str, tuple[tuple[int, str] | None, list[tuple[int, str | None]], tuple[int, str | None] | None, list[int]]
] = {
    "a late event isn't asked": ((10, "new"), [(5, "old"), (20, PLACEHOLDER)], (20, "new"), []),
    "nor is a late null": ((10, "new"), [(5, None), (20, PLACEHOLDER)], (20, "new"), []),
    "the batch's own value": ((10, "stored"), [(15, "batch"), (20, PLACEHOLDER)], (20, "batch"), []),
    "an equal stored row comes first": ((20, "stored"), [(15, "old"), (20, PLACEHOLDER)], (20, "stored"), []),
    "a null says that one is missing": ((10, "stored"), [(15, None), (20, PLACEHOLDER)], (15, None), [20]),
    "nothing is known": (None, [(20, PLACEHOLDER)], None, [20]),
    "older than its own delete": (None, [(20, PLACEHOLDER), (30, "gone")], (30, None), []),
    "older than a whole event": (None, [(20, PLACEHOLDER), (30, "whole")], (30, "whole"), []),
    "older than the stored row": ((30, "stored"), [(20, PLACEHOLDER)], None, []),
    "newer than its own delete": ((10, "stored"), [(20, "gone"), (30, PLACEHOLDER)], (20, None), [30]),
    "one after the other": ((10, "stored"), [(20, PLACEHOLDER), (30, PLACEHOLDER)], (30, "stored"), []),
    "out of order in the batch": (None, [(30, PLACEHOLDER), (20, "before")], (30, "before"), []),
    "no placeholder at all": ((10, "stored"), [(20, "new")], (20, "new"), []),
}


def test_a_placeholder_takes_the_value_before_it_in_the_order_of_changes(spark: SparkSession) -> None:
    made = [(case, lsn, text) for case, (_, batch, _, _) in CASES.items() for lsn, text in batch]
    stored = [(case, *row) for case, (row, _, _, _) in CASES.items() if row]
    rows = spark.createDataFrame(stored, f"{STORED}, t string")
    restored, lacking = changes.restore_placeholders(_events(spark, *made), rows, ["t"], ordering="lsn")
    newest = {row[changes.KEY]: tuple(row["row"]) for row in changes.keep_newest(restored, ordering="lsn").collect()}
    set_aside = [(row[changes.KEY], row["row"]["lsn"]) for row in lacking.collect()]
    # Events older than the stored row have no place in this table: Hudi drops them.
    assert newest == {case: expected for case, (_, _, expected, _) in CASES.items() if expected}
    assert sorted(set_aside) == sorted((case, lsn) for case, (*_, aside) in CASES.items() for lsn in aside)


def test_each_key_has_a_text_of_its_own_and_commits_keep_those_of_texts(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(bytes([0, last]), "\u00e9") for last in (65, 0x80, 0xFF)], "b binary, t string")
    found = [row[0] for row in rows.select(changes.key_of(["b", "t"])).collect()]
    assert found == [f'["\\u0000{last}","\u00e9"]' for last in ("A", "\x80", "\xff")]


def test_deletes_of_newer_or_absent_rows_do_nothing(spark: SparkSession) -> None:
    events = _events(spark, ("older", 5, "gone"), ("absent", 5, "gone"), ("equal", 5, "gone"), ("row", 1, "x"))
    stored = spark.createDataFrame([("older", 6), ("equal", 5), ("row", 9)], STORED)
    found = changes.without_idle_deletes(events, stored, ordering="lsn")
    assert {row[changes.KEY] for row in found.collect()} == {"equal", "row"}


def moved(old: int, new: int, lsn: int) -> tuple[Event, Event]:
    """Debezium's events for an update that changes a key."""
    return event(old, lsn, "d", products=None), event(new, lsn, "c", products=PLACEHOLDER)


def products(lake: Lake) -> dict[int, str]:
    return lake.column("products")


def test_the_old_keys_row_or_its_changes_in_the_same_batch_have_the_value_and_later_ones_dont_count(lake: Lake) -> None:
    lake.run(*(event(key, 10, "c", products=f'["{name}"]') for key, name in ((1, "a"), (2, "b"), (3, "a"))))
    in_one_batch = [
        event(3, 20, products='["b"]'),
        *moved(3, 13, 30),
        *moved(3, 13, 30),
        event(13, 40, products=PLACEHOLDER, customer_id="LATER"),
        event(3, 50, "c", products='["c"]'),
    ]
    assert lake.run(*moved(1, 11, 20), event(2, 20, products=PLACEHOLDER), *in_one_batch).quarantined == 0
    expected = {11: '["a"]', 2: '["b"]', 13: '["b"]', 3: '["c"]'}
    assert products(lake) == expected
    assert lake.rows()[13]["customer_id"] == "LATER"
    # After a kill the connector sends both again.
    assert lake.run(*moved(1, 11, 20)).quarantined == 0
    assert products(lake) == expected


@pytest.mark.long
def test_what_no_key_tells_goes_to_quarantine(lake: Lake) -> None:
    lake.run(event(1, 10, "c", products='["a"]'))
    # A delete of another position, and one of an unknown row.
    report = lake.run(event(1, 20, "d"), event(11, 21, "c", products=PLACEHOLDER), *moved(2, 12, 30))
    assert report.quarantined == 2
    assert {entry["reason"] for entry in lake.quarantined()} == {"placeholder: no earlier value of products"}
    assert products(lake) == {}
