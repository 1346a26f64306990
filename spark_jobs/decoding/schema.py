"""Reads an Avro schema file (FilebasedSchemaProvider): what each field looks like on the wire and in the table."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from pyspark.sql import types as T

from contract import events
from contract.events import SPECIALS_COLUMN
from spark_jobs.errors import SettingsError

IS_DELETED = "_hoodie_is_deleted"


class Encoding(Enum):
    """How a value on the wire becomes the table's value."""

    PLAIN = "as it is"
    DAYS = "days since 1970-01-01"
    MILLIS = "milliseconds since 1970-01-01T00:00Z"
    MICROS = "microseconds since 1970-01-01T00:00Z, until the year 294246"
    MILLIS_OF_DAY = "milliseconds since midnight"
    MICROS_OF_DAY = "microseconds since midnight"
    ZONED_TIME = "a time in UTC"
    ISO_TIMESTAMP = "ISO 8601 text with an offset"
    DECIMAL = "a decimal number as text"
    EXACT_NUMBER = "a number as text"
    SPECIALS = "what no decimal can be"
    JSON = "JSON text"
    HSTORE = "a JSON object of texts"
    BYTES = "bytes in Base64"
    TEXT_AS_BYTES = "text in Base64"
    BITS = "bits in Base64, the lowest first"
    WKB = "an object with WKB in Base64"
    PATH = "an object with WKB in Base64, and whether it is closed"
    LINE = "an object of a, b and c"
    CIRCLE = "an object of center and radius"
    ARRAY = "an array of one dimension"
    ANYTHING = "text, or any other value as JSON text"


@dataclass(frozen=True)
class Column:
    """One column: the JSON type in events and the type in the table; `name` there, `source` in events.

    `length`: the number of bits; `element`: how an array's elements become text.
    """

    name: str
    wire: T.DataType
    stored: T.DataType
    encoding: Encoding = Encoding.PLAIN
    given_source: str | None = None
    length: int = 0
    element: Encoding = Encoding.PLAIN

    @property
    def source(self) -> str:
        return self.name if self.given_source is None else self.given_source


_PRIMITIVES: dict[str, T.DataType] = {
    "boolean": T.BooleanType(),
    "int": T.IntegerType(),
    "long": T.LongType(),
    "float": T.FloatType(),
    "double": T.DoubleType(),
    "string": T.StringType(),
    "bytes": T.StringType(),
}
_STRING = T.StringType()
# Types of decimals in Avro files; JSON has them as text or numbers, independent of Avro's bytes.
_DECIMALS = ("string", "bytes", "fixed")
_POINT_NAME = "io.debezium.data.geometry.Point"
# Avro's logical types, with Debezium's and Connect's names for them.
_ENCODINGS = {
    meaning: encoding
    for encoding, meanings in {
        Encoding.DAYS: ("date", "io.debezium.time.Date", "org.apache.kafka.connect.data.Date"),
        Encoding.MILLIS: ("timestamp-millis", "io.debezium.time.Timestamp", "org.apache.kafka.connect.data.Timestamp"),
        Encoding.MICROS: ("timestamp-micros", "io.debezium.time.MicroTimestamp"),
        Encoding.ISO_TIMESTAMP: ("io.debezium.time.ZonedTimestamp",),
        Encoding.MILLIS_OF_DAY: ("time-millis", "io.debezium.time.Time"),
        Encoding.MICROS_OF_DAY: ("time-micros", "io.debezium.time.MicroTime"),
        Encoding.ZONED_TIME: (events.ZONED_TIME,),
        Encoding.PLAIN: (
            *("uuid", "io.debezium.time.Interval", "io.debezium.data.Uuid", "io.debezium.data.Enum"),
            *("io.debezium.data.Xml", "io.debezium.data.Ltree", "io.debezium.data.TsVector"),
        ),
        Encoding.JSON: ("io.debezium.data.Json",),
        Encoding.BITS: ("io.debezium.data.Bits",),
        Encoding.WKB: (_POINT_NAME, "io.debezium.data.geometry.Geometry"),
        Encoding.LINE: ("io.debezium.data.geometry.Line",),
        Encoding.CIRCLE: ("io.debezium.data.geometry.Circle",),
        Encoding.PATH: (events.PATH,),
        Encoding.EXACT_NUMBER: (events.EXACT_NUMBER,),
        Encoding.TEXT_AS_BYTES: (events.TEXT_AS_BYTES,),
        Encoding.HSTORE: (events.HSTORE,),
        Encoding.SPECIALS: (events.SPECIALS,),
    }.items()
    for meaning in meanings
}
# Types that don't become text.
_STORED: dict[Encoding, T.DataType] = {
    Encoding.DAYS: T.DateType(),
    Encoding.WKB: T.BinaryType(),
    **dict.fromkeys((Encoding.MILLIS, Encoding.MICROS, Encoding.ISO_TIMESTAMP), T.TimestampType()),
}
# How events most likely carry a column without an Avro field, as Debezium encodes it; others as they are.
_UNDESCRIBED: dict[type[T.DataType], tuple[T.DataType, Encoding]] = {
    T.DateType: (T.IntegerType(), Encoding.DAYS),
    T.StringType: (_STRING, Encoding.ANYTHING),
    T.DecimalType: (_STRING, Encoding.DECIMAL),
    T.BinaryType: (_STRING, Encoding.BYTES),
    T.TimestampType: (_STRING, Encoding.ISO_TIMESTAMP),
}
# Types that events carry as an object, with all of its fields: otherwise each of its lines would be odd (decode.py).
_WKB = [T.StructField("wkb", _STRING), T.StructField("srid", T.IntegerType())]
_POINT = T.StructType([*(T.StructField(name, T.DoubleType()) for name in "xy"), *_WKB])
_GEOMETRY = T.StructType([*_WKB, T.StructField("extensions", T.MapType(_STRING, _STRING))])
_OBJECTS: dict[Encoding, T.DataType] = {
    **dict.fromkeys((Encoding.WKB, Encoding.PATH), _GEOMETRY),
    Encoding.LINE: T.StructType([T.StructField(name, T.DoubleType()) for name in "abc"]),
    Encoding.CIRCLE: T.StructType([T.StructField("center", _POINT), T.StructField("radius", T.DoubleType())]),
}
# Types whose names decide how a whole array travels: by its elements.
_ARRAYS = ("io.debezium.data.DoubleVector", "io.debezium.data.FloatVector")


