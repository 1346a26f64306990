"""Converts the values that events carry into stored values, by a column's encoding: expressions over the parsed
`_wire`.

Each is null for a value that can't be converted, so that the decoder finds it. docs/decisions/0070 lists what Debezium
sends for each type.
"""

import base64
import hashlib
import json
import operator
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import cast

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F
from pyspark.sql import types as T

from contract import events
from contract.events import (
    INFINITE_DAYS,
    INFINITE_MICROS,
    NOT_NUMBERS,
    SNAPSHOT_INFINITE_DAYS,
    WIRE_INFINITE_MICROS,
    WIRE_INFINITE_TEXTS,
)
from spark_jobs.decoding import wire
from spark_jobs.decoding.schema import Column, Encoding

# The lake's timestamps are in microseconds: values in nanoseconds fit if the rest is zero.
_TIMESTAMP = r"^[+-]?\d{4,6}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,6}0{0,3})?(Z|[+-]\d{2}:\d{2})$"
_ZONED_TIME = r"^\d{2}:\d{2}:\d{2}(\.\d{1,9})?Z$"
_BASE64 = r"^[A-Za-z0-9+/]*={0,2}$"
_NUMBER = r"^-?\d+(\.\d+)?$"
_DOUBLE = r"^-?\d\.\d{1,17}E-?\d{1,2}$"
# PostgreSQL's first instant is in 4714 BC; anything before it has overflowed 64 bits, being after 294246.
_FIRST_MICROS = -211_000_000_000_000_000
_LAST_MILLIS = 9_223_372_036_854_775
_DAY_MICROS = 86_400_000_000
# Length of 400 years.
_CYCLE_DAYS = 146_097
# How Java prints an array within an array.
_JAVA_ARRAY = r"^\[(\[|L[\w.$]+;|[BCDFIJSZ])[\w.$;\[]*@[0-9a-f]+$"
# Escapes that Jackson writes in capitals and PostgreSQL doesn't: control characters in JSON.
_CAPITALS = [f"{code:02X}" for code in range(0x20) if code % 16 > 9]
_CODES = list(events.PLACEHOLDER.encode())
_IN_BASE64 = base64.b64encode(events.PLACEHOLDER.encode()).decode()
# Debezium derives a placeholder's uuid from its MD5 (java.util.UUID.nameUUIDFromBytes).
_MD5 = hashlib.md5(events.PLACEHOLDER.encode(), usedforsecurity=False).digest()
_IN_ARRAYS = (events.PLACEHOLDER, _IN_BASE64, str(uuid.UUID(bytes=_MD5, version=3)))
_as_json = partial(json.dumps, separators=(",", ":"))
_AS_HSTORE = _as_json({events.PLACEHOLDER: events.PLACEHOLDER})
# A placeholder's forms, where the plain text isn't one, or isn't the only one.
_PLACEHOLDERS: dict[Encoding, tuple[str, ...]] = {
    Encoding.ARRAY: (),
    **dict.fromkeys((Encoding.BYTES, Encoding.TEXT_AS_BYTES), (_IN_BASE64,)),
    Encoding.HSTORE: (_AS_HSTORE,),
    # The source's type isn't known.
    Encoding.ANYTHING: (
        *(events.PLACEHOLDER, _IN_BASE64, _AS_HSTORE),
        *(_as_json(array) for array in (_CODES, *([text] for text in _IN_ARRAYS))),
    ),
}


def stored(value: Expression, column: Column) -> Expression:
    """Convert a value from the wire to the stored type of its column; null when it can't be."""
    if column.encoding is Encoding.DECIMAL:
        return _to_decimal(value, cast(T.DecimalType, column.stored))
    if column.encoding is Encoding.BITS:
        return _to_bits(value, column.length)
    if column.encoding is Encoding.ARRAY:
        return _to_json_array(value, column)
    convert = _CONVERSIONS.get(column.encoding)
    return convert(value) if convert else value


def specials(columns: Sequence[Column]) -> Expression:
    """Return the JSON object of the decimals that aren't numbers, by PostgreSQL's names; null without any."""
    decimals = [column for column in columns if column.encoding is Encoding.DECIMAL]
    if not decimals:
        return F.lit(None).cast("string")
    is_one = F.exists(wire.sent(decimals), is_special)
    if wire.are_few(decimals):
        is_one = reduce(operator.or_, (is_special(F.expr(wire.sent_path(column))) for column in decimals))
    names = F.transform(wire.sent(decimals), _named)
    found = F.map_filter(
        F.map_from_arrays(wire.texts(column.name for column in decimals), names), lambda _, value: value.isNotNull()
    )
    return F.when(is_one, F.to_json(found))


