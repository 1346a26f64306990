"""Reads an Avro schema file (FilebasedSchemaProvider): what each field looks like on the wire and in the table."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from pyspark.sql import types as T

from spark_jobs.errors import SettingsError

IS_DELETED = "_hoodie_is_deleted"


class Encoding(Enum):
    """How a value on the wire becomes the table's value."""

    PLAIN = "as it is"
    DAYS = "days since 1970-01-01"
    MILLIS = "milliseconds since 1970-01-01T00:00Z"
    MICROS = "microseconds since 1970-01-01T00:00Z"
    ISO_TIMESTAMP = "ISO 8601 text with an offset"
    DECIMAL = "a decimal number as text"
    JSON = "JSON text"
    ANYTHING = "text, or any other value as JSON text"


@dataclass(frozen=True)
class Column:
    """One column: the JSON type that events carry and the type that the table stores."""

    name: str
    wire: T.DataType
    stored: T.DataType
    encoding: Encoding = Encoding.PLAIN


_PRIMITIVES: dict[str, T.DataType] = {
    "boolean": T.BooleanType(),
    "int": T.IntegerType(),
    "long": T.LongType(),
    "float": T.FloatType(),
    "double": T.DoubleType(),
    "string": T.StringType(),
}
# Avro's logical types, and the names that Debezium and Connect give theirs.
_ENCODINGS: dict[str, tuple[Encoding, T.DataType]] = {
    "date": (Encoding.DAYS, T.DateType()),
    "io.debezium.time.Date": (Encoding.DAYS, T.DateType()),
    "org.apache.kafka.connect.data.Date": (Encoding.DAYS, T.DateType()),
    "timestamp-millis": (Encoding.MILLIS, T.TimestampType()),
    "io.debezium.time.Timestamp": (Encoding.MILLIS, T.TimestampType()),
    "org.apache.kafka.connect.data.Timestamp": (Encoding.MILLIS, T.TimestampType()),
    "timestamp-micros": (Encoding.MICROS, T.TimestampType()),
    "io.debezium.time.MicroTimestamp": (Encoding.MICROS, T.TimestampType()),
    "io.debezium.time.ZonedTimestamp": (Encoding.ISO_TIMESTAMP, T.TimestampType()),
    "io.debezium.data.Json": (Encoding.JSON, T.StringType()),
    "io.debezium.data.Uuid": (Encoding.PLAIN, T.StringType()),
    "uuid": (Encoding.PLAIN, T.StringType()),
    "io.debezium.data.Enum": (Encoding.PLAIN, T.StringType()),
}


def parse(text: str, path: str) -> tuple[Column, ...]:
    """Return the columns of an Avro record schema; `path` is named in errors.

    Raises SettingsError when the text isn't such a schema, or a field has a type that JSON events can't carry.
    """
    try:
        record = json.loads(text)
    except ValueError as error:
        raise SettingsError(f"{path}: not a JSON document ({error})") from error
    if not isinstance(record, dict) or record.get("type") != "record" or not record.get("fields"):
        raise SettingsError(f"{path}: not an Avro record schema with fields")
    columns = tuple(_column(field, path) for field in record["fields"])
    names = [column.name.lower() for column in columns]
    if len(set(names)) != len(names):
        raise SettingsError(f"{path}: two fields have the same name")
    return tuple(column for column in columns if column.name != IS_DELETED)


def extend(columns: Sequence[Column], stored: T.StructType) -> tuple[Column, ...]:
    """Return `columns` and, after them, those that only `stored` (the table, or new events) has."""
    known = {column.name for column in columns} | {IS_DELETED}
    added = [
        Column(field.name, _wire_type(field.dataType), field.dataType, _encoding_of(field.dataType))
        for field in stored.fields
        if field.name not in known and not field.name.startswith("_hoodie_")
    ]
    return (*columns, *added)


def table_schema(columns: Sequence[Column]) -> T.StructType:
    """Return the table's schema: every column nullable, and Hudi's own delete flag last."""
    fields = [T.StructField(column.name, column.stored) for column in columns]
    return T.StructType([*fields, T.StructField(IS_DELETED, T.BooleanType())])


def inferred_type(data_type: T.DataType, *, fits_double: bool = False) -> T.DataType | None:
    """Return the column type for a type inferred from JSON: objects and arrays as JSON text; None when all is null.

    Whole numbers become doubles as long as they fit (`fits_double`): a fraction may follow.
    """
    if isinstance(data_type, T.NullType):
        return None
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


def _column(field: dict[str, Any], path: str) -> Column:
    name = field.get("name", "?")
    declared = field.get("type")
    branches = [b for b in declared if b != "null"] if isinstance(declared, list) else [declared]
    if len(branches) != 1:
        raise SettingsError(f"{path}: field {name} is a union of {len(branches)} types; only null and one other works")
    attributes = branches[0] if isinstance(branches[0], dict) else {"type": branches[0]}
    wire = _PRIMITIVES.get(str(attributes.get("type")))
    if isinstance(wire, T.StringType) and attributes.get("logicalType") == "decimal":
        return Column(name, wire, _decimal(attributes, name, path), Encoding.DECIMAL)
    meaning = str(attributes.get("logicalType") or attributes.get("connect.name") or "")
    if wire is None or (meaning and meaning not in _ENCODINGS):
        raise SettingsError(f"{path}: field {name} has the type {meaning or attributes.get('type')}, not supported")
    encoding, stored = _ENCODINGS[meaning] if meaning else (Encoding.PLAIN, wire)
    return Column(name, wire, stored, encoding)


def _decimal(attributes: dict[str, Any], name: str, path: str) -> T.DecimalType:
    """Return the type of a decimal that travels as text (Debezium's `decimal.handling.mode=string`)."""
    precision, scale = attributes.get("precision"), attributes.get("scale", 0)
    if not (isinstance(precision, int) and isinstance(scale, int) and 0 <= scale <= precision <= 38 and precision):
        raise SettingsError(f"{path}: field {name} needs a precision of 1 to 38 and a scale of 0 to the precision")
    return T.DecimalType(precision, scale)


def _wire_type(stored: T.DataType) -> T.DataType:
    """Return how events most likely carry a column that the Avro file doesn't describe, as Debezium encodes it."""
    if isinstance(stored, T.DateType):
        return T.IntegerType()
    return T.StringType() if isinstance(stored, T.TimestampType | T.DecimalType) else stored


def _encoding_of(stored: T.DataType) -> Encoding:
    if isinstance(stored, T.DateType):
        return Encoding.DAYS
    if isinstance(stored, T.StringType):
        return Encoding.ANYTHING
    if isinstance(stored, T.DecimalType):
        return Encoding.DECIMAL
    return Encoding.ISO_TIMESTAMP if isinstance(stored, T.TimestampType) else Encoding.PLAIN
