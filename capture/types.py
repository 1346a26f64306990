"""What becomes of a column of each PostgreSQL type: in events, the Avro schema and the lake; or why nothing can.

One table, `_BASE` and the rules behind it, from what Debezium 3.7.0 was seen to send (docs/decisions/0070); the
page docs/types.md is made of it. Types come as the catalogue has them (capture/inspection.py).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from capture import canonical
from capture.canonical import Spelling
from contract.avro_names import BITS_LENGTH, EXACT_NUMBER, HSTORE, PATH, SOURCE_NAME, SPECIALS, TEXT_AS_BYTES
from contract.special_values import SPECIALS_COLUMN

AvroType = str | dict[str, Any]
# atttypmod's own header, and where a numeric's precision begins.
_HEADER = 4
_MOST_DIGITS = 38


class CatalogueType(Protocol):
    """A type as the catalogue describes it: see capture.inspection.ColumnType."""

    @property
    def schema(self) -> str:
        """The schema that it is in."""

    @property
    def name(self) -> str:
        """pg_type.typname; an array's is `_` and its element's."""

    @property
    def kind(self) -> str:
        """What sort of type: base, array, composite, domain, enum, range, multirange or pseudo."""

    @property
    def parts(self) -> Sequence[tuple[str, "CatalogueType", int]]:
        """A domain's base or an array's element, with its modifier, first of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """What a type becomes. `wire`: the event's JSON; `avro`: the schema's type; `lake`: the column's, by Spark's name.

    `spelling` makes values comparable. `has_placeholder`: events say so when a large value was left as it was; where
    they don't, a table with such values needs REPLICA IDENTITY FULL. `special`: what the lake's type can't hold goes to
    contract.special_values's column. `note`: what isn't as in PostgreSQL, or what stops the source; empty when nothing.
    """

    wire: str
    avro: AvroType
    lake: str
    spelling: Spelling
    special: bool = False
    has_placeholder: bool = True
    note: str = ""

    def source_sql(self, column: str) -> str:
        """Write PostgreSQL's expression for the canonical text of a column (its name); null for NULL.

        It holds in a session with canonical.SOURCE_SETTINGS.
        """
        name = _quoted(column)
        # `IS NOT NULL` would ask about each field of a composite.
        return f"CASE WHEN {name} IS DISTINCT FROM NULL THEN {self.spelling.source.replace('{c}', name)} END"

    def lake_sql(self, column: str) -> str:
        """Write DuckDB's expression for the canonical text of a lake's column; null for null."""
        name = _quoted(column)
        expression = f"CASE WHEN {name} IS NOT NULL THEN {self.spelling.lake.replace('{c}', name)} END"
        if not self.special:
            return expression
        return f"coalesce({expression}, json_extract_string({_quoted(SPECIALS_COLUMN)}, '$.\"{column}\"'))"

    def lake_text(self, value: Any, specials: Mapping[str, str] | None = None, column: str = "") -> str | None:
        """Return the canonical text of a lake's value as Arrow gives it; `specials` is the row's, parsed."""
        if value is not None:
            return self.spelling.value(value)
        return (specials or {}).get(column) if self.special else None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A type whose values can't be carried; the column has to be left out (`leave_out`). `reason` says why."""

    reason: str


def carried(kind: CatalogueType, modifier: int = -1) -> Carried | LeftOut:
    """Tell what becomes of a column of a type with `modifier` (atttypmod, -1: none)."""
    given = kind
    kind, modifier = _without_domains(kind, modifier)
    if kind.kind == "array":
        array = _array(kind, modifier)
        # Debezium finds an array's placeholder by the name of its type, which a domain hides.
        return replace(array, has_placeholder=False) if given is not kind and isinstance(array, Carried) else array
    if kind.kind == "enum":
        return _named("io.debezium.data.Enum")
    if kind.kind == "pseudo":
        return LeftOut("not a type that tables have")
    if kind.schema != "pg_catalog":
        make = _EXTENSIONS.get(kind.name)
        return make(kind, modifier) if make else _TEXT_AS_BYTES
    if kind.name in _LEFT_OUT:
        return LeftOut(_LEFT_OUT[kind.name])
    return _BASE[kind.name](modifier) if kind.name in _BASE else _TEXT_AS_BYTES


def avro_field(name: str, source_name: str, type_: Carried, *, nullable: bool = True) -> dict[str, Any]:
    """Return the Avro field of a column: `name` in the lake, `source_name` in events."""
    field: dict[str, Any] = {"name": name, "type": ["null", type_.avro] if nullable else type_.avro}
    if nullable:
        field["default"] = None
    return field if name == source_name else field | {SOURCE_NAME: source_name}


