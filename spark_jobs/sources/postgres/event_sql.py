"""SQL with which PostgreSQL writes a row as the JSON line of Debezium's flattened event.

It queries the catalog for the columns' types (`catalogue_sql`, `read_columns`) and writes an expression of type text
from them (`row_sql`), valid in a session with `SESSION_SETTINGS`: values are spelled accordingly. `_value` has
each type's encoding (docs/reference/types.md, "In events"), contract/column_types/ the types. Where Debezium is wrong
and the lake's type can hold the right value, this is right: a date BC keeps its era; a timetz with seconds in its
offset and an interval of any length are accepted. A timetz is in UTC, like the lake's column.
"""

# ruff: noqa: S608  # put together from quoted texts, and from expressions that stand here and in contract/

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contract.column_types import canonical
from contract.column_types.canonical import SOURCE_SETTINGS, Spelling
from contract.column_types.catalogue import TYPES, AvroType, Carried, ColumnType, LeftOut, column_types, quoted
from contract.column_types.types import carried
from contract.events import (
    BITS_LENGTH,
    EXACT_NUMBER,
    HSTORE,
    INFINITE_DAYS,
    INFINITE_MICROS,
    NOT_NUMBERS,
    PATH,
    TEXT_AS_BYTES,
    ZONED_TIME,
)

# The decoder rejects this as an array that hasn't one dimension, and sets the event aside.
_SPOILED = '["[[Several@0"]'


def _value(avro: AvroType, spelling: Spelling, value: str) -> str:
    attributes: Mapping[str, Any] = avro if isinstance(avro, Mapping) else {"type": avro}
    if attributes["type"] == "array":
        # Extensions' vectors, which aren't arrays to PostgreSQL, are known by name.
        return _array(attributes["items"][1], f"{value}::real[]" if "connect.name" in attributes else value)
    if attributes.get("logicalType") == "decimal":
        return _number(f"{value}::numeric::text")
    meaning = str(attributes.get("connect.name"))
    if meaning == _BITS:
        return _bits(value, int(attributes["connect.parameters"][BITS_LENGTH]))
    if meaning in _BY_MEANING:
        return _BY_MEANING[meaning](value)
    if meaning in _SPELLED:
        return _text(_filled(spelling.source, value))
    if meaning in _WKB:
        return f"""'{{"wkb":"' || {_base64(f"decode({_filled(spelling.source, value)}, 'hex')")} || '"}}'"""
    return _plain(str(attributes["type"]), spelling, value)


def _plain(type_: str, spelling: Spelling, value: str) -> str:
    if type_ in ("float", "double"):
        return _float(f"{value}::text")
    if type_ == "bytes":
        return _quoted(_base64(value))
    if type_ == "string":
        # concat() writes a value with its type's own output function; a cast to text may differ (inet).
        return _text(f"concat({value})")
    return _filled(spelling.source, value)


def _filled(expression: str, value: str) -> str:
    return expression.replace("{c}", value)


def _text(expression: str) -> str:
    return f"to_json({expression})::text"


def _quoted(expression: str) -> str:
    return f"""'"' || {expression} || '"'"""


def _base64(expression: str) -> str:
    # PostgreSQL breaks it into lines.
    return f"translate(encode({expression}, 'base64'), E'\\n', '')"


def _number(text: str) -> str:
    cases = " ".join(f"WHEN '{meant}' THEN '{sent}'" for sent, meant in NOT_NUMBERS.items())
    return _quoted(f"CASE {text} {cases} ELSE {text} END")


def _float(text: str) -> str:
    """Write a float: a whole number with a fraction, since JSON's -0 is 0; a value that is no number as a text."""
    return (
        f"CASE WHEN {text} ~ '^-?[0-9]+$' THEN {text} || '.0' WHEN {text} ~ '[fN]' THEN {_quoted(text)} ELSE {text} END"
    )


def _infinite(value: str, infinite: Mapping[int, str], otherwise: str) -> str:
    cases = " ".join(f"WHEN '{text}' THEN '{number}'" for number, text in infinite.items())
    return f"CASE WHEN isfinite({value}) THEN ({otherwise})::text ELSE CASE {value}::text {cases} END END"


