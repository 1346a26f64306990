"""Reconcile finds every kind of difference, and only differences."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

import pyarrow
import pytest

from local.errors import PlatformError
from local.look import reconcile as module
from local.look.canonical import canonical, lake_rows
from local.look.lake import Lake
from local.look.reconcile import Comparison, Snapshot, Source, by_key, compare, read_lake, read_source, reconcile
from local.services.postgres import ConnectionParameters
from tests.conftest import execute

TYPES = {
    "order_id": "integer",
    "customer_id": "character",
    "order_date": "date",
    "order_items": "jsonb",
    "updated_at": "timestamp with time zone",
}
ROW: dict[str, Any] = {
    "order_id": 10248,
    "customer_id": "VINET",
    "order_date": date(1996, 7, 4),
    "order_items": '[{"quantity": 12, "unit_price": 9.8}]',
    "updated_at": datetime(2026, 11, 20, 23, 23, 11, 83659, tzinfo=UTC),
}


def source(*rows: dict[str, Any], lsn: str = "0/1A2B3C") -> Source:
    return Source(lsn=lsn, types=TYPES, rows=by_key(rows, TYPES))


def lake(*rows: dict[str, Any]) -> Snapshot:
    return by_key(rows, TYPES)


def test_equal_rows_are_equal() -> None:
    comparison = compare(source(ROW), lake(ROW))
    assert comparison.equal
    assert (comparison.source_rows, comparison.lake_rows) == (1, 1)


def test_a_missing_and_an_extra_row_are_found() -> None:
    comparison = compare(source(ROW, {**ROW, "order_id": 1}), lake(ROW, {**ROW, "order_id": 2}))
    assert (comparison.missing, comparison.extra, comparison.different) == (["1"], ["2"], {})
    assert not comparison.equal


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("customer_id", "RICSU"),
        ("customer_id", None),
        ("order_date", date(1996, 7, 5)),
        ("order_items", '[{"quantity": 13, "unit_price": 9.8}]'),
        ("order_items", '[{"quantity": "12", "unit_price": 9.8}]'),
        ("order_items", None),
        ("updated_at", datetime(2026, 11, 20, 23, 23, 11, 83660, tzinfo=UTC)),
    ],
)
def test_a_difference_in_any_column_is_found_and_named(column: str, value: Any) -> None:
    assert compare(source(ROW), lake({**ROW, column: value})).different == {"10248": [column]}


def test_a_column_that_the_lake_lacks_is_a_difference() -> None:
    without = {name: value for name, value in ROW.items() if name != "order_items"}
    assert compare(source(ROW), lake(without)).different == {"10248": ["order_items"]}


def test_the_same_value_in_another_form_is_no_difference() -> None:
    other = {
        **ROW,
        "order_items": '[{"unit_price":9.80,"quantity":12.0}]',
        "updated_at": datetime(2026, 11, 20, 23, 23, 11, 83659),  # noqa: DTZ001  (what Arrow gives without a zone)
    }
    assert compare(source(ROW), lake(other)).equal


def test_numbers_and_text_are_told_apart() -> None:
    assert canonical("12", "jsonb") != canonical('"12"', "jsonb")
    assert canonical("12345678901234567890", "jsonb") != canonical("12345678901234567891", "jsonb")


def test_a_key_that_comes_twice_is_refused() -> None:
    with pytest.raises(PlatformError, match="order_id 10248 is there twice"):
        lake(ROW, ROW)


def test_the_lakes_rows_are_read_all_or_by_key(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pyarrow.table({"order_id": [1, 2, 12], "customer_id": ["A", "B", "C"], "_hoodie_commit_time": ["t"] * 3})
    monkeypatch.setattr(Lake, "rows", lambda _self: table)
    somewhere = Lake(base_uri="unused")
    assert sorted(read_lake(somewhere, TYPES)) == ["1", "12", "2"]
    assert read_lake(somewhere, TYPES, ["2", "3"]) == {"2": {"order_id": "2", "customer_id": "B"}}
    assert read_lake(somewhere, TYPES, []) == {}


class Rounds:
    """Source and lake as they are at each look, fed to `reconcile` in place of its two readers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, looks: list[tuple[Source, Snapshot]]) -> None:
        self.asked: list[list[str] | None] = []
        self._looks: Iterator[tuple[Source, Snapshot]] = iter(looks)
        self._last = looks[-1]
        monkeypatch.setattr(module, "read_source", self._source)
        monkeypatch.setattr(module, "read_lake", self._lake)
        monkeypatch.setattr(module, "WAIT_BETWEEN_ROUNDS_S", 0)
        monkeypatch.setattr(Lake, "exists", lambda _self: True)
        monkeypatch.setattr(Lake, "rows", lambda _self, columns: pyarrow.table({columns[0]: list(self._last[1])}))

    def _source(self, _parameters: Any, keys: list[str] | None = None) -> Source:
        self.asked.append(keys)
        self._last = next(self._looks, self._last)
        return self._last[0]

    def _lake(self, _lake: Lake, _types: Any, keys: list[str] | None = None) -> Snapshot:
        return {key: row for key, row in self._last[1].items() if keys is None or key in keys}

    def run(self, timeout_s: float) -> Comparison:
        return reconcile({}, Lake(base_uri="unused"), timeout_s=timeout_s)