def specials_field() -> dict[str, Any]:
    """Return the Avro field of the column of special values, for tables with a column whose type is `special`."""
    return {"name": SPECIALS_COLUMN, "type": ["null", _avro("string", SPECIALS)], "default": None}


def _avro(base: str, meaning: str, **more: Any) -> AvroType:
    return {"type": base, "connect.name": meaning, **more}


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _without_domains(kind: CatalogueType, modifier: int) -> tuple[CatalogueType, int]:
    while kind.kind == "domain":
        [(_, kind, modifier)] = kind.parts
    return kind, modifier


def _text(lake: Spelling = canonical.TEXT, *, note: str = "", wire: str = "text") -> Carried:
    return Carried(wire=wire, avro="string", lake="string", spelling=lake, note=note)


def _named(meaning: str, spelling: Spelling = canonical.TEXT, *, note: str = "", wire: str = "text") -> Carried:
    return Carried(wire=wire, avro=_avro("string", meaning), lake="string", spelling=spelling, note=note)


def _number(avro: str, lake: str, spelling: Spelling = canonical.INTEGER, *, wire: str = "number") -> Carried:
    return Carried(wire=wire, avro=avro, lake=lake, spelling=spelling)


def _decimal(precision: int, scale: int, *, spelling: Spelling | None = None, note: str = "") -> Carried:
    """Carry a decimal; one with a `spelling` of its own is always a number."""
    avro = {"type": "string", "logicalType": "decimal", "precision": precision, "scale": scale}
    return Carried(
        wire="text",
        avro=avro,
        lake=f"decimal({precision},{scale})",
        spelling=spelling or (canonical.FRACTION if precision == scale else canonical.DECIMAL),
        special=spelling is None,
        note=note,
    )


def _numeric(modifier: int) -> Carried:
    exact = _named(EXACT_NUMBER)
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
    parameters = {BITS_LENGTH: str(modifier)}
    avro = _avro("bytes", "io.debezium.data.Bits", **{"connect.parameters": parameters})
    note = "as text of 0 and 1"
    return Carried(wire="Base64", avro=avro, lake="string", spelling=canonical.TEXT, has_placeholder=False, note=note)


def _is_millis(modifier: int) -> bool:
    return 0 <= modifier <= 3


def _timestamp(modifier: int) -> Carried:
    name = "io.debezium.time.Timestamp" if _is_millis(modifier) else "io.debezium.time.MicroTimestamp"
    unit = "milliseconds" if _is_millis(modifier) else "microseconds"
    return Carried(
        wire=unit, avro=_avro("long", name), lake="timestamp", spelling=canonical.INSTANT, note=_INFINITE_INSTANT
    )


def _time(modifier: int) -> Carried:
    if _is_millis(modifier):
        avro, wire = _avro("int", "io.debezium.time.Time"), "milliseconds"
    else:
        avro, wire = _avro("long", "io.debezium.time.MicroTime"), "microseconds"
    return Carried(wire=wire, avro=avro, lake="string", spelling=canonical.TEXT, note="as text such as `12:34:56.5`")


def _geometry(name: str, spelling: Spelling, *, has_placeholder: bool = True) -> Carried:
    return Carried(
        wire="object",
        avro=_avro("string", f"io.debezium.data.geometry.{name}"),
        lake="binary",
        spelling=spelling,
        has_placeholder=has_placeholder,
        note="as well-known binary (WKB)",
    )


def _object(name: str, spelling: Spelling, example: str) -> Carried:
    return Carried(
        wire="object",
        avro=_avro("string", name),
        lake="string",
        spelling=spelling,
        # Of these, only a path may be large.
        has_placeholder=name != PATH,
        note=f"as JSON: `{example}`",
    )


def _fixed(result: Carried) -> Callable[[int], Carried]:
    return lambda _modifier: result


