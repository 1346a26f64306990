"""How PostgreSQL's own types and those of extensions are carried, one by one, except arrays.

Based on what Debezium 3.7.0 was observed to send (docs/decisions/0070).
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from contract.column_types import canonical
from contract.column_types.canonical import Spelling
from contract.column_types.catalogue import AvroType, Carried, ColumnType, LeftOut, avro
from contract.events import BITS_LENGTH, EXACT_NUMBER, HSTORE, PATH, SPECIALS_COLUMN, TEXT_AS_BYTES, ZONED_TIME

# atttypmod's own header, and where a numeric's precision begins.
_HEADER = 4
_MOST_DIGITS = 38


def _text(spelling: Spelling = canonical.TEXT, *, note: str = "") -> Carried:
    return Carried(wire="text", avro="string", lake="string", spelling=spelling, note=note)


def named(meaning: str, spelling: Spelling = canonical.TEXT, *, note: str = "", note_of_log: str = "") -> Carried:
    """Carry a type that Debezium sends as text under a name of its own."""
    return replace(_text(spelling, note=note), avro=avro("string", meaning), note_of_log=note_of_log)


def _number(type_: str, lake: str, spelling: Spelling = canonical.INTEGER, *, wire: str = "number") -> Carried:
    return Carried(wire=wire, avro=type_, lake=lake, spelling=spelling)


def _decimal(precision: int, scale: int, *, spelling: Spelling | None = None, note: str = "") -> Carried:
    """Carry a decimal; one with its own `spelling` is always a number."""
    return Carried(
        wire="text",
        avro={"type": "string", "logicalType": "decimal", "precision": precision, "scale": scale},
        lake=f"decimal({precision},{scale})",
        spelling=spelling or (canonical.FRACTION if precision == scale else canonical.DECIMAL),
        special=spelling is None,
        note=note,
    )


def _numeric(modifier: int) -> Carried:
    exact = named(EXACT_NUMBER)
    if modifier < _HEADER:
        return replace(exact, note="as text, all digits; `NaN`, `Infinity` and `-Infinity` as PostgreSQL writes them")
    precision = (modifier - _HEADER) >> 16 & 0xFFFF
    # 11 bits with a sign, since PostgreSQL 15.
    scale = ((modifier - _HEADER & 0x7FF) ^ 1024) - 1024
    digits = max(precision - min(scale, 0), scale)
    if digits > _MOST_DIGITS:
        return replace(exact, note=f"as text: decimals in the lake have {_MOST_DIGITS} digits at most")
    return _decimal(digits, max(scale, 0), note=f"NaN: null here, and its name in `{SPECIALS_COLUMN}`")


def _bits(modifier: int) -> Carried:
    if modifier == 1:
        return Carried(wire="boolean", avro="boolean", lake="boolean", spelling=canonical.ONE_BIT)
    if modifier < 1:  # computed by a view, which doesn't give the number of bits
        return AS_TEXT
    bits = avro("bytes", "io.debezium.data.Bits", **{"connect.parameters": {BITS_LENGTH: str(modifier)}})
    note = "as text of 0 and 1"
    return Carried(wire="Base64", avro=bits, lake="string", spelling=canonical.TEXT, has_placeholder=False, note=note)


def _is_millis(modifier: int) -> bool:
    return 0 <= modifier <= 3


def timestamp(modifier: int) -> Carried:
    """Carry a timestamp without time zone; its modifier decides the unit."""
    name = "io.debezium.time.Timestamp" if _is_millis(modifier) else "io.debezium.time.MicroTimestamp"
    unit = "milliseconds" if _is_millis(modifier) else "microseconds"
    return Carried(
        wire=unit, avro=avro("long", name), lake="timestamp", spelling=canonical.INSTANT, note=_INFINITE_INSTANT
    )


def _time(modifier: int) -> Carried:
    if _is_millis(modifier):
        time, wire = avro("int", "io.debezium.time.Time"), "milliseconds"
    else:
        time, wire = avro("long", "io.debezium.time.MicroTime"), "microseconds"
    return Carried(wire=wire, avro=time, lake="string", spelling=canonical.TEXT, note="as text such as `12:34:56.5`")


def _geometry(name: str, spelling: Spelling, *, has_placeholder: bool = True, note: str = "") -> Carried:
    return Carried(
        wire="object",
        avro=avro("string", f"io.debezium.data.geometry.{name}"),
        lake="binary",
        spelling=spelling,
        has_placeholder=has_placeholder,
        note=f"as well-known binary (WKB){note}",
    )


def _object(name: str, spelling: Spelling, example: str) -> Carried:
    return Carried(
        wire="object",
        avro=avro("string", name),
        lake="string",
        spelling=spelling,
        # Of these, only a path may be large.
        has_placeholder=name != PATH,
        note=f"as JSON: `{example}`",
    )


def _floats(items: str, meaning: str, cast: str, size: int) -> Carried:
    array: AvroType = {"type": "array", "items": ["null", items], "connect.name": meaning}
    spelling, note = canonical.float_array(size, cast=cast), "as a JSON array"
    return Carried(wire="array", avro=array, lake="string", spelling=spelling, has_placeholder=False, note=note)


_INFINITE_INSTANT = (
    "infinity is a number in contract/events.py: year 294247 or -290308; other values after 294246 go to quarantine"
)
_INFINITE_DATE = "infinity is a number in contract/events.py: year 5877611 or -5877611"
AS_TEXT = Carried(
    wire="Base64", avro=avro("string", TEXT_AS_BYTES), lake="string", spelling=canonical.TEXT, note="as text"
)
_JSON = named("io.debezium.data.Json")
TEXTS = ("text", "varchar", "name", "char", "inet", "cidr", "macaddr", "macaddr8")
RANGES = ("int4range", "int8range", "numrange", "tsrange", "tstzrange", "daterange")
# A type's form, or what makes it of the column's modifier.
BASE: Mapping[str, Carried | Callable[[int], Carried]] = {
    "int2": _number("int", "int"),
    "int4": _number("int", "int"),
    "int8": _number("long", "bigint"),
    "oid": _number("long", "bigint"),
    "float4": _number("float", "float", canonical.REAL),
    "float8": _number("double", "double", canonical.DOUBLE),
    "numeric": _numeric,
    "money": _decimal(19, 2, spelling=canonical.MONEY, note="for currencies with two decimals (`lc_monetary`)"),
    "bool": _number("boolean", "boolean", canonical.BOOLEAN, wire="boolean"),
    "bpchar": _text(canonical.PADDED, note="with its blanks"),
    **dict.fromkeys(TEXTS, _text()),
    **dict.fromkeys(RANGES, _text()),
    "bytea": Carried(wire="Base64", avro="bytes", lake="binary", spelling=canonical.BYTES),
    "date": Carried(
        wire="days",
        avro=avro("int", "io.debezium.time.Date"),
        lake="date",
        spelling=canonical.DATE,
        note=_INFINITE_DATE,
        note_of_log="1582-10-05 to 1582-10-14 are 10 days late in snapshots and repairs, correct in changes",
    ),
    "time": _time,
    "timetz": named(
        ZONED_TIME, canonical.TIME_WITH_ZONE, note="in UTC, such as `10:34:56.5+00`: its offset is dropped"
    ),
    "timestamp": timestamp,
    "timestamptz": Carried(
        wire="ISO 8601 text",
        avro=avro("string", "io.debezium.time.ZonedTimestamp"),
        lake="timestamp",
        spelling=canonical.INSTANT,
        note=_INFINITE_INSTANT,
    ),
    "interval": named(
        "io.debezium.time.Interval",
        canonical.INTERVAL,
        note="as ISO 8601, such as `P1Y2M3DT4H5M6.5S`",
        note_of_log="more than 2,147,483,647 hours stop its table (on AWS the source); infinity (PostgreSQL 17) is 0",
    ),
    "uuid": named("io.debezium.data.Uuid"),
    "json": _JSON,
    "jsonb": _JSON,
    "xml": named("io.debezium.data.Xml"),
    "tsvector": named("io.debezium.data.TsVector"),
    "bit": _bits,
    "point": _geometry("Point", canonical.POINT),
    "lseg": _geometry("Geometry", canonical.SEGMENT),
    "box": _geometry("Geometry", canonical.BOX),
    "polygon": _geometry(
        "Geometry", canonical.POLYGON, has_placeholder=False, note="; whether it repeats its first point is lost"
    ),
    "path": _object(PATH, canonical.PATH, '{"wkb":"AQIA…","closed":"true"}'),
    "line": _object("io.debezium.data.geometry.Line", canonical.LINE, '{"a":1.0,"b":2.0,"c":3.0}'),
    "circle": _object("io.debezium.data.geometry.Circle", canonical.CIRCLE, '{"x":1.0,"y":2.0,"radius":3.0}'),
}
_OBJECT_NAMES = (
    *("regclass", "regcollation", "regconfig", "regdictionary", "regnamespace", "regoper", "regoperator"),
    *("regproc", "regprocedure", "regrole", "regtype"),
)
LEFT_OUT = {
    "varbit": "Debezium drops its length: B'01' and B'1' are one value",
    "refcursor": "a snapshot would open the cursor it names and fail",
    "int2vector": "Debezium sends it empty",
    "oidvector": "Debezium sends it empty",
    **dict.fromkeys(_OBJECT_NAMES, "its text depends on the reader's search_path"),
}
EXTENSIONS: Mapping[str, Carried | LeftOut | Callable[[ColumnType], Carried]] = {
    "citext": _text(),
    "ltree": named("io.debezium.data.Ltree"),
    "isbn": _text(),
    "hstore": lambda kind: replace(
        named(HSTORE, canonical.hstore(kind.schema), note="as JSON, its keys in order"), wire="JSON"
    ),
    "vector": _floats("double", "io.debezium.data.DoubleVector", "::real[]", 32),
    "halfvec": _floats("float", "io.debezium.data.FloatVector", "::real[]", 32),
    "sparsevec": LeftOut("not carried yet: make a column of type vector of it"),
    "geometry": LeftOut("PostGIS isn't carried: leave it out, or keep WKB in a bytea"),
    "geography": LeftOut("PostGIS isn't carried: leave it out, or keep WKB in a bytea"),
}