def parse(text: str, path: str) -> tuple[Column, ...]:
    """Return an Avro record schema's columns. Raises SettingsError, naming `path`, for types that JSON can't carry."""
    try:
        record = json.loads(text)
    except ValueError as error:
        raise SettingsError(f"{path}: not a JSON document ({error})") from error
    if not isinstance(record, dict) or record.get("type") != "record" or not record.get("fields"):
        raise SettingsError(f"{path}: not an Avro record schema with fields")
    columns = tuple(column_of(field, path) for field in record["fields"])
    names = [column.name.lower() for column in columns]
    if len(set(names)) != len(names):
        raise SettingsError(f"{path}: two fields have the same name")
    return tuple(column for column in columns if column.name != IS_DELETED)


def extend(
    columns: Sequence[Column],
    stored: T.StructType,
    fields: Mapping[str, str] | None = None,
    described: Mapping[str, Column] | None = None,
) -> tuple[Column, ...]:
    """Return `columns`, followed by those that only `stored` (the table, or new events) has.

    `fields`: their names in events, if others; `described`: those whose type the source's catalogue has given.
    """
    known = {column.name for column in columns} | {IS_DELETED}
    sources, said = fields or {}, described or {}
    found = list(columns)
    for field in stored.fields:
        if field.name in known or field.name.startswith("_hoodie_"):
            continue
        column = said.get(field.name)
        if column is None or column.stored != field.dataType:
            wire, encoding = _UNDESCRIBED.get(type(field.dataType), (field.dataType, Encoding.PLAIN))
            encoding = Encoding.SPECIALS if field.name == SPECIALS_COLUMN else encoding
            column = Column(field.name, wire, field.dataType, encoding, sources.get(field.name, field.name))
        found.append(column)
    return tuple(found)


# Type changes that Hudi 0.15 applies lazily, confirmed by tests: old rows are read as the new type
# (docs/decisions/0070).
WIDENED = {("int", "bigint"), ("int", "string"), ("bigint", "string"), ("float", "double")}


def refused_changes(columns: Sequence[Column], stored: T.StructType) -> dict[str, str]:
    """Return the columns whose type differs from the declared one and can't become it: `price (decimal(10,2) …)`."""
    kinds = {field.name: field.dataType.simpleString() for field in stored.fields}
    pairs = [(c.name, kinds.get(c.name, c.stored.simpleString()), c.stored.simpleString()) for c in columns]
    return {
        name: f"{name} ({before} in the table, {now} in the file)"
        for name, before, now in pairs
        if before != now and (before, now) not in WIDENED
    }


