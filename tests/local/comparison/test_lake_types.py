"""Columns whose lake type isn't the one that the source's would get: compared as far as the values allow."""

import re
from pathlib import Path

import duckdb
import pyarrow
import pytest

from contract import column_types
from contract.column_types import canonical
from contract.column_types.catalogue import Carried
from local.comparison import describe
from local.comparison.describe import _called_in_lake as called_in_lake
from local.comparison.describe import _canonical_json as canonical_json
from local.comparison.describe import _fitted as fitted
from local.comparison.lake import _python_rows as python_rows
from local.comparison.rows import ComparedColumn

INTEGER = Carried(wire="int", avro="int", lake="int", spelling=canonical.INTEGER)
DECIMAL = Carried(wire="text", avro="string", lake="decimal(10,2)", spelling=canonical.DECIMAL)
TEXT = Carried(wire="text", avro="string", lake="string", spelling=canonical.TEXT)


def column(kind: Carried, hash_digits: int = 0) -> ComparedColumn:
    return ComparedColumn(name="c", lake_name="c", spelled=kind, hash_digits=hash_digits)


@pytest.mark.parametrize(
    ("kind", "stored", "compared"),
    [
        (INTEGER, pyarrow.int32(), True),
        (INTEGER, pyarrow.int64(), True),
        (INTEGER, pyarrow.float64(), True),
        (INTEGER, pyarrow.string(), False),
        (DECIMAL, pyarrow.decimal128(12, 4), True),
        (DECIMAL, pyarrow.string(), True),
        (DECIMAL, pyarrow.float64(), False),
        (TEXT, pyarrow.large_string(), True),
        (TEXT, pyarrow.int32(), False),
    ],
)
def test_a_column_is_compared_where_its_values_can_be(kind: Carried, stored: pyarrow.DataType, compared: bool) -> None:
    assert (fitted(column(kind), kind, stored) is not None) is compared


def test_a_hash_is_text_whatever_it_is_of() -> None:
    assert fitted(column(TEXT, hash_digits=64), TEXT, pyarrow.string()) is not None
    assert fitted(column(TEXT, hash_digits=64), TEXT, pyarrow.int32()) is None


@pytest.mark.parametrize("value", [7.0, -3.0, 0.0, 9_007_199_254_740_991.0, 7.5])
def test_a_whole_number_that_the_lake_has_as_a_double_is_spelled_as_the_source_does(value: float) -> None:
    made = fitted(column(INTEGER), INTEGER, pyarrow.float64())
    assert made is not None
    with duckdb.connect() as connection:
        [(text,)] = connection.execute(f"SELECT {made.lake_sql} FROM (SELECT ?::DOUBLE AS c)", [value]).fetchall()
    assert text == made.spelled.lake_text(value) == (str(int(value)) if value != 7.5 else "7.5")


def test_a_decimal_that_the_lake_has_as_text_is_that_text() -> None:
    made = fitted(column(DECIMAL), DECIMAL, pyarrow.string())
    assert made is not None
    assert made.spelled.lake_text("5.50") == "5.50"


def test_a_column_that_came_with_events_has_the_lakes_name_or_an_older_ones() -> None:
    assert called_in_lake("Mixed Case", {"mixed_case"}) == "mixed_case"
    assert called_in_lake("orderId", {"orderId"}) == "orderId"


def test_every_lake_type_that_a_column_can_have_is_known() -> None:
    modules = Path(column_types.__file__).parent.glob("*types.py")
    named = {name for path in modules for name in re.findall(r'lake=f?"([a-z]+)', path.read_text(encoding="utf-8"))}
    assert {"string", "decimal", "binary"} <= named
    assert named <= set(describe._STORED)


def test_numbers_and_text_are_told_apart() -> None:
    assert canonical_json("12") != canonical_json('"12"')
    assert canonical_json("12345678901234567890") != canonical_json("12345678901234567891")


def test_lake_rows_have_dates_that_python_has_not() -> None:
    table = pyarrow.table(
        {
            "day": pyarrow.array([-735_160, 2_932_897, None], pyarrow.int32()).cast(pyarrow.date32()),
            "at": pyarrow.array([-63_517_780_800_000_000, 0, None]).cast(pyarrow.timestamp("us", "UTC")),
        }
    )
    assert python_rows(table) == [
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
    assert canonical_json(one) != canonical_json(other)
    assert canonical_json(one) == canonical_json(one)


def test_a_number_has_one_form() -> None:
    forms = {canonical_json(text) for text in ("120", "120.0", "1.2e2", "1200E-1")}
    assert len(forms) == 1
    assert len({canonical_json(text) for text in ("0", "-0", "0.00", "0e5")}) == 1