def is_special(value: Expression) -> Expression:
    return F.coalesce(value.isin(*NOT_NUMBERS), F.lit(False))


def has_placeholder(column: Column) -> bool:
    is_text = isinstance(column.wire, T.StringType) and column.encoding is not Encoding.BITS
    return is_text or column.encoding is Encoding.ARRAY


def is_placeholder(value: Expression, column: Column) -> Expression:
    """Check whether a value is a TOAST placeholder; each encoding has its own."""
    if column.encoding is Encoding.ARRAY:
        return _is_array_placeholder(value, column)
    return F.coalesce(value.isin(*_placeholder_texts(column)), F.lit(False))


def _placeholder_texts(column: Column) -> tuple[str, ...]:
    return _PLACEHOLDERS.get(column.encoding, (events.PLACEHOLDER,))


def _is_array_placeholder(value: Expression, column: Column) -> Expression:
    element = cast(T.ArrayType, column.wire).elementType
    if isinstance(element, T.StringType):
        return F.coalesce((F.size(value) == 1) & value[0].isin(*_IN_ARRAYS), F.lit(False))
    codes = F.array(*(F.lit(code).cast(element) for code in _CODES))
    return F.coalesce(value == codes, F.lit(False))


def has_one_placeholder(columns: Sequence[Column]) -> Expression:
    """Check whether a value is a TOAST placeholder."""
    found = [F.lit(False)]
    for alike in wire.grouped(filter(has_placeholder, columns), _placeholder_texts):
        sent = [F.expr(wire.sent_path(column)) for column in alike]
        if alike[0].encoding is Encoding.ARRAY:
            found += [_is_array_placeholder(value, column) for value, column in zip(sent, alike, strict=True)]
        found += [F.coalesce(F.lit(text).isin(*sent), F.lit(False)) for text in _placeholder_texts(alike[0])]
    return reduce(operator.or_, found)


def _to_decimal(value: Expression, kind: T.DecimalType) -> Expression:
    """Convert a decimal's text, if all of its digits fit; Spark writes large and small numbers with an exponent."""
    fraction = rf"(\.\d{{1,{kind.scale}}}0*)?" if kind.scale else r"(\.0+)?"
    plain = value.rlike(rf"^-?0*\d{{1,{max(kind.precision - kind.scale, 1)}}}{fraction}$")
    decimal = value.cast(kind)
    is_double = value.rlike(_DOUBLE) & (decimal.cast("double") == value.cast("double"))
    return F.when(plain | is_double, decimal)


def is_one_json_value(text: Expression) -> Expression:
    """Check that text is exactly one JSON value, with nothing after it."""
    followed_by_another = F.concat(F.lit("["), text, F.lit(",0]"))
    return F.coalesce(F.json_array_length(followed_by_another) == 2, F.lit(False))


def together(columns: Sequence[Column]) -> Expression:
    """Put all JSON documents of a row into one, so that `are_documents` parses once; placeholders are null in it."""
    parts = [F.lit("{")]
    for name, column in zip(_names(columns), columns, strict=False):
        value = F.expr(wire.sent_path(column))
        document = F.coalesce(F.when(value != events.PLACEHOLDER, value), F.lit("null"))
        parts += [F.lit(f'"{name}":'), document, F.lit(",")]
    return F.concat(*parts, F.lit(f'"{_names(columns)[-1]}":0}}'))


def are_documents(together: Expression, columns: Sequence[Column]) -> Expression:
    """Check that each value is null, a placeholder or one JSON value.

    No value can imitate the names between them, which are random; the last one shows that none ends the object.
    """
    return F.coalesce(F.json_object_keys(together) == F.array(*map(F.lit, _names(columns))), F.lit(False))


def _names(columns: Sequence[Column]) -> list[str]:
    return [f"{wire.CORRUPT}{number}" for number in range(len(columns) + 1)]


def _days(value: Expression) -> Expression:
    for sent, meant in SNAPSHOT_INFINITE_DAYS.items():
        value = F.when(wire_equals(value, sent), F.lit(meant)).otherwise(value)
    return F.call_function("date_from_unix_date", value.cast("int"))


def wire_equals(value: Expression, number: int) -> Expression:
    """Compare with a number of 64 bits."""
    return value == F.lit(number).cast("long")


