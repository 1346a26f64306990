"""Lines become typed rows or a reason: no value is nulled, cut or dropped on the way."""

import datetime as dt
import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from contract import events
from contract.events import PLACEHOLDER
from spark_jobs.decoding.decode import Decoder, longest_names
from spark_jobs.decoding.schema import Column, extend, parse
from tests.spark_jobs.decoding.conftest import REQUIRED, Decode
from tests.spark_jobs.events import Event, as_lines, avro, captured, event, frame_of

pytestmark = pytest.mark.integration


CONNECTORS = ("snapshot", "insert", "update", "delete", "insert_by_statement")
ESCAPED = ["\U0001f600", "\\ud83d", "\\\\ud83d\\", "\u00e9"]
TEXTS = ["7", "true", "{}", "[", "null", '\n"customer_id": 7,']
# In a document that travels as text nothing changes.
DOCUMENT = json.dumps({"n": 1.2345678901234567, "s": "\ud83d"})
WHOLE, UNAVAILABLE = captured("unavailable_value")
# Lines that fit, and what each has then: columns of its row, or of the decoded event.
FITTING: list[tuple[Event | str, dict[str, Any]]] = [
    *((line, {"unknown": []}) for case in CONNECTORS for line in captured(case)),
    (event(10248, 2**53 + 1), {"order_date": dt.date(2026, 11, 20), "shipped_date": None, "__lsn": 2**53 + 1}),
    (event(1, 1), {"customer": '{"customer_id": "VINET"}'}),
    (
        event(1, 1, updated_at="2026-11-20T23:23:11.083659000Z"),
        {"updated_at": dt.datetime(2026, 11, 20, 23, 23, 11, 83659, dt.UTC)},
    ),
    (
        event(2, 1, updated_at="2026-11-21T01:23:11+02:00"),
        {"updated_at": dt.datetime(2026, 11, 20, 23, 23, 11, 0, dt.UTC)},
    ),
    (event(3, 1, updated_at=None), {"updated_at": None}),
    ('{"order_id":1,"__lsn":5}', {"customer_id": None}),
    # Deletes are seen through either field.
    (event(1, 1, "d"), {"deleted": True}),
    (event(1, 1, "d") | {"__op": "u"}, {"deleted": True}),
    (event(1, 1, "d") | {"__deleted": "false"}, {"deleted": True}),
    (event(1, 1, "u"), {"deleted": False}),
    (event(1, 1) | {"__deleted": True}, {"deleted": True}),
    *((line, {"deleted": True}) for line in captured("delete_key_only")),
    # Texts that look like other values are texts.
    *((event(1, 1, customer_id=text), {"customer_id": text}) for text in (*TEXTS, *ESCAPED)),
    (event(1, 1, customer=DOCUMENT), {"customer": DOCUMENT}),
    (WHOLE, {"placeholders": []}),
    (UNAVAILABLE, {"placeholders": ["products"], "products": PLACEHOLDER, "line": UNAVAILABLE}),
    # A transaction's number is no column, in any table of its pipeline.
    (event(1, 1, __source_txId=7), {"unknown": [], "transaction": 7}),
    # New fields are named unless they are null.
    (event(1, 1, discount=0.5, note=None), {"unknown": ["discount"]}),
    *((line, {"unknown": ["sales_channel"]}) for line in captured("new_column")),
]


def schema_of(**types: Any) -> tuple[Column, ...]:
    return parse(avro(types), "t.avsc")


