"""One canonical text per value, written by both sides: equal values have equal texts, others have different ones.

Each spelling is an SQL expression for PostgreSQL, one for DuckDB over the lake's column, and a Python function for the
lake's values. They agree to the byte, so their hashes can be compared. Spellings follow PostgreSQL's own output where
the lake has it; floats are written as their bits, because no two programs print them alike.
"""

import base64
import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from contract.events import INFINITE_DAYS, INFINITE_MICROS

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
# Settings that the source's expressions rely on: SET LOCAL name = value.
SOURCE_SETTINGS = {
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "search_path": "pg_catalog",
}


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a kind of value is written: `source` and `lake` are SQL of type text with `{c}` for the column.

    `value` writes a lake's value as Arrow gives it; dates may come as days, instants as microseconds since 1970.
    None of them gets nulls.
    """

    source: str
    lake: str
    value: Callable[[Any], str]


def _infinities(expression: str, infinite: dict[int, str]) -> str:
    """Write DuckDB SQL for a number, with PostgreSQL's word for numbers that stand for an infinity."""
    cases = " ".join(f"WHEN {number} THEN '{text}'" for number, text in infinite.items())
    return f"CASE {expression} {cases} ELSE CAST({expression} AS VARCHAR) END"


def _days(value: date | int) -> str:
    days = value if isinstance(value, int) else (value - EPOCH.date()).days
    return INFINITE_DAYS.get(days, str(days))


