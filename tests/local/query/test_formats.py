"""A result has the same content in every format: UTC, all digits, null distinct from an empty text."""

import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow
import pytest
from pyarrow import parquet

from local.query.formats import WIDEST, Format, texts, write

RESULT = pyarrow.table(
    {
        "id": pyarrow.array([1, 2], pyarrow.int64()),
        "name": ['say "hi"', None],
        "price": pyarrow.array([Decimal("1.50"), None], pyarrow.decimal128(30, 2)),
        "seen": pyarrow.array([datetime(2026, 11, 22, 11, tzinfo=UTC), None], pyarrow.timestamp("us", "UTC")),
        "born": [date(1996, 7, 4), None],
        "good": [True, False],
        "items": [[1, 2], None],
    }
)


def written(result: pyarrow.Table, form: Format) -> bytes:
    out = io.BytesIO()
    write(result, form, out)
    return out.getvalue()


def test_a_table_is_aligned_and_counted() -> None:
    assert written(RESULT, "table").decode().splitlines() == [
        "id | name     | price | seen                        | born       | good  | items",
        "---+----------+-------+-----------------------------+------------+-------+-------",
        ' 1 | say "hi" |  1.50 | 2026-11-22 11:00:00.000000Z | 1996-07-04 | true  | [1, 2]',
        " 2 | NULL     |  NULL | NULL                        | NULL       | false | NULL",
        "(2 rows)",
    ]


def test_a_terminal_is_told_nothing_but_text() -> None:
    [_, _, row, _] = written(pyarrow.table({"a": ["\x1b[2Jgone\n" + "x" * 100]}), "table").decode().splitlines()
    assert row.startswith(r"\x1b[2Jgone\nxxx")
    assert len(row) == WIDEST


def test_csv_tells_null_from_an_empty_text() -> None:
    result = pyarrow.table({"a": ["", None, 'x"y'], "b": [1, 2, 3]})
    assert written(result, "csv").decode() == '"a","b"\n"","1"\n,"2"\n"x""y","3"\n'


def test_json_has_an_object_a_line_with_all_digits() -> None:
    result = RESULT.append_column("most", pyarrow.array([9_007_199_254_740_993, None], pyarrow.int64()))
    first, second = written(result, "json").decode().splitlines()
    assert json.loads(first, parse_float=Decimal) == {
        "id": 1,
        "name": 'say "hi"',
        "price": Decimal("1.50"),
        "seen": "2026-11-22 11:00:00.000000Z",
        "born": "1996-07-04",
        "good": True,
        "items": [1, 2],
        "most": 9_007_199_254_740_993,
    }
    assert json.loads(second)["price"] is None


def test_a_number_that_json_hasnt_is_a_text() -> None:
    result = pyarrow.table({"a": [float("nan"), float("-inf"), 0.1]})
    assert written(result, "json").decode().splitlines() == ['{"a": "nan"}', '{"a": "-inf"}', '{"a": 0.1}']


def test_parquet_keeps_the_types() -> None:
    assert parquet.read_table(io.BytesIO(written(RESULT, "parquet"))).equals(RESULT)


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_an_instant_beyond_pythons_is_no_failure(form: Format) -> None:
    result = pyarrow.table({"a": pyarrow.array([9_223_372_036_825_200_000], pyarrow.timestamp("us", "UTC"))})
    assert written(result, form)


def test_years_beyond_16_bits_and_before_christ_are_shown_as_they_are() -> None:
    micros = [0, -1, 6248787955200000000, 9223371331200000000, -210866803200000000, None]
    moments = pyarrow.chunked_array([pyarrow.array(micros, pyarrow.int64()).cast(pyarrow.timestamp("us", "UTC"))])
    assert texts(moments) == [
        "1970-01-01 00:00:00.000000Z",
        "1969-12-31 23:59:59.999999Z",
        "199986-03-17 16:00:00.000000Z",
        "294247-01-02 00:00:00.000000Z",
        "-4713-11-24 00:00:00.000000Z",
        None,
    ]
    days = pyarrow.array([2**31 - 1, 106751991, -719529, -(2**31)], pyarrow.int32()).cast(pyarrow.date32())
    assert texts(pyarrow.chunked_array([days])) == ["5881580-07-11", "294247-01-10", "-0001-12-31", "-5877641-06-23"]


YEAR_199986 = pyarrow.array([6248787955200000000, None], pyarrow.int64()).cast(pyarrow.timestamp("us", "UTC"))
OF_TWO = pyarrow.array([0, 2], pyarrow.int32())


@pytest.mark.parametrize(
    ("nested", "text"),
    [
        (pyarrow.ListArray.from_arrays(OF_TWO, YEAR_199986), '["199986-03-17 16:00:00.000000Z", null]'),
        (pyarrow.array([[2**31 - 1]], pyarrow.list_(pyarrow.date32())), '["5881580-07-11"]'),
        (pyarrow.StructArray.from_arrays([YEAR_199986[:1]], ["ä"]), '{"ä": "199986-03-17 16:00:00.000000Z"}'),
        (
            pyarrow.array([[{"a": [b"\x00\xff", None], "b": Decimal("1.50")}, None]]),
            '[{"a": ["00ff", null], "b": 1.50}, null]',
        ),
        (
            pyarrow.array(
                [[("a", [1, float("nan")])]], pyarrow.map_(pyarrow.string(), pyarrow.list_(pyarrow.float64()))
            ),
            '[{"key": "a", "value": [1.0, "nan"]}]',
        ),
        (pyarrow.array([[]], pyarrow.list_(pyarrow.int64())), "[]"),
    ],
)
def test_what_is_nested_is_written_as_a_flat_column_is(nested: pyarrow.Array, text: str) -> None:
    rows = pyarrow.concat_arrays([nested, pyarrow.nulls(1, nested.type), nested])
    assert texts(pyarrow.chunked_array([rows, rows[1:]])) == [text, None, text, None, text]


def test_an_interval_is_shown_as_pyarrow_says_it() -> None:
    spans = pyarrow.array([(1, 2, 3), None], pyarrow.month_day_nano_interval())
    assert texts(pyarrow.chunked_array([spans])) == ["MonthDayNano(months=1, days=2, nanoseconds=3)", None]
