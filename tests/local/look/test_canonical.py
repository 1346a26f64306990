"""How Python spells what the lake has."""

import pyarrow
import pytest

from local.look.canonical import canonical_json, lake_rows


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
    assert canonical_json(one) != canonical_json(other)
    assert canonical_json(one) == canonical_json(one)


def test_a_number_has_one_form() -> None:
    forms = {canonical_json(text) for text in ("120", "120.0", "1.2e2", "1200E-1")}
    assert len(forms) == 1
    assert len({canonical_json(text) for text in ("0", "-0", "0.00", "0e5")}) == 1