def test_what_fits_keeps_its_values(decode: Decode, spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    for row, (line, expected) in zip(decode(*(line for line, _ in FITTING)), FITTING, strict=True):
        assert row["reason"] is None, line
        found = row["row"].asDict() | row.asDict()
        assert {name: _in_utc(found[name]) for name in expected} == expected


def _in_utc(value: Any) -> Any:
    return value.astimezone(dt.UTC) if isinstance(value, dt.datetime) else value


def test_events_are_read_by_the_contracts_names(decode: Decode, monkeypatch: pytest.MonkeyPatch) -> None:
    """Debezium could be configured with other names, so the job must not hard-code any of them."""
    for name, other in (("OPERATION", "_x_op"), ("DELETED", "_x_gone"), ("PLACEHOLDER", "_x_unchanged")):
        monkeypatch.setattr(events, name, other)
    by = schema_of(order_id="int", **dict.fromkeys(("_x_op", "_x_gone", "products", "__op"), "string"))
    rows = decode(
        {"order_id": 1, "_x_op": "d"},
        {"order_id": 2, "_x_gone": "true"},
        {"order_id": 3, "_x_op": "q"},
        {"order_id": 4, "products": "_x_unchanged", "__op": "d"},
        by=by,
    )
    assert [row["deleted"] for row in rows] == [True, True, False, False]
    assert [row["reason"] for row in rows] == [None, None, "operation: _x_op is q", None]
    assert [row["placeholders"] for row in rows] == [[], [], [], ["products"]]


MICROS = {"type": "long", "connect.name": "io.debezium.time.MicroTimestamp"}
_NOT_ISO = "value: updated_at (not ISO 8601 text with an offset)"


def _and(more: str) -> str:
    return f"{json.dumps(event(10248, 1))[:-1]}, {more}}}"


WRONG: list[tuple[Event | str, str]] = [
    # PostgreSQL's last years don't fit into 64 bits of microseconds since 1970.
    (event(1, 1) | {"updated_at": "+294276-12-31T23:59:59Z"}, "value: updated_at (not ISO 8601 text with an offset)"),
    (event(10248, 1) | {"order_id": 3_000_000_000}, "type: order_id (not int)"),
    (event(10248, 1) | {"order_id": "10248"}, "type: order_id (not int)"),
    (event(10248, 1) | {"order_id": 10248.0}, "type: order_id (not int)"),
    (event(10248, 1) | {"order_date": 20777.5}, "type: order_date (not int)"),
    (event(10248, 1) | {"order_date": True}, "type: order_date (not int)"),
    (event(10248, 1) | {"__lsn": 2**63}, "type: __lsn (not bigint)"),
    (event(10248, 1) | {"order_date": "x", "shipped_date": "y"}, "type: order_date (not int), shipped_date (not int)"),
    (event(10248, 1) | {"customer_id": 7}, "type: customer_id (not string)"),
    (event(10248, 1) | {"customer_id": {"a": 1}}, "type: customer_id (not string)"),
    (event(10248, 1) | {"customer_id": -1.5e3}, "type: customer_id (not string)"),
    (event(10248, 1) | {"__db": True}, "type: __db (not string)"),
    (event(10248, 1) | {"__table": ["\n"]}, "type: __table (not string)"),
    (event(10248, 1) | {"order_id": None}, "missing: order_id"),
    (event(10248, 1) | {"__lsn": None}, "missing: __lsn"),
    (event(10248, 1) | {"updated_at": "yesterday"}, _NOT_ISO),
    (event(10248, 1) | {"updated_at": "2026"}, "value: updated_at (not ISO 8601 text with an offset)"),
    (event(10248, 1) | {"updated_at": "2026-13-01T00:00:00Z"}, "value: updated_at (not ISO 8601 text with an offset)"),
    (event(10248, 1) | {"order_items": "[{"}, "value: order_items (not JSON text)"),
    (event(10248, 1) | {"order_items": "[] []"}, "value: order_items (not JSON text)"),
    (event(10248, 1) | {"order_items": ""}, "value: order_items (not JSON text)"),
    # Documents are checked together.
    (event(10248, 1) | {"order_items": '1,"x":2'}, "value: order_items (not JSON text)"),
    (event(10248, 1) | {"shipment": "{}} {"}, "value: shipment (not JSON text)"),
    (
        event(10248, 1) | {"order_items": "[1", "products": "2]"},
        "value: order_items (not JSON text), products (not JSON text)",
    ),
    (event(10248, 1) | {"__op": "t"}, "operation: __op is t"),
    (event(10248, 1, customer_id="\ud83d"), "value: half a surrogate pair, which no text can hold"),
    (event(10248, 1, customer_id="\\\ude00x"), "value: half a surrogate pair, which no text can hold"),
    (json.dumps(event(10248, 1))[:-1] + ', "new": 1e999}', "value: a new field's number is too large"),
    (event(10248, 1) | {"customer": {"n": 1.2345678901234567}}, "value: customer (a number in it would change)"),
    (event(10248, 1) | {"updated_at": "2026-11-20T23:23:11.123456789Z"}, _NOT_ISO),
    (_and('"customer": 1e999'), "name: twice: customer"),
    (_and('"__op": "d"'), "name: twice: __op"),
    (_and('"\\u005f_op": "d", "x": 1, "x": 2'), "name: twice: __op, x"),
    (event(1, 1, foreign=1, order_date="x"), "type: order_date (not int)"),
    ('{"foreign":1}', "missing: order_id, __lsn"),
    ('{"order_id": 1, "__lsn": 2, ' + json.dumps(event(10248, 7)).removeprefix("{"), "name: twice: order_id, __lsn"),
    ("{", "not one JSON value"),
    ('{"order_id":1', "not one JSON value"),
    ("x", "not one JSON value"),
    ('{"order_id":1,"__lsn":1}{"order_id":2,"__lsn":2}', "not one JSON value"),
    ('{"order_id":1,"__lsn":1},{"order_id":2,"__lsn":2}', "not one JSON value"),
    ('{"order_id":1,"__lsn":1}] trailing', "not one JSON value"),
    ("{'order_id':1,'__lsn':1}", "type: a value doesn't fit its field"),
    ('{"order_id":1,"__lsn":NaN}', "not one JSON value"),
    ("[1]", "not a JSON object"),
    ("5", "not a JSON object"),
    ("null", "not a JSON object"),
    ('"text"', "not a JSON object"),
]


def test_what_does_not_fit_says_which_field(decode: Decode) -> None:
    wrong = decode(*(given for given, _ in WRONG))
    assert [row["reason"] for row in wrong] == [reason for _, reason in WRONG]
    assert [row["line"] for row in wrong] == [as_lines([given]).rstrip("\n") for given, _ in WRONG]
    # Events that don't fit don't affect the table's columns.
    assert {tuple(row["unknown"]) for row in wrong} == {()}


def test_events_are_ordinary_in_each_constant_order_of_their_fields(
    spark: SparkSession, columns: tuple[Column, ...]
) -> None:
    """Decoding others takes several times as long."""
    lines = [line for case in ("snapshot", "insert", "update", "delete") for line in captured(case)]
    turned = [dict(reversed(json.loads(line).items())) | {"__source_txId": 7} for line in lines]
    frame = frame_of(spark, as_lines(turned).splitlines())
    order = longest_names(frame)
    assert order == tuple(turned[0])

    def reasons(frame: DataFrame, order: Sequence[str]) -> set[str | None]:
        decoded = Decoder(columns, required=REQUIRED, order=order).ordinary(frame)
        return {row["reason"] for row in decoded.collect()}

    assert reasons(frame_of(spark, lines), ()) == {None}
    assert reasons(frame, order) == {None}
    assert reasons(frame, ()) == {"odd"}


def test_many_columns_alike_are_checked_as_few_are(spark: SparkSession, decode: Decode) -> None:
    by = schema_of(order_id="int", **{f"at_{number}": MICROS for number in range(20)})
    good = {"order_id": 1} | dict.fromkeys((f"at_{number}" for number in range(20)), 1)
    bad = good | {"at_3": -9_223_372_036_853_775_000}
    assert decode(good, bad, by=by)[1]["reason"].startswith("value: at_3 (not microseconds since")
    found = Decoder(by, required=("order_id",)).ordinary(frame_of(spark, as_lines([good, bad]).splitlines()))
    assert [row["reason"] for row in found.orderBy("number").collect()] == [None, "odd"]


def test_bytes_that_are_no_text_are_set_aside(spark: SparkSession, columns: tuple[Column, ...]) -> None:
    cut = b'{"order_id":1,"__lsn":2,"customer_id":"\xc3"}'
    lines = spark.range(1).select(F.unhex(F.lit(cut.hex())).alias("bytes"))
    places = [F.lit(0).alias(name) for name in ("block", "number", "tie")]
    decoded = Decoder(columns, required=["order_id"])(
        lines.select(F.col("bytes").cast("string").alias("line"), F.lit("file").alias("origin"), *places)
    )
    assert [row["reason"] for row in decoded.collect()] == ["not UTF-8 text"]


def test_only_one_part_of_a_key_has_to_have_a_value(spark: SparkSession, columns: tuple[Column, ...]) -> None:
    key = ("customer_id", "__db")
    lines = [{"customer_id": "", "__db": "x"}, {"customer_id": "", "__db": ""}, {"customer_id": "x"}]
    found = Decoder(columns, required=key, key=key)(frame_of(spark, list(map(json.dumps, lines))))
    reasons = [None, "missing: customer_id, __db", "missing: __db"]
    assert [row["reason"] for row in found.orderBy("number").collect()] == reasons


# Columns of each kind, in one table.
ARRAYS_DAY = ["null", {"type": "int", "connect.name": "io.debezium.time.Date"}]
KINDS: dict[str, Any] = {
    "order_id": "int",
    "customer_id": "string",
    "cost": "double",
    "size": "float",
    "sizes": {"type": "array", "items": ["null", "float"]},
    "paid": "boolean",
    "at": {"type": "long", "logicalType": "timestamp-millis"},
    "micros": MICROS,
    "extra": {"type": "string", "connect.name": "io.debezium.data.Json"},
    "days": {"type": "array", "items": ARRAYS_DAY},
    "tags": {"type": "array", "items": "string"},
    "counts": {"type": "array", "items": ["null", "int"]},
    "photo": "bytes",
    "price": {"type": "string", "logicalType": "decimal", "precision": 5, "scale": 2},
    "sum": {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 2},
    "flags": {"type": "bytes", "connect.name": "io.debezium.data.Bits", "connect.parameters": {"length": "4"}},
    "weight": "double",
    "opens": {"type": "long", "connect.name": "io.debezium.time.MicroTime"},
    "traits": {"type": "string", "connect.name": events.HSTORE},
}
NOTE = {"name": "order_note", "type": "string", "source.name": 'Order "Note" (1)'}
DATES = {
    "0001-01-01": -719_162,
    "0001-12-31 BC": -719_163,
    "4714-11-24 BC": -2_440_588,
    "2000-02-29": 11_016,
    "294247-01-11": 106_751_992,
    "5874897-12-31": 2_145_042_905,
    "infinity": 2_146_033_979,
    "-infinity": -2_147_472_691,
}
GOOD = {"cost": 3, "paid": True, "at": 1_000, "micros": 1_500_000, "extra": {"a": [1]}}
AT, MICROS_AT = (dt.datetime(1970, 1, 1, 0, 0, 1, micros, tzinfo=dt.UTC) for micros in (0, 500_000))
UNFIT = "value: sum (not a decimal number as text)"
CHANGED = "value: tagged (a number in it would change)"
UNLIKE_FLOATS = ("1e-60", "1e39", "16777217", "1.23456789E8", "0.123456789012345")
# A line's end, why it doesn't fit, and what its columns have.
OF_KINDS: list[tuple[str | dict[str, Any], str | None, dict[str, Any]]] = [
    ({"days": [*DATES.values(), None]}, None, {"days": json.dumps([*DATES, None], separators=(",", ":"))}),
    (GOOD, None, {"cost": 3.0, "extra": '{"a":[1]}', "at": AT, "micros": MICROS_AT}),
    ({"extra": '{"a":[1]}'}, None, {"extra": '{"a":[1]}'}),
    (GOOD | {"cost": "3"}, "type: cost (not double)", {}),
    (GOOD | {"paid": "true"}, "type: paid (not boolean)", {}),
    *(
        (f'"cost": {number}', "value: cost (no double is that number)", {})
        for number in ("1e999", "-1e999", "1e-400", "9007199254740993")
    ),
    ('"cost": 9007199254740992', None, {"cost": 2.0**53}),
    ('"cost": 0.0', None, {"cost": 0.0}),
    ('"cost": 0e5', None, {"cost": 0.0}),
    ('"cost": 1e300', None, {"cost": 1e300}),
    ('"cost": -12.5', None, {"cost": -12.5}),
    # A field is judged by its own text; `tagged` came with events, as text.
    ('"tagged": [1, 2], "weight": 0.30000000000000004', None, {}),
    ('"tagged": [1, 2], "customer_id": "3.14159265358979323"', None, {}),
    ('"tagged": ["3.14159265358979323", {"3.14159265358979323": "\\"3.14159265358979323"}]', None, {}),
    ('"tagged": [3.14159265358979323]', CHANGED, {}),
    ('"t\\u0061gged": 3.14159265358979323', CHANGED, {}),
    ('"tagged": 12345678901234567890e5', CHANGED, {}),
    ('"tagged": 1e999', CHANGED, {}),
    # Too long for a recursive regular expression.
    (f'"tagged": [{"1.5, " * 100_000} 3.14159265358979323]', CHANGED, {}),
    ('"customer_id": "7", "tagged": {"customer_id": 7}', None, {}),
    ('"customer_id": 7, "tagged": {"customer_id": "7"}', "type: customer_id (not string)", {}),
    ('"c\\u0075stomer_id": 7', "type: customer_id (not string)", {}),
    ('"weight": 0, "tagged": {"weight": 1e-12}', None, {}),
    ('"weight": 1e-999, "tagged": {"weight": 0}', "value: weight (no double is that number)", {}),
    ('"weight": 1e999, "tagged": {"weight": "x"}', "value: weight (no double is that number)", {}),
    ('"weight": "Infinity", "tagged": {"weight": 1}', None, {}),
    *(
        (f'"size": {number}, "sizes": [null, {number}, "NaN"]', None, {"sizes": f'[null,{number},"NaN"]'})
        for number in ("0.1", "3.4028235E38", "1.4E-45", "-1.6777216E7")
    ),
    *((f'"size": {number}', "value: size (no float is that number)", {}) for number in UNLIKE_FLOATS),
    *((f'"sizes": [1, {number}]', "value: sizes (no float is that number)", {}) for number in UNLIKE_FLOATS),
    ('"new": "Infinity", "customer_id": "1e999"', None, {}),
    ('"new": -1e999, "customer_id": "Infinity"', "value: a new field's number is too large", {}),
    # What Debezium has spoiled.
    (
        {'Order "Note" (1)': "a", "tags": ["a", None], "counts": [], "photo": "AP8="},
        None,
        {"order_note": "a", "tags": '["a",null]'},
    ),
    ({'Order "Note" (1)': 7}, 'type: Order \\"Note\\" (1) (not string)', {}),
    # Arrays of several dimensions.
    ({"counts": [None, None]}, "value: counts (not an array of one dimension)", {}),
    ({"tags": ["[Ljava.lang.String;@6aa72406"]}, "value: tags (not an array of one dimension)", {}),
    ({"photo": "?"}, "value: photo (not bytes in Base64)", {}),
    ({"price": "1234.00"}, "value: price (not a decimal number as text)", {}),
    # Without a column for it.
    ({"price": "NAN"}, "value: price (not a decimal number as text)", {}),
    ({"flags": "EA=="}, "value: flags (not bits in Base64, the lowest first)", {}),
    ({"traits": '{"a": "1", "a": "2"}'}, "value: traits (not a JSON object of texts)", {}),
    ({"weight": "NaN"}, None, {}),
    ({"weight": "heavy"}, "type: weight (not double)", {}),
    ({"opens": 86_400_000_001}, "value: opens (not microseconds since midnight)", {}),
    # The year 294276, beyond 64 bits.
    (
        {"micros": -9_223_372_036_853_775_810},
        "value: micros (not microseconds since 1970-01-01T00:00Z, until the year 294246)",
        {},
    ),
    # Decimals are taken as text and as numbers, and never rounded; Spark writes some as 1.234567825E7 and 1.0E-4.
    *(
        (f'"sum": {sent}', None, {"sum": found and Decimal(found)})
        for sent, found in [
            ('"12.50"', "12.50"),
            ("12.5", "12.50"),
            ("-0.01", "-0.01"),
            ("12345678.25", "12345678.25"),
            ("123456789012345678", "123456789012345678.00"),
            ("null", None),
        ]
    ),
    # The last one: `decimal.handling.mode=precise`.
    *((f'"sum": {sent}', UNFIT, {}) for sent in ("0.0001", "12.345", "true", '{"scale": 2}', '"/+8="')),
    # As a double, it would become another number.
    ('"sum": 123456789012345.67', "value: sum (a number in it would change)", {}),
]


def test_each_kind_of_column_takes_what_fits_and_says_what_does_not(decode: Decode) -> None:
    tagged = T.StructType([T.StructField("tagged", T.StringType())])
    by = extend(parse(avro(KINDS, NOTE), "t.avsc"), tagged)
    ends = [end if isinstance(end, str) else json.dumps(end)[1:-1] for end, _, _ in OF_KINDS]
    rows = decode(*(f'{{"order_id": 1, {end}}}' for end in ends), by=by)
    assert [row["reason"] for row in rows] == [reason for _, reason, _ in OF_KINDS]
    for row, (_, _, expected) in zip(rows, OF_KINDS, strict=True):
        assert {name: _in_utc(row["row"][name]) for name in expected} == expected