def table_schema(columns: Sequence[Column]) -> T.StructType:
    """Return the table's schema: every column nullable, and Hudi's own delete flag last."""
    fields = [T.StructField(column.name, column.stored) for column in columns]
    return T.StructType([*fields, T.StructField(IS_DELETED, T.BooleanType())])


def inferred_type(data_type: T.DataType, *, fits_double: bool) -> T.DataType:
    """Return the column type for a type inferred from JSON: objects and arrays as JSON text.

    Whole numbers become doubles as long as they fit (`fits_double`): a fraction may follow.
    """
    if isinstance(data_type, T.LongType):
        return T.DoubleType() if fits_double else data_type
    plain = isinstance(data_type, T.BooleanType | T.DoubleType)
    return data_type if plain else T.StringType()


def with_decimal_ordering(columns: Sequence[Column], ordering: str) -> tuple[Column, ...]:
    """Return `columns`, the ordering field a decimal where it is text: as text, 9 would be newer than 10."""
    decimal = T.DecimalType(38, 18)
    return tuple(
        replace(column, stored=decimal, encoding=Encoding.DECIMAL)
        if column.name == ordering and isinstance(column.stored, T.StringType) and column.encoding is Encoding.PLAIN
        else column
        for column in columns
    )


def column_of(field: dict[str, Any], path: str) -> Column:
    """Return the column of an Avro field; errors name `path`. Raises SettingsError as `parse` does."""
    name = str(field.get("name", "?"))
    attributes = _only_branch(field.get("type"), name, path)
    source = field.get(events.SOURCE_NAME)
    if attributes.get("type") == "array":
        return _array(name, attributes, source, path)
    wire = _PRIMITIVES.get(str(attributes.get("type")))
    if attributes.get("logicalType") == "decimal" and attributes.get("type") in _DECIMALS:
        return Column(name, _STRING, _decimal(attributes, name, path), Encoding.DECIMAL, source)
    meaning = str(attributes.get("logicalType") or attributes.get("connect.name") or "")
    if wire is None or (meaning and meaning not in _ENCODINGS):
        raise SettingsError(f"{path}: field {name} has the type {meaning or attributes.get('type')}, not supported")
    if not meaning and attributes["type"] == "bytes":
        return Column(name, wire, T.BinaryType(), Encoding.BYTES, source)
    encoding = _ENCODINGS[meaning] if meaning else Encoding.PLAIN
    stored = _STORED.get(encoding, _STRING) if meaning else wire
    length = _bits(attributes, name, path) if encoding is Encoding.BITS else 0
    carried = _POINT if meaning == _POINT_NAME else _OBJECTS.get(encoding, wire)
    return Column(name, carried, stored, encoding, source, length)


def _only_branch(declared: Any, name: str, path: str) -> dict[str, Any]:
    branches = [b for b in declared if b != "null"] if isinstance(declared, list) else [declared]
    if len(branches) != 1:
        raise SettingsError(f"{path}: field {name} is a union of {len(branches)} types; only null and one other works")
    return branches[0] if isinstance(branches[0], dict) else {"type": branches[0]}


def _array(name: str, attributes: dict[str, Any], source: str | None, path: str) -> Column:
    items = _only_branch(attributes.get("items"), f"{name} (its items)", path)
    element = column_of({"name": f"{name} (its items)", "type": items}, path)
    if element.encoding in (*_OBJECTS, Encoding.BITS, Encoding.ARRAY) or (
        attributes.get("connect.name") not in (None, *_ARRAYS)
    ):
        raise SettingsError(f"{path}: field {name} is an array of {element.encoding.value}, not supported")
    return Column(name, T.ArrayType(element.wire), _STRING, Encoding.ARRAY, source, element=element.encoding)


def _bits(attributes: dict[str, Any], name: str, path: str) -> int:
    try:
        return int(attributes["connect.parameters"][events.BITS_LENGTH])
    except (KeyError, TypeError, ValueError):
        raise SettingsError(f"{path}: field {name} doesn't say how many bits it has") from None


def _decimal(attributes: dict[str, Any], name: str, path: str) -> T.DecimalType:
    precision, scale = attributes.get("precision"), attributes.get("scale", 0)
    if not (isinstance(precision, int) and isinstance(scale, int) and 0 <= scale <= precision <= 38 and precision):
        raise SettingsError(f"{path}: field {name} needs a precision of 1 to 38 and a scale of 0 to the precision")
    return T.DecimalType(precision, scale)