def test_a_change_on_its_way_only_costs_another_round(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = Rounds(monkeypatch, [(source(ROW, lsn="0/1"), {}), (source(ROW, lsn="0/2"), lake(ROW))])
    comparison = rounds.run(timeout_s=5)
    assert comparison.equal
    assert comparison.lsn == "0/1"
    assert comparison.lake_rows == 1
    assert rounds.asked == [None, ["10248"]]


def test_what_stays_different_is_reported_when_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    comparison = Rounds(monkeypatch, [(source(ROW), lake({**ROW, "customer_id": "RICSU"}))]).run(timeout_s=0.05)
    assert comparison.different == {"10248": ["customer_id"]}


FAR = date(9999, 12, 31)


def test_what_is_infinite_is_no_date_that_there_is() -> None:
    assert canonical("infinity", "date") != canonical(FAR, "date")
    assert canonical("infinity", "date") == canonical(2_146_033_979, "date")
    assert canonical("-infinity", "date") == canonical(-2_147_472_691, "date")
    instant = "timestamp with time zone"
    assert canonical("infinity", instant) == canonical(9_223_372_036_825_200_000, instant)
    assert canonical("infinity", instant) != canonical(datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), instant)


def test_lake_rows_have_dates_that_python_has_not() -> None:
    table = pyarrow.table(
        {
            "day": pyarrow.array([-735_160, 2_932_897, None], pyarrow.int32()).cast(pyarrow.date32()),
            "at": pyarrow.array([-63_517_780_800_000_000, 0, None]).cast(pyarrow.timestamp("us", "UTC")),
        }
    )
    assert lake_rows(table) == [
        {"day": -735_160, "at": -63_517_780_800_000_000},
        {"day": 2_932_897, "at": 0},
        {"day": None, "at": None},
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("[123456789012345678901234567890123456789]", "[123456789012345678901234567890123456788]"),
        ("[1e1000000000]", "[1e1000000001]"),
        ("[0]", "[1]"),
        ("[1]", "[-1]"),
        ('"__debezium_unavailable_value"', "__debezium_unavailable_value"),
        ("[" * 5000 + "]" * 5000, "[" * 4999 + "]" * 4999),
    ],
)
def test_documents_that_differ_are_told_apart_whatever_is_in_them(one: str, other: str) -> None:
    assert canonical(one, "jsonb") != canonical(other, "jsonb")
    assert canonical(one, "jsonb") == canonical(one, "jsonb")


def test_a_number_has_one_form() -> None:
    forms = {canonical(text, "jsonb") for text in ("120", "120.0", "1.2e2", "1200E-1")}
    assert len(forms) == 1
    assert len({canonical(text, "jsonb") for text in ("0", "-0", "0.00", "0e5")}) == 1


# A date, and the days since 1970 that it is; a timestamp, and the microseconds.
DATES = [
    ("infinity", "infinity"),
    ("-infinity", "-infinity"),
    ("0044-03-15 BC", "-735160"),
    ("4713-01-01 BC", "-2440550"),
    ("9999-12-31", "2932896"),
    ("10000-01-01", "2932897"),
    ("5874897-12-31", "2145042905"),
]
INSTANTS = [
    ("infinity", "infinity"),
    ("0044-03-15 12:00:00 BC", "-63517780800000000"),
    ("10000-01-01", "253402300800000000"),
    ("294276-12-31 23:59:59.999999", "9224318015999999999"),
    ("2026-11-20 23:23:11.083659", "1795216991083659"),
]


@pytest.mark.integration
def test_the_source_is_read_whatever_dates_it_has(database: ConnectionParameters) -> None:
    execute(database, "CREATE SCHEMA datalake")
    execute(database, "CREATE TABLE datalake.cdc_events (order_id INT, day DATE, at TIMESTAMPTZ, document JSONB)")
    for number, (day, _) in enumerate(DATES):
        execute(database, f"INSERT INTO datalake.cdc_events (order_id, day) VALUES ({number}, '{day}')")
    for number, (at, _) in enumerate(INSTANTS, 100):
        execute(database, f"INSERT INTO datalake.cdc_events (order_id, at) VALUES ({number}, '{at}')")
    rows = read_source(database).rows
    assert read_source(database, ["0", "100"]).rows == {"0": rows["0"], "100": rows["100"]}
    assert [rows[str(number)]["day"] for number in range(len(DATES))] == [text for _, text in DATES]
    assert [rows[str(number)]["at"] for number in range(100, 100 + len(INSTANTS))] == [text for _, text in INSTANTS]
