"""How a column of each PostgreSQL type is carried in events, the Avro schema and the lake; or why it can't be.

docs/reference/types.md is generated from it. Types are as the catalogue has them (db/source/catalogue.py).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from contract.column_types import canonical
from contract.column_types.base_types import AS_TEXT, BASE, EXTENSIONS, LEFT_OUT, RANGES, TEXTS, named, timestamp
from contract.column_types.canonical import Spelling
from contract.column_types.catalogue import AvroType, Carried, ColumnType, LeftOut, avro, without_domains
from contract.events import SOURCE_NAME, SPECIALS, SPECIALS_COLUMN

ARRAY_NOTE = (
    "as a JSON array without its bounds; multi-dimensional arrays and arrays of nothing but NULLs go to quarantine"
)
_ELEMENTS: Mapping[str, tuple[AvroType, Spelling]] = {
    "int2": ("int", canonical.ARRAY),
    "int4": ("int", canonical.ARRAY),
    "int8": ("long", canonical.ARRAY),
    "oid": ("long", canonical.ARRAY_OF_OIDS),
    "bool": ("boolean", canonical.ARRAY),
    "float4": ("float", canonical.float_array(32)),
    "float8": ("double", canonical.float_array(64)),
    **dict.fromkeys((*TEXTS, *RANGES, "bpchar", "uuid", "tsvector"), ("string", canonical.ARRAY)),
    **dict.fromkeys(("numeric", "json", "jsonb"), ("string", canonical.ARRAY_OF_TEXTS)),
    "bytea": ("bytes", canonical.ARRAY_OF_TEXTS),
    "date": (avro("int", "io.debezium.time.Date"), canonical.ARRAY_OF_TEXTS),
    "timestamptz": (avro("string", "io.debezium.time.ZonedTimestamp"), canonical.ARRAY_OF_TEXTS),
}
_ELEMENT_NOTES = {
    "date": "dates BC are wrong",
    "timestamp": "timestamps before 1582-10-15 are off by days",
    "timestamptz": "timestamps BC are wrong",
}
_WITH_PLACEHOLDER = ("text", "varchar", "bpchar", "json", "jsonb", "int4", "int8", "date", "uuid", "bytea")
# What our converter sends in place of Debezium (plugins/workers/java/EveryValue.java), as for types not in _ELEMENTS.
_CONVERTED = ("numeric", "tsvector")
# Debezium has no arrays of these, or loses parts of them.
_NO_ARRAYS = {
    **LEFT_OUT,
    **dict.fromkeys(("interval", "money", "bit", "varbit", "xml", "point", "name"), "Debezium has no arrays of it"),
    **dict.fromkeys(("line", "lseg", "box", "path", "polygon", "circle"), "Debezium has no arrays of it"),
    "time": "Debezium drops the microseconds of times in arrays",
    "timetz": "Debezium drops the offsets, and arrays don't say so",
}
_NO_EXTENSION_ARRAYS = ("hstore", "ltree", "vector", "halfvec", "sparsevec", "geometry", "geography", "isbn")


def array(kind: ColumnType, modifier: int) -> Carried | LeftOut:
    """Return how a column of an array type is carried; `modifier` is its elements'."""
    [(_, element, _)] = kind.parts
    if element.kind == "enum":
        return _json_array("string", canonical.ARRAY, has_placeholder=True)
    if element.kind == "domain":
        return LeftOut("an array of a domain: Debezium doesn't tell what is in it")
    if element.schema != "pg_catalog" and element.kind == "base":
        if element.name == "citext":
            return _json_array("string", canonical.ARRAY)
        if element.name in _NO_EXTENSION_ARRAYS:
            return LeftOut(f"an array of {element.name}: Debezium doesn't carry all of its values")
        return _array_of_others()
    if element.name in _NO_ARRAYS:
        return LeftOut(f"an array of {element.name}: {_NO_ARRAYS[element.name]}")
    if element.name == "timestamp":
        return _json_array(timestamp(modifier).avro, canonical.ARRAY_OF_TEXTS, _ELEMENT_NOTES["timestamp"])
    if element.name not in _ELEMENTS:
        return _array_of_others()
    items, spelling = _ELEMENTS[element.name]
    has_placeholder = element.name in _WITH_PLACEHOLDER + _CONVERTED
    return _json_array(items, spelling, _ELEMENT_NOTES.get(element.name, ""), has_placeholder=has_placeholder)


def _array_of_others() -> Carried:
    return _json_array(AS_TEXT.avro, canonical.ARRAY_OF_TEXTS, has_placeholder=True)


def _json_array(items: AvroType, spelling: Spelling, note: str = "", *, has_placeholder: bool = False) -> Carried:
    return Carried(
        wire="array",
        avro={"type": "array", "items": ["null", items]},
        lake="string",
        spelling=spelling,
        has_placeholder=has_placeholder,
        note=ARRAY_NOTE,
        note_of_log=note,
    )


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
        known = EXTENSIONS.get(kind.name, AS_TEXT)
        return known(kind) if callable(known) else known
    if kind.name in LEFT_OUT:
        return LeftOut(LEFT_OUT[kind.name])
    form = BASE.get(kind.name, AS_TEXT)
    return form(modifier) if callable(form) else form


def avro_field(name: str, source_name: str, type_: Carried, *, nullable: bool = True) -> dict[str, Any]:
    """Return the Avro field of a column: `name` in the lake, `source_name` in events."""
    field: dict[str, Any] = {"name": name, "type": ["null", type_.avro] if nullable else type_.avro}
    if nullable:
        field["default"] = None
    return field if name == source_name else field | {SOURCE_NAME: source_name}


def specials_field() -> dict[str, Any]:
    """Return the Avro field of the column of special values, for tables with a column whose type is `special`."""
    return {"name": SPECIALS_COLUMN, "type": ["null", avro("string", SPECIALS)], "default": None}