_INFINITE_INSTANT = "an infinite one is the number in contract/times.py: years 294247 and -290308"
_INFINITE_DATE = (
    "an infinite one is the number in contract/times.py: years 5877611 and -5877611; a date BC comes wrong in a"
    " snapshot (Debezium drops the era), right in changes"
)
_TEXT_AS_BYTES = Carried(
    wire="Base64", avro=_avro("string", TEXT_AS_BYTES), lake="string", spelling=canonical.TEXT, note="as text"
)
_JSON = _named("io.debezium.data.Json")
_TEXTS = ("text", "varchar", "name", "char", "inet", "cidr", "macaddr", "macaddr8")
_RANGES = ("int4range", "int8range", "numrange", "tsrange", "tstzrange", "daterange")
_BASE: Mapping[str, Callable[[int], Carried]] = {
    "int2": _fixed(_number("int", "int")),
    "int4": _fixed(_number("int", "int")),
    "int8": _fixed(_number("long", "bigint")),
    "oid": _fixed(_number("long", "bigint")),
    "float4": _fixed(_number("float", "float", canonical.REAL)),
    "float8": _fixed(_number("double", "double", canonical.DOUBLE)),
    "numeric": _numeric,
    "money": _fixed(_decimal(19, 2, spelling=canonical.MONEY, note="for currencies with two decimals (`lc_monetary`)")),
    "bool": _fixed(_number("boolean", "boolean", canonical.BOOLEAN, wire="boolean")),
    "bpchar": _fixed(_text(canonical.PADDED, note="with its blanks")),
    **dict.fromkeys(_TEXTS, _fixed(_text())),
    **dict.fromkeys(_RANGES, _fixed(_text())),
    "bytea": _fixed(Carried(wire="Base64", avro="bytes", lake="binary", spelling=canonical.BYTES)),
    "date": _fixed(
        Carried(
            wire="days",
            avro=_avro("int", "io.debezium.time.Date"),
            lake="date",
            spelling=canonical.DATE,
            note=_INFINITE_DATE,
        )
    ),
    "time": _time,
    "timetz": _fixed(
        _named(
            "io.debezium.time.ZonedTime",
            canonical.TIME_WITH_ZONE,
            note="in UTC, such as `10:34:56.5+00`: Debezium drops the offset; one with seconds stops the source",
        )
    ),
    "timestamp": _timestamp,
    "timestamptz": _fixed(
        Carried(
            wire="ISO 8601 text",
            avro=_avro("string", "io.debezium.time.ZonedTimestamp"),
            lake="timestamp",
            spelling=canonical.INSTANT,
            note=_INFINITE_INSTANT,
        )
    ),
    "interval": _fixed(
        _named(
            "io.debezium.time.Interval",
            canonical.INTERVAL,
            note="as ISO 8601, such as `P1Y2M3DT4H5M6.5S`; one of more than 2,147,483,647 hours stops the source",
        )
    ),
    "uuid": _fixed(_named("io.debezium.data.Uuid")),
    "json": _fixed(_JSON),
    "jsonb": _fixed(_JSON),
    "xml": _fixed(_named("io.debezium.data.Xml")),
    "tsvector": _fixed(_named("io.debezium.data.TsVector")),
    "bit": _bits,
    "point": _fixed(_geometry("Point", canonical.POINT)),
    "lseg": _fixed(_geometry("Geometry", canonical.SEGMENT)),
    "box": _fixed(_geometry("Geometry", canonical.BOX)),
    "polygon": _fixed(_geometry("Geometry", canonical.POLYGON, has_placeholder=False)),
    "path": _fixed(_object(PATH, canonical.PATH, '{"wkb":"AQIA…","closed":"true"}')),
    "line": _fixed(_object("io.debezium.data.geometry.Line", canonical.LINE, '{"a":1.0,"b":2.0,"c":3.0}')),
    "circle": _fixed(_object("io.debezium.data.geometry.Circle", canonical.CIRCLE, '{"x":1.0,"y":2.0,"radius":3.0}')),
}
_OBJECT_NAMES = (
    *("regclass", "regcollation", "regconfig", "regdictionary", "regnamespace", "regoper", "regoperator"),
    *("regproc", "regprocedure", "regrole", "regtype"),
)
_LEFT_OUT = {
    "varbit": "Debezium drops its length: B'01' and B'1' are one value",
    "refcursor": "a snapshot would open the cursor that it names, and fail",
    "int2vector": "Debezium sends it empty",
    "oidvector": "Debezium sends it empty",
    **dict.fromkeys(_OBJECT_NAMES, "its text depends on the search_path of who reads it"),
}
_EXTENSIONS: Mapping[str, Callable[[CatalogueType, int], Carried | LeftOut]] = {
    "citext": lambda *_: _text(),
    "ltree": lambda *_: _named("io.debezium.data.Ltree"),
    "isbn": lambda *_: _text(),
    "hstore": lambda kind, _: replace(
        _named(HSTORE, canonical.hstore(kind.schema)), note="as JSON, its keys in order", wire="JSON"
    ),
    "vector": lambda *_: _floats("double", "io.debezium.data.DoubleVector", "::real[]", 32),
    "halfvec": lambda *_: _floats("float", "io.debezium.data.FloatVector", "::real[]", 32),
    "sparsevec": lambda *_: LeftOut("not carried yet: make a column of type vector of it"),
    "geometry": lambda *_: LeftOut("PostGIS isn't carried: leave it out, or keep WKB in a bytea"),
    "geography": lambda *_: LeftOut("PostGIS isn't carried: leave it out, or keep WKB in a bytea"),
}


