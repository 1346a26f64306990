"""How a column of each PostgreSQL type is carried in events, the Avro schema and the lake; or why it can't be.

docs/reference/types.md is generated from it. Types are as the catalogue has them (db/source/catalogue.py).
"""

from dataclasses import replace
from typing import Any

from contract.avro_names import SOURCE_NAME, SPECIALS
from contract.column_types.array_types import array
from contract.column_types.base_types import AS_TEXT, BASE, EXTENSIONS, LEFT_OUT, named
from contract.column_types.carried import Carried, LeftOut, avro
from contract.column_types.catalogue import ColumnType, without_domains
from contract.special_values import SPECIALS_COLUMN


def carried(kind: ColumnType, modifier: int = -1) -> Carried | LeftOut:
    """Return how a column of a type with `modifier` (atttypmod, -1: none) is carried."""
    given = kind
    kind, modifier = without_domains(kind, modifier)
    if kind.kind == "array":
        found = array(kind, modifier)
        # Debezium recognizes an array's placeholder by its type's name, which a domain hides.
        return replace(found, has_placeholder=False) if given is not kind and isinstance(found, Carried) else found
    if kind.kind == "enum":
        return named("io.debezium.data.Enum")
    if kind.kind == "pseudo":
        return LeftOut("not a type that tables have")
    if kind.schema != "pg_catalog":
        make = EXTENSIONS.get(kind.name)
        return make(kind, modifier) if make else AS_TEXT
    if kind.name in LEFT_OUT:
        return LeftOut(LEFT_OUT[kind.name])
    return BASE[kind.name](modifier) if kind.name in BASE else AS_TEXT


def avro_field(name: str, source_name: str, type_: Carried, *, nullable: bool = True) -> dict[str, Any]:
    """Return the Avro field of a column: `name` in the lake, `source_name` in events."""
    field: dict[str, Any] = {"name": name, "type": ["null", type_.avro] if nullable else type_.avro}
    if nullable:
        field["default"] = None
    return field if name == source_name else field | {SOURCE_NAME: source_name}


def specials_field() -> dict[str, Any]:
    """Return the Avro field of the column of special values, for tables with a column whose type is `special`."""
    return {"name": SPECIALS_COLUMN, "type": ["null", avro("string", SPECIALS)], "default": None}
