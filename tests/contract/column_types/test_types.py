"""Which lake type a PostgreSQL type becomes, and which types are excluded."""

from decimal import Decimal

import duckdb
import pytest

from contract.column_types.catalogue import Carried, LeftOut, numeric_modifier
from contract.column_types.catalogue import ColumnType as Type
from contract.column_types.types import avro_field, carried, specials_field

NUMERIC = Type("numeric")


def array_of(element: Type) -> Type:
    return Type(f"_{element.name}", element.schema, "array", (("", element, -1),))


def domain_over(base: Type, modifier: int = -1) -> Type:
    return Type("a_domain", "public", "domain", (("", base, modifier),))


def lake_type(kind: Type, modifier: int = -1) -> str:
    found = carried(kind, modifier)
    assert isinstance(found, Carried)
    return found.lake


@pytest.mark.parametrize(
    ("precision", "scale", "lake"),
    [
        (10, 2, "decimal(10,2)"),
        (38, 38, "decimal(38,38)"),
        (5, 0, "decimal(5,0)"),
        # Rounded left of the point: this many digits more.
        (3, -2, "decimal(5,0)"),
        (3, 5, "decimal(5,5)"),
        (39, 0, "string"),
        (1000, 500, "string"),
    ],
)
def test_a_decimal_stays_one_as_long_as_the_lake_has_it(precision: int, scale: int, lake: str) -> None:
    assert lake_type(NUMERIC, numeric_modifier(precision, scale)) == lake


def test_a_numeric_without_a_scale_is_exact_text() -> None:
    assert lake_type(NUMERIC) == "string"


def test_a_domain_is_what_it_is_made_of() -> None:
    price = domain_over(domain_over(NUMERIC, numeric_modifier(12, 2)))
    assert lake_type(price) == "decimal(12,2)"


def test_a_timestamp_travels_in_the_unit_of_its_precision() -> None:
    names = []
    for modifier in (-1, 0, 3, 4, 6):
        found = carried(Type("timestamp"), modifier)
        assert isinstance(found, Carried)
        assert isinstance(found.avro, dict)
        names.append(found.avro["connect.name"].rpartition(".")[2])
    assert names == ["MicroTimestamp", "Timestamp", "Timestamp", "MicroTimestamp", "MicroTimestamp"]


def test_an_unknown_type_is_its_text() -> None:
    assert lake_type(Type("mine", "public", "composite")) == "string"


def test_a_users_type_called_like_a_built_in_one_is_its_text() -> None:
    assert lake_type(Type("int4", "public", "composite")) == "string"


@pytest.mark.parametrize("name", ["varbit", "refcursor", "int2vector", "oidvector"])
def test_what_debezium_changes_is_left_out(name: str) -> None:
    assert isinstance(carried(Type(name)), LeftOut)


@pytest.mark.parametrize("name", ["time", "bit", "interval", "money", "point", "name", "varbit"])
def test_an_array_that_debezium_changes_is_left_out(name: str) -> None:
    assert isinstance(carried(array_of(Type(name))), LeftOut)


def test_an_array_of_a_domain_is_left_out() -> None:
    assert isinstance(carried(array_of(domain_over(Type("int4")))), LeftOut)


def test_a_field_says_what_events_call_it() -> None:
    found = carried(Type("int4"))
    assert isinstance(found, Carried)
    assert avro_field("order_id", "Order ID", found, nullable=False) == {
        "name": "order_id",
        "type": "int",
        "source.name": "Order ID",
    }


def test_the_special_values_have_a_column() -> None:
    assert specials_field()["name"] == "__specials"


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