_FLAT = "as a JSON array; one of several dimensions doesn't get through Debezium and goes to quarantine"
_ELEMENTS: Mapping[str, tuple[AvroType, Spelling]] = {
    "int2": ("int", canonical.ARRAY),
    "int4": ("int", canonical.ARRAY),
    "int8": ("long", canonical.ARRAY),
    "oid": ("long", canonical.ARRAY_OF_OIDS),
    "bool": ("boolean", canonical.ARRAY),
    "float4": ("float", canonical.float_array(32)),
    "float8": ("double", canonical.float_array(64)),
    **dict.fromkeys((*_TEXTS, *_RANGES, "bpchar", "uuid", "tsvector"), ("string", canonical.ARRAY)),
    **dict.fromkeys(("numeric", "json", "jsonb"), ("string", canonical.ARRAY_OF_TEXTS)),
    "bytea": ("bytes", canonical.ARRAY_OF_TEXTS),
    "date": (_avro("int", "io.debezium.time.Date"), canonical.ARRAY_OF_TEXTS),
    "timestamptz": (_avro("string", "io.debezium.time.ZonedTimestamp"), canonical.ARRAY_OF_TEXTS),
}
_ELEMENT_NOTES = {
    "numeric": "; NaN in it stops the source",
    "date": "; a date BC in it comes wrong",
    "timestamp": "; a timestamp BC in it comes wrong",
    "timestamptz": "; a timestamp BC in it comes wrong",
}
_WITH_PLACEHOLDER = ("text", "varchar", "bpchar", "json", "jsonb", "int4", "int8", "date", "uuid", "bytea")
# Debezium has no arrays of these, or loses something of them.
_NO_ARRAYS = {
    **dict.fromkeys(("interval", "money", "varbit", "xml", "point", "name"), "Debezium has no arrays of it"),
    **dict.fromkeys(("line", "lseg", "box", "path", "polygon", "circle"), "Debezium has no arrays of it"),
    "bit": "Debezium has no arrays of it",
    "time": "Debezium drops the microseconds of times in arrays",
    "timetz": "Debezium drops the offsets, and arrays don't say so",
}
_NO_EXTENSION_ARRAYS = ("hstore", "ltree", "vector", "halfvec", "sparsevec", "geometry", "geography", "isbn")


def _array(kind: CatalogueType, modifier: int) -> Carried | LeftOut:
    [(_, element, _)] = kind.parts
    if element.kind == "enum":
        return _json_array("string", canonical.ARRAY, "; a NULL in it stops the source")
    if element.kind == "domain":
        return LeftOut("an array of a domain: Debezium doesn't tell what is in it")
    if element.schema != "pg_catalog" and element.kind == "base":
        return _extension_array(element)
    if element.name in _NO_ARRAYS:
        return LeftOut(f"an array of {element.name}: {_NO_ARRAYS[element.name]}")
    if element.name in _LEFT_OUT:
        return LeftOut(f"an array of {element.name}: {_LEFT_OUT[element.name]}")
    if element.name == "timestamp":
        return _json_array(_timestamp(modifier).avro, canonical.ARRAY_OF_TEXTS, _ELEMENT_NOTES["timestamp"])
    avro, spelling = _ELEMENTS.get(element.name, (_TEXT_AS_BYTES.avro, canonical.ARRAY_OF_TEXTS))
    has_placeholder = element.name in _WITH_PLACEHOLDER
    return _json_array(avro, spelling, _ELEMENT_NOTES.get(element.name, ""), has_placeholder=has_placeholder)


def _extension_array(element: CatalogueType) -> Carried | LeftOut:
    if element.name == "citext":
        return _json_array("string", canonical.ARRAY)
    if element.name in _NO_EXTENSION_ARRAYS:
        return LeftOut(f"an array of {element.name}: Debezium doesn't carry all of its values")
    return _json_array(_TEXT_AS_BYTES.avro, canonical.ARRAY_OF_TEXTS)


def _json_array(items: AvroType, spelling: Spelling, note: str = "", *, has_placeholder: bool = False) -> Carried:
    return Carried(
        wire="array",
        avro={"type": "array", "items": ["null", items]},
        lake="string",
        spelling=spelling,
        has_placeholder=has_placeholder,
        note=_FLAT + note,
    )


def _floats(items: str, meaning: str, cast: str, size: int) -> Carried:
    avro = {"type": "array", "items": ["null", items], "connect.name": meaning}
    spelling, note = canonical.float_array(size, cast=cast), "as a JSON array"
    return Carried(wire="array", avro=avro, lake="string", spelling=spelling, has_placeholder=False, note=note)