def _infinite(value: Expression, otherwise: Expression) -> Expression:
    for sent, meant in (WIRE_INFINITE_MICROS | {micros: micros for micros in INFINITE_MICROS}).items():
        instant = F.call_function("timestamp_micros", F.lit(meant).cast("long"))
        otherwise = F.when(wire_equals(value, sent), instant).otherwise(otherwise)
    return otherwise


def _millis(value: Expression) -> Expression:
    safe = F.when(F.abs(value) <= _LAST_MILLIS, value)
    return _infinite(value, F.call_function("timestamp_millis", safe))


def _micros(value: Expression) -> Expression:
    return _infinite(value, F.call_function("timestamp_micros", F.when(value > F.lit(_FIRST_MICROS), value)))


def _iso_timestamp(value: Expression) -> Expression:
    # Without its zone, UTC as the session's: Spark compiles two regular expressions for each text with a zone.
    instant = F.when(value.rlike(_TIMESTAMP), F.substring_index(value, "Z", 1).cast("timestamp"))
    for micros, text in INFINITE_MICROS.items():
        sent = [text, *(other for other, meant in WIRE_INFINITE_TEXTS.items() if meant == text)]
        infinite = F.call_function("timestamp_micros", F.lit(micros).cast("long"))
        instant = F.when(value.isin(*sent), infinite).otherwise(instant)
    return instant


def _fraction(micros: Expression) -> Expression:
    digits = F.lpad((micros % 1_000_000).cast("string"), 6, "0")
    return F.when(micros % 1_000_000 == 0, F.lit("")).otherwise(
        F.concat(F.lit("."), F.regexp_replace(digits, "0+$", ""))
    )


def _time_of_day(micros: Expression) -> Expression:
    clock = F.date_format(F.call_function("timestamp_micros", micros), "HH:mm:ss")
    text = F.when(micros == _DAY_MICROS, F.lit("24:00:00")).otherwise(F.concat(clock, _fraction(micros)))
    return F.when(micros.between(0, _DAY_MICROS), text)


def _zoned_time(value: Expression) -> Expression:
    short = F.regexp_replace(F.regexp_replace(value, r"(\.\d*?)0*Z$", "$1Z"), r"\.?Z$", "+00")
    return F.when(value.rlike(_ZONED_TIME), short)


def _named(value: Expression) -> Expression:
    name = F.lit(None).cast("string")
    for sent, meant in NOT_NUMBERS.items():
        name = F.when(value == sent, F.lit(meant)).otherwise(name)
    return name


def _bytes(value: Expression) -> Expression:
    return F.when(value.rlike(_BASE64), F.unbase64(value))


def _text(value: Expression) -> Expression:
    return F.decode(_bytes(value), "UTF-8")


def _to_bits(value: Expression, length: int) -> Expression:
    """Write bits as text: bytes from last to first, eight bits each, with the leading zeros that Debezium drops."""
    digits = F.hex(_bytes(value))
    places = F.sequence(F.lit(0), (F.length(digits) / 2 - 1).cast("int"))
    each = F.transform(
        F.when(F.length(digits) > 0, places).otherwise(F.array().cast("array<int>")),
        lambda place: F.lpad(F.conv(F.substr(digits, place * 2 + 1, F.lit(2)), 16, 2), 8, "0"),
    )
    bits = F.regexp_replace(F.array_join(F.reverse(each), ""), "^0+", "")
    return F.when(digits.isNotNull() & (F.length(bits) <= length), F.lpad(bits, length, "0"))


def _hstore(value: Expression) -> Expression:
    pairs = F.map_entries(F.from_json(value, "map<string,string>"))
    # Spark fails the job over a repeated key.
    is_plain = F.size(F.array_distinct(pairs["key"])) == F.size(pairs)
    return F.when(is_plain, F.to_json(F.map_from_entries(F.array_sort(pairs)), {"ignoreNullFields": "false"}))


def _object(parts: Mapping[str, Expression]) -> Expression:
    """Write an object as JSON text; null when it lacks a part."""
    whole = reduce(operator.and_, (part.isNotNull() for part in parts.values()))
    return F.when(whole, F.to_json(F.struct(*(part.alias(name) for name, part in parts.items()))))


def _path(value: Expression) -> Expression:
    parts = {"wkb": value["wkb"], "closed": value["extensions"]["closed"]}
    return F.when(_bytes(value["wkb"]).isNotNull(), _object(parts))


