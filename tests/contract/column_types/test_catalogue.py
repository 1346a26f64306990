"""Types as the catalog's rows describe them."""

import pytest

from contract.column_types.catalogue import Carried, column_types, result_modifier
from contract.column_types.types import carried

INT4 = {"oid": 23, "schema": "pg_catalog", "name": "int4", "kind": "base", "parts": None}
DOMAIN = {"oid": 90, "schema": "public", "name": "d", "kind": "domain", "parts": [["", 23, -1]]}
MOOD = {"oid": 91, "schema": "public", "name": "mood", "kind": "enum", "parts": None}


def test_a_types_parts_are_types() -> None:
    rows = (DOMAIN, INT4, MOOD)
    types = column_types(rows)
    assert types[90].parts == (("", types[23], -1),)
    assert set(types) == {23, 90, 91}


@pytest.mark.parametrize(
    ("precision", "scale", "lake"),
    [
        (10, 2, "decimal(10,2)"),
        (5, 0, "decimal(5,0)"),
        # How drivers report a missing modifier: psycopg2, and PostgreSQL's for Java.
        (65_535, 65_535, "string"),
        (0, 0, "string"),
        (None, None, "string"),
    ],
)
def test_a_numeric_of_a_query_has_the_digits_that_a_driver_says(
    precision: int | None, scale: int | None, lake: str
) -> None:
    numeric = {**INT4, "oid": 1700, "name": "numeric"}
    found = carried(column_types([numeric])[1700], result_modifier(1700, precision, scale))
    assert isinstance(found, Carried)
    assert found.lake == lake


def test_other_types_of_a_query_have_no_modifier() -> None:
    """Not every driver reports it: the schema's writer and the rows' reader would see different types."""
    assert result_modifier(1114, 3, 0) == -1