def _micros(value: datetime | int) -> str:
    if isinstance(value, int):
        return INFINITE_MICROS.get(value, str(value))
    aware = value.replace(tzinfo=UTC) if value.tzinfo is None else value
    return _micros((aware - EPOCH) // _MICROSECOND)


def _bits(value: float, size: int) -> str:
    number = int.from_bytes(struct.pack(">d" if size == 64 else ">f", value), "big")
    return format(number, f"0{size}b")


def _sent(expression: str, size: int) -> str:
    """Write PostgreSQL's SQL for the bits of a float of 32 or 64 bits."""
    return f"('x' || encode(float{size // 8}send({expression}), 'hex'))::bit({size})::text"


def _numbers(value: str, size: int, keys: tuple[str, ...]) -> str:
    parsed = json.loads(value)
    found = [parsed[key] for key in keys] if keys else parsed
    return ",".join("" if number is None else _bits(float(number), size) for number in found)


# concat() writes a value with its type's output function, as the log does; a cast to text may differ (inet).
TEXT = Spelling("concat({c})", "{c}", str)
INTEGER = Spelling("{c}::text", "CAST({c} AS VARCHAR)", str)
BOOLEAN = Spelling("{c}::text", "CAST({c} AS VARCHAR)", lambda value: str(value).lower())
DECIMAL = Spelling("{c}::text", "CAST({c} AS VARCHAR)", "{:f}".format)
# DuckDB omits the 0 before a decimal point.
FRACTION = Spelling(DECIMAL.source, f"regexp_replace({DECIMAL.lake}, '^(-?)\\.', '\\10.')", DECIMAL.value)
PADDED = Spelling("{c}::text", "rtrim({c}, ' ')", lambda value: value.rstrip(" "))
BYTES = Spelling("encode({c}, 'hex')", "lower(hex({c}))", bytes.hex)
ONE_BIT = Spelling("({c} = B'1')::text", BOOLEAN.lake, BOOLEAN.value)
REAL = Spelling(_sent("{c}", 32), "CAST(CAST({c} AS BIT) AS VARCHAR)", lambda value: _bits(value, 32))
DOUBLE = Spelling(_sent("{c}", 64), REAL.lake, lambda value: _bits(value, 64))
DATE = Spelling(
    "CASE WHEN isfinite({c}) THEN ({c} - DATE '1970-01-01')::text ELSE {c}::text END",
    _infinities("({c} - DATE '1970-01-01')", INFINITE_DAYS),
    _days,
)
# Microseconds since 1970, in two parts: PostgreSQL keeps the microseconds of its last years in a double.
_SECONDS = "extract(epoch FROM date_trunc('second', {c}))::bigint::numeric"
MICROS = f"({_SECONDS} * 1000000 + mod(extract(microseconds FROM {{c}})::bigint, 1000000))"
INSTANT = Spelling(
    f"CASE WHEN isfinite({{c}}) THEN {MICROS}::text ELSE {{c}}::text END",
    _infinities("epoch_us({c})", INFINITE_MICROS),
    _micros,
)
# Midnight at the end of a day would become the start of the next.
TIME_WITH_ZONE = Spelling(
    "CASE WHEN {c} = '24:00:00+00'::timetz THEN {c} ELSE {c} AT TIME ZONE 'UTC' END::text", "{c}", str
)
INTERVAL = Spelling(
    "concat('P', extract(year FROM {c}), 'Y', extract(month FROM {c}), 'M', extract(day FROM {c}), 'DT',"
    " extract(hour FROM {c}), 'H', extract(minute FROM {c}), 'M', trim_scale(extract(second FROM {c})), 'S')",
    "{c}",
    str,
)
MONEY = Spelling("{c}::numeric::text", DECIMAL.lake, DECIMAL.value)
# JSON arrays: element by element as PostgreSQL writes it, numbers and booleans without quotes.
ARRAY = Spelling("array_to_json({c})::text", "{c}", str)
ARRAY_OF_OIDS = Spelling("array_to_json({c}::bigint[])::text", "{c}", str)
ARRAY_OF_TEXTS = Spelling("array_to_json({c}::text[])::text", "{c}", str)


def hstore(schema: str) -> Spelling:
    """Spell hstore as a JSON object, keys in the order of their characters; `schema` is the extension's."""
    pairs = "to_json(key)::text || ':' || coalesce(to_json(value)::text, 'null')"
    quoted = schema.replace('"', '""')
    source = f"(SELECT '{{' || coalesce(string_agg({pairs}, ',' ORDER BY key COLLATE \"C\"), '') || '}}'"
    return Spelling(source + f' FROM "{quoted}".each({{c}}))', "{c}", str)


def float_array(size: int, *, cast: str = "") -> Spelling:
    """Spell an array of floats of 32 or 64 bits, which the lake has as a JSON array of numbers."""
    kind = "FLOAT" if size == 32 else "DOUBLE"
    return Spelling(
        f"(SELECT coalesce(string_agg(coalesce({_sent('e', size)}, ''), ',' ORDER BY n), '')"
        f" FROM unnest({{c}}{cast}) WITH ORDINALITY AS u (e, n))",
        f"array_to_string(list_transform(CAST(CAST({{c}} AS JSON) AS {kind}[]),"
        " lambda e: coalesce(CAST(CAST(e AS BIT) AS VARCHAR), '')), ',')",
        lambda value: _numbers(value, size, ()),
    )


def named_floats(**parts: str) -> Spelling:
    """Spell an object of doubles, which the lake has as JSON: field → PostgreSQL's expression for it."""
    source = ", ".join(_sent(part, 64) for part in parts.values())
    numbers = (f"CAST(json_extract_string({{c}}, '$.{key}') AS DOUBLE)" for key in parts)
    lake = ", ".join(DOUBLE.lake.replace("{c}", number) for number in numbers)
    return Spelling(
        f"concat_ws(',', {source})", f"concat_ws(',', {lake})", lambda value: _numbers(value, 64, (*parts,))
    )


def _reversed(expression: str, size: int) -> str:
    """Write SQL that reverses a hexadecimal text's bytes: WKB's are little-endian, PostgreSQL's aren't."""
    pairs = f"substr({expression}, i, 2)"
    return f"(SELECT string_agg({pairs}, '' ORDER BY i DESC) FROM generate_series(1, {2 * size - 1}, 2) AS s (i))"


def _coordinate(expression: str) -> str:
    return _reversed(f"encode(float8send({expression}), 'hex')", 8)


def _coordinates() -> str:
    """Write SQL for all numbers in a geometric value's text, in their order, as WKB has them."""
    numbers = "regexp_matches({c}::text, '[^][(){}<>,]+', 'g') WITH ORDINALITY AS m (part, n)"
    return f"(SELECT string_agg({_coordinate('part[1]::float8')}, '' ORDER BY n) FROM {numbers})"


def _count(expression: str) -> str:
    return _reversed(f"encode(int4send({expression}), 'hex')", 4)


_POINTS = _count("npoints({c})")
_CORNERS = tuple(f"(({{c}})[{x}])[0], (({{c}})[{y}])[1]" for x, y in ((0, 0), (0, 1), (1, 1), (1, 0), (0, 0)))
_BOX_COORDINATES = [number for corner in _CORNERS for number in corner.split(", ")]


def _wkb(source: str) -> Spelling:
    return Spelling(source, BYTES.lake, BYTES.value)


# OGC's well-known binary: byte order 1, then 1 point, 2 line or 3 polygon; counts and coordinates follow.
POINT = _wkb(f"'0101000000' || {_coordinates()}")
SEGMENT = _wkb(f"'010200000002000000' || {_coordinates()}")
BOX = _wkb("concat('01030000000100000005000000', " + ", ".join(map(_coordinate, _BOX_COORDINATES)) + ")")
# A ring ends where it begins: Debezium adds the first point (32 hexadecimal digits) if it isn't also the last.
_OPEN = "(left(ring, 32) <> right(ring, 32))"
POLYGON = _wkb(
    f"(SELECT concat('010300000001000000', {_count(f'npoints({{c}}) + {_OPEN}::int')}, ring,"
    f" CASE WHEN {_OPEN} THEN left(ring, 32) END) FROM (SELECT {_coordinates()} AS ring) AS coordinates)"
)
PATH = Spelling(
    f"concat(isclosed({{c}})::text, ' 0102000000', {_POINTS}, {_coordinates()})",
    "json_extract_string({c}, '$.closed') || ' ' || lower(hex(from_base64(json_extract_string({c}, '$.wkb'))))",
    lambda value: f"{(path := json.loads(value))['closed']} {base64.b64decode(path['wkb']).hex()}",
)
_LINE = "split_part(btrim({c}::text, '{}'), ',', %d)::float8"
LINE_PARTS = {name: _LINE % (index + 1) for index, name in enumerate("abc")}
LINE = named_floats(**LINE_PARTS)
CIRCLE_PARTS = {"x": "(point({c}))[0]", "y": "(point({c}))[1]", "radius": "radius({c})"}
CIRCLE = named_floats(**CIRCLE_PARTS)
