"""Types as the catalogue's rows describe them, which lake type each becomes, and which ones are excluded."""

from decimal import Decimal

import duckdb
import pytest

from contract.column_types.catalogue import Carried, LeftOut, column_types, numeric_modifier, result_modifier
from contract.column_types.catalogue import ColumnType as Type
from contract.column_types.types import avro_field, carried

NUMERIC = Type("numeric")


def array_of(element: Type) -> Type:
    return Type(f"_{element.name}", element.schema, "array", (("", element, -1),))


def domain_over(base: Type, modifier: int = -1) -> Type:
    return Type("a_domain", "public", "domain", (("", base, modifier),))


@pytest.mark.parametrize(
    ("kind", "modifier", "lake"),
    [
        (NUMERIC, numeric_modifier(10, 2), "decimal(10,2)"),
        (NUMERIC, numeric_modifier(38, 38), "decimal(38,38)"),
        (NUMERIC, numeric_modifier(5, 0), "decimal(5,0)"),
        # Rounded left of the point: this many digits more.
        (NUMERIC, numeric_modifier(3, -2), "decimal(5,0)"),
        (NUMERIC, numeric_modifier(3, 5), "decimal(5,5)"),
        # The lake has no more than 38 digits, and a numeric without a scale is exact.
        (NUMERIC, numeric_modifier(39, 0), "string"),
        (NUMERIC, numeric_modifier(1000, 500), "string"),
        (NUMERIC, -1, "string"),
        (domain_over(domain_over(NUMERIC, numeric_modifier(12, 2))), -1, "decimal(12,2)"),
        # What isn't known is its text, whatever it is called.
        (Type("mine", "public", "composite"), -1, "string"),
        (Type("int4", "public", "composite"), -1, "string"),
    ],
)
def test_a_column_of_the_lake_has_the_type(kind: Type, modifier: int, lake: str) -> None:
    found = carried(kind, modifier)
    assert isinstance(found, Carried)
    assert found.lake == lake


def test_a_timestamp_travels_in_the_unit_of_its_precision() -> None:
    names = []
    for modifier in (-1, 0, 3, 4, 6):
        found = carried(Type("timestamp"), modifier)
        assert isinstance(found, Carried)
        assert isinstance(found.avro, dict)
        names.append(found.avro["connect.name"].rpartition(".")[2])
    assert names == ["MicroTimestamp", "Timestamp", "Timestamp", "MicroTimestamp", "MicroTimestamp"]


@pytest.mark.parametrize(
    "kind",
    [
        *map(Type, ("varbit", "refcursor", "int2vector", "oidvector")),
        *(array_of(Type(name)) for name in ("time", "bit", "interval", "money", "point", "name", "varbit")),
        array_of(domain_over(Type("int4"))),
    ],
    ids=lambda kind: kind.name,
)
def test_what_debezium_changes_is_left_out(kind: Type) -> None:
    assert isinstance(carried(kind), LeftOut)


def test_a_field_says_what_events_call_it() -> None:
    found = carried(Type("int4"))
    assert isinstance(found, Carried)
    assert avro_field("order_id", "Order ID", found, nullable=False) == {
        "name": "order_id",
        "type": "int",
        "source.name": "Order ID",
    }


@pytest.mark.parametrize(
    ("kind", "has_placeholder"),
    [
        (Type("bytea"), True),
        (Type("mine", "public", "composite"), True),
        (Type("polygon"), False),
        (array_of(Type("text")), True),
        (array_of(Type("float8")), False),
        (array_of(Type("timestamp")), False),
        # Our converter takes Debezium's place.
        (array_of(NUMERIC), True),
        (array_of(Type("tsvector")), True),
        # Debezium finds it under the array's name.
        (domain_over(array_of(Type("text"))), False),
        (domain_over(Type("text")), True),
    ],
)
def test_it_is_known_whether_events_tell_that_a_large_value_was_left_alone(kind: Type, has_placeholder: bool) -> None:
    found = carried(kind)
    assert isinstance(found, Carried)
    assert found.has_placeholder is has_placeholder


@pytest.mark.parametrize(
    ("kind", "modifier", "value", "text"),
    [
        (array_of(Type("float4")), -1, "[1.5,null]", f"{0x3FC00000:032b},"),
        (array_of(Type("float8")), -1, "[1.5]", f"{0x3FF8 << 48:064b}"),
        (
            Type("circle"),
            -1,
            '{"x":1.5,"y":-1.5,"radius":1.5}',
            f"{0x3FF8 << 48:064b},{0xBFF8 << 48:064b},{0x3FF8 << 48:064b}",
        ),
        (NUMERIC, numeric_modifier(2, 2), Decimal("0.50"), "0.50"),
        (NUMERIC, numeric_modifier(3, 2), Decimal("1.50"), "1.50"),
    ],
)
def test_duckdb_and_python_write_a_value_alike(kind: Type, modifier: int, value: object, text: str) -> None:
    found = carried(kind, modifier)
    assert isinstance(found, Carried)
    given = f"CAST('{value}' AS {'VARCHAR' if found.lake == 'string' else found.lake})"
    query = f"SELECT {found.lake_sql('c')} FROM (SELECT {given} AS c, NULL::VARCHAR AS __specials)"
    assert duckdb.execute(query).fetchall() == [(text,)]
    assert found.lake_text(value) == text


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