def _to_json_array(value: Expression, column: Column) -> Expression:
    """Write an array as JSON text; null for an array of several dimensions, which Debezium mangles."""
    element = _ELEMENTS.get(column.element)
    converted = F.transform(value, element) if element else value
    is_text = isinstance(cast(T.ArrayType, column.wire).elementType, T.StringType)
    bad = (F.size(value) > 0) & F.forall(value, lambda one: one.isNull())
    if is_text:
        bad |= F.exists(value, lambda one: F.coalesce(one.rlike(_JAVA_ARRAY), F.lit(False)))
    if element:
        pairs = F.arrays_zip(value.alias("a"), converted.alias("b"))
        bad |= F.exists(pairs, lambda pair: pair["a"].isNotNull() & pair["b"].isNull())
    text = F.to_json(converted)
    is_free = is_text and column.element in (Encoding.PLAIN, Encoding.JSON, Encoding.TEXT_AS_BYTES)
    return F.when(~bad, _with_small_escapes(text) if is_free else text)


def _with_small_escapes(text: Expression) -> Expression:
    for code in _CAPITALS:
        # After an even number of backslashes it is an escape.
        pattern = rf"(?<!\\)((?:\\\\)*)\\u00{code}"
        text = F.regexp_replace(text, pattern, rf"$1\\u00{code.lower()}")
    return text


def _era(instant: Expression) -> Expression:
    return F.when(F.year(instant) < 1, F.lit(" BC")).otherwise(F.lit(""))


def _date_text(days: Expression) -> Expression:
    date = _days(days)
    year = F.year(date)
    shown = F.format_string("%04d", F.when(year < 1, 1 - year).otherwise(year))
    # Spark formats dates as instants, which end in 294247. The calendar repeats every 400 years.
    alike = _days(F.call_function("pmod", F.call_function("unix_date", date), F.lit(_CYCLE_DAYS)))
    text = F.concat(shown, F.date_format(alike, "-MM-dd"), _era(date))
    for number, name in INFINITE_DAYS.items():
        text = F.when(F.call_function("unix_date", date) == number, F.lit(name)).otherwise(text)
    return text


def _instant_text(instant: Expression, zone: str) -> Expression:
    micros = F.call_function("unix_micros", instant)
    # Without an era in the pattern Spark counts years from 0.
    clock = F.regexp_replace(F.date_format(instant, "yyyy-MM-dd HH:mm:ss G"), r"^\+| (AD|BC)$", "")
    # Before 1970 microseconds are negative.
    fraction = _fraction(F.call_function("pmod", micros, F.lit(1_000_000)))
    text = F.concat(clock, fraction, F.lit(zone), _era(instant))
    for number, name in INFINITE_MICROS.items():
        text = F.when(wire_equals(micros, number), F.lit(name)).otherwise(text)
    return text


_CONVERSIONS: dict[Encoding, Callable[[Expression], Expression]] = {
    Encoding.DAYS: _days,
    Encoding.MILLIS: _millis,
    Encoding.MICROS: _micros,
    Encoding.MILLIS_OF_DAY: lambda value: _time_of_day(value.cast("long") * 1000),
    Encoding.MICROS_OF_DAY: _time_of_day,
    Encoding.ZONED_TIME: _zoned_time,
    Encoding.ISO_TIMESTAMP: _iso_timestamp,
    Encoding.EXACT_NUMBER: lambda value: F.coalesce(_named(value), F.when(value.rlike(_NUMBER), value)),
    Encoding.HSTORE: _hstore,
    Encoding.BYTES: _bytes,
    Encoding.TEXT_AS_BYTES: _text,
    Encoding.WKB: lambda value: _bytes(value["wkb"]),
    Encoding.PATH: _path,
    Encoding.LINE: lambda value: _object({name: value[name] for name in "abc"}),
    Encoding.CIRCLE: lambda value: _object(
        {**{name: value["center"][name] for name in "xy"}, "radius": value["radius"]}
    ),
}
# How an array's elements are written in its JSON, where they differ from the wire.
_ELEMENTS: dict[Encoding, Callable[[Expression], Expression]] = {
    Encoding.DAYS: _date_text,
    Encoding.MILLIS: lambda value: _instant_text(_millis(value), ""),
    Encoding.MICROS: lambda value: _instant_text(_micros(value), ""),
    Encoding.ISO_TIMESTAMP: lambda value: _instant_text(_iso_timestamp(value), "+00"),
    Encoding.BYTES: lambda value: F.concat(F.lit("\\x"), F.lower(F.hex(_bytes(value)))),
    Encoding.TEXT_AS_BYTES: _text,
}