def _zoned_timestamp(value: str) -> str:
    """Write an instant in UTC in ISO 8601: the year before 1 is 0, and years of five digits have a sign."""
    year = f"extract(year FROM {value})"
    number = (
        f"CASE WHEN {year} > 9999 THEN '+' || {year} WHEN {year} > 0 THEN lpad({year}::text, 4, '0')"
        f" WHEN {year} = -1 THEN '0000' ELSE '-' || lpad((-1 - {year})::text, greatest(4, length((-1 - {year})::text)),"
        " '0') END"
    )
    instant = f"""{number} || to_char({value}, '-MM-DD"T"HH24:MI:SS.US"Z"')"""
    return _quoted(f"CASE WHEN isfinite({value}) THEN {instant} ELSE {value}::text END")


def _bits(value: str, length: int) -> str:
    """Write bits as bytes, the lowest first."""
    whole = -(-length // 8) * 8
    padded = f"lpad({value}::text, {whole}, '0')"
    byte = f"lpad(to_hex(substr({padded}, i, 8)::bit(8)::int), 2, '0')"
    digits = f"(SELECT string_agg({byte}, '' ORDER BY i DESC) FROM generate_series(1, {whole}, 8) AS s (i))"
    return _quoted(_base64(f"decode({digits}, 'hex')"))


def _path(value: str) -> str:
    wkb = _base64(f"decode(split_part({_filled(canonical.PATH.source, value)}, ' ', 2), 'hex')")
    return f"""concat('{{"wkb":"', {wkb}, '","extensions":{{"closed":"', isclosed({value})::text, '"}}}}')"""


def _floats(parts: Mapping[str, str], value: str) -> str:
    fields = [f"""'"{name}":' || ({_float(f"({_filled(part, value)})::text")})""" for name, part in parts.items()]
    return f"concat('{{', concat_ws(',', {', '.join(fields)}), '}}')"


def _circle(value: str) -> str:
    radius = {"radius": canonical.CIRCLE_PARTS["radius"]}
    center = {name: part for name, part in canonical.CIRCLE_PARTS.items() if name not in radius}
    return f"""concat('{{"center":', {_floats(center, value)}, ',', substr({_floats(radius, value)}, 2))"""


def _array(items: AvroType, value: str) -> str:
    element = _value(items, canonical.INTEGER, "e")
    elements = f"string_agg(CASE WHEN e IS DISTINCT FROM NULL THEN {element} ELSE 'null' END, ',' ORDER BY n)"
    # Within FROM, unnest would split composites.
    rows = f"(SELECT unnest({value}) AS e, generate_subscripts({value}, 1) AS n) AS u"
    return (
        f"CASE WHEN array_ndims({value}) > 1 THEN '{_SPOILED}' ELSE"
        f" (SELECT concat('[', {elements}, ']') FROM {rows}) END"
    )


_BITS = "io.debezium.data.Bits"
# Events have these in their canonical spelling.
_SPELLED = ("io.debezium.time.Interval", HSTORE)
_WKB = ("io.debezium.data.geometry.Point", "io.debezium.data.geometry.Geometry")
_BY_MEANING: Mapping[str, Callable[[str], str]] = {
    "io.debezium.time.Date": lambda c: _infinite(c, INFINITE_DAYS, f"{c} - DATE '1970-01-01'"),
    "io.debezium.time.Timestamp": lambda c: _infinite(c, INFINITE_MICROS, f"div({_filled(canonical.MICROS, c)}, 1000)"),
    "io.debezium.time.MicroTimestamp": lambda c: _infinite(c, INFINITE_MICROS, _filled(canonical.MICROS, c)),
    "io.debezium.time.ZonedTimestamp": _zoned_timestamp,
    "io.debezium.time.Time": lambda c: f"(extract(epoch FROM {c}) * 1000)::bigint::text",
    "io.debezium.time.MicroTime": lambda c: f"(extract(epoch FROM {c}) * 1000000)::bigint::text",
    ZONED_TIME: lambda c: _quoted(f"replace({_filled(canonical.TIME_WITH_ZONE.source, c)}, '+00', 'Z')"),
    "io.debezium.data.geometry.Line": lambda c: _floats(canonical.LINE_PARTS, c),
    "io.debezium.data.geometry.Circle": _circle,
    EXACT_NUMBER: lambda c: _number(f"{c}::text"),
    TEXT_AS_BYTES: lambda c: _quoted(_base64(f"convert_to(concat({c}), 'UTF8')")),
    PATH: _path,
}


# The settings for values' spelling, and: a row that a policy hides is an error, not a deleted row; and a backslash
# is itself.
SESSION_SETTINGS = {**SOURCE_SETTINGS, "row_security": "off", "standard_conforming_strings": "on"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceColumn:
    """A column of a table, view or query: its name in PostgreSQL, its type, and that type's modifier (-1: none).

    `generated`: a table's column that PostgreSQL computes.
    """

    name: str
    type: ColumnType
    modifier: int = -1
    generated: bool = False

    @property
    def carried(self) -> Carried | LeftOut:
        return carried(self.type, self.modifier)


def catalogue_sql(schema: str, table: str) -> str:
    """Write the query for `read_columns`; no columns come of a table that is missing, or that the role may not read."""
    return _catalogue(
        "SELECT a.attnum, a.attname::text, a.atttypid, a.atttypmod, a.attgenerated <> ''"
        " FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace"
        f" WHERE n.nspname = {literal(schema)} AND c.relname = {literal(table)}"
        " AND a.attnum > 0 AND NOT a.attisdropped"
    )


def query_catalogue_sql(columns: Sequence[tuple[str, int, int]]) -> str:
    """Write the same query for the result of a query: its columns' names, type numbers and modifiers."""
    rows = ", ".join(
        f"({place}, {literal(name)}, {int(oid)}::oid, {int(modifier)}, false)"
        for place, (name, oid, modifier) in enumerate(columns)
    )
    return _catalogue(f"VALUES {rows}")


def _catalogue(columns: str) -> str:
    types = TYPES.replace("{types}", "(SELECT array_agg(d.type) FROM described d)")
    return (
        f"WITH described (place, name, type, modifier, generated) AS ({columns}) SELECT json_build_object("
        "'columns', (SELECT json_agg(json_build_array(d.name, d.type::bigint, d.modifier, d.generated)"
        f" ORDER BY d.place) FROM described d), 'types', (SELECT json_agg(t) FROM ({types}) AS t))::text"
    )


def read_columns(text: str) -> tuple[SourceColumn, ...]:
    """Return the columns in the catalog's text, in their order."""
    found = json.loads(text)
    types = column_types(found["types"] or ())
    return tuple(
        SourceColumn(name=name, type=types[oid], modifier=modifier, generated=generated)
        for name, oid, modifier, generated in found["columns"] or ()
    )


def sent(columns: Sequence[SourceColumn], *, leave_out: Collection[str] = ()) -> tuple[SourceColumn, ...]:
    """Return the columns that events have: those that aren't excluded and can be carried."""
    return tuple(c for c in columns if c.name not in leave_out and isinstance(c.carried, Carried))


def not_sent(columns: Sequence[SourceColumn], *, leave_out: Collection[str] = ()) -> dict[str, str]:
    kinds = {c.name: c.carried for c in columns if c.name not in leave_out}
    return {name: kind.reason for name, kind in kinds.items() if isinstance(kind, LeftOut)}


def row_sql(columns: Sequence[SourceColumn], metadata: Mapping[str, str | int] | None = None) -> str:
    """Write the expression of the line of `t`: an object of the columns that can be carried, then of `metadata`."""
    fields = list[str]()
    for column in columns:
        if isinstance(kind := column.carried, Carried):
            name, value = literal(f"{_json(column.name)}:"), f"t.{quoted(column.name)}"
            text = _value(kind.avro, kind.spelling, value)
            # `IS NOT NULL` would check each field of a composite.
            fields.append(f"{name} || CASE WHEN {value} IS DISTINCT FROM NULL THEN {text} ELSE 'null' END")
    fields += [literal(f"{_json(name)}:{_json(value)}") for name, value in (metadata or {}).items()]
    # An array, since functions accept 100 arguments at most.
    return f"concat('{{', array_to_string(ARRAY[{', '.join(fields)}]::text[], ','), '}}')"


def literal(text: str) -> str:
    """Quote a text for SQL, in a session where a backslash is itself."""
    return "'" + text.replace("'", "''") + "'"


def _json(value: str | int) -> str:
    return json.dumps(value, ensure_ascii=False)
