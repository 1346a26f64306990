"""Placeholders and the order of changes, on frames alone."""

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.ordering import changes

pytestmark = pytest.mark.integration

UNAVAILABLE = "__debezium_unavailable_value"
KEY = f"`{changes.KEY}` string"
STORED = f"{KEY}, `{changes.STORED_AT}` long"
EVENTS = (
    f"{KEY}, row struct<lsn:long,t:string>, deleted boolean, placeholders array<string>, tie int, block int, number int"
)


def _events(spark: SparkSession, *changes: tuple[str, int, str | None]) -> DataFrame:
    """Events of key, lsn and t; `gone` for t is a delete."""
    rows: list[Any] = []
    for number, (key, lsn, text) in enumerate(changes):
        placeholders = ["t"] if text == UNAVAILABLE else []
        rows.append((key, (lsn, None if text == "gone" else text), text == "gone", placeholders, 0, 0, number))
    return spark.createDataFrame(rows, EVENTS).coalesce(1)


# Per key: the table's row, the batch, the restored event (lsn and t of the newest), and the quarantined ones.
CASES: dict[
    str, tuple[tuple[int, str] | None, list[tuple[int, str | None]], tuple[int, str | None] | None, list[int]]
] = {
    "a late event isn't asked": ((10, "new"), [(5, "old"), (20, UNAVAILABLE)], (20, "new"), []),
    "nor is a late null": ((10, "new"), [(5, None), (20, UNAVAILABLE)], (20, "new"), []),
    "the batch's own value": ((10, "stored"), [(15, "batch"), (20, UNAVAILABLE)], (20, "batch"), []),
    "an equal stored row comes first": ((20, "stored"), [(15, "old"), (20, UNAVAILABLE)], (20, "stored"), []),
    "a null says that one is missing": ((10, "stored"), [(15, None), (20, UNAVAILABLE)], (15, None), [20]),
    "nothing is known": (None, [(20, UNAVAILABLE)], None, [20]),
    "older than its own delete": (None, [(20, UNAVAILABLE), (30, "gone")], (30, None), []),
    "older than a whole event": (None, [(20, UNAVAILABLE), (30, "whole")], (30, "whole"), []),
    "older than the stored row": ((30, "stored"), [(20, UNAVAILABLE)], None, []),
    "newer than its own delete": ((10, "stored"), [(20, "gone"), (30, UNAVAILABLE)], (20, None), [30]),
    "one after the other": ((10, "stored"), [(20, UNAVAILABLE), (30, UNAVAILABLE)], (30, "stored"), []),
    "out of order in the batch": (None, [(30, UNAVAILABLE), (20, "before")], (30, "before"), []),
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


def test_without_a_table_only_the_batch_is_asked(spark: SparkSession) -> None:
    events = _events(spark, ("a", 10, "x"), ("a", 20, UNAVAILABLE), ("b", 10, UNAVAILABLE))
    restored, lacking = changes.restore_placeholders(events, None, ["t"], ordering="lsn")
    assert {tuple(row["row"]) for row in restored.collect()} == {(10, "x"), (20, "x")}
    assert [row[changes.KEY] for row in lacking.collect()] == ["b"]


def test_deletes_of_newer_or_absent_rows_do_nothing(spark: SparkSession) -> None:
    events = _events(spark, ("older", 5, "gone"), ("absent", 5, "gone"), ("equal", 5, "gone"), ("row", 1, "x"))
    stored = spark.createDataFrame([("older", 6), ("equal", 5), ("row", 9)], STORED)
    found = changes.without_idle_deletes(events, stored, ordering="lsn")
    assert {row[changes.KEY] for row in found.collect()} == {"equal", "row"}
