"""The Avro file: its types' meaning, its match with the outbox table, and which fields become columns."""

import itertools
import json
import re
from typing import Any

import pytest
from pyspark.sql import types as T

from db.loading import LoadOptions, load
from local.services.postgres import ConnectionParameters
from local.tools.schema import outbox_schema
from spark_jobs.decoding.new_columns import new_columns
from spark_jobs.decoding.schema import Column, Encoding, extend, inferred_type, parse, refused_changes
from spark_jobs.errors import SettingsError
from tests.spark_jobs.events import SCHEMA, captured


def record(*fields: Any) -> str:
    return json.dumps(
        {"type": "record", "name": "r", "fields": [{"name": f"f{i}", "type": t} for i, t in enumerate(fields)]}
    )


DATE = {"type": "int", "connect.name": "io.debezium.time.Date", "connect.version": 1}
DECIMAL = {"logicalType": "decimal", "precision": 12}


@pytest.mark.parametrize(
    ("declared", "stored", "encoding"),
    [
        ("int", "int", Encoding.PLAIN),
        (["null", "string"], "string", Encoding.PLAIN),
        (["null", DATE], "date", Encoding.DAYS),
        ({"type": "int", "logicalType": "date"}, "date", Encoding.DAYS),
        ({"type": "string", "connect.name": "io.debezium.time.ZonedTimestamp"}, "timestamp", Encoding.ISO_TIMESTAMP),
        ({"type": "long", "logicalType": "timestamp-micros"}, "timestamp", Encoding.MICROS),
        ([{"type": "string", "connect.name": "io.debezium.data.Json"}, "null"], "string", Encoding.JSON),
        ({"type": "int", "connect.type": "int16"}, "int", Encoding.PLAIN),
        ({"type": "string", **DECIMAL, "scale": 4}, "decimal(12,4)", Encoding.DECIMAL),
        (["null", {"type": "bytes", **DECIMAL, "scale": 4}], "decimal(12,4)", Encoding.DECIMAL),
        ({"type": "fixed", "name": "price", "size": 6, **DECIMAL}, "decimal(12,0)", Encoding.DECIMAL),
        ("bytes", "binary", Encoding.BYTES),
    ],
)
def test_types_and_their_encodings(declared: Any, stored: str, encoding: Encoding) -> None:
    [column] = parse(record(declared), "x.avsc")
    assert (column.stored.simpleString(), column.encoding) == (stored, encoding)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "x.avsc: not a JSON document"),
        ('"int"', "x.avsc: not an Avro record schema"),
        (record(), "x.avsc: not an Avro record schema with fields"),
        (record("fixed"), "x.avsc: field f0 has the type fixed, not supported"),
        (record({"type": "bytes", "logicalType": "decimal"}), "field f0 needs a precision of 1 to 38"),
        (record({"type": "fixed", "name": "n", "size": 9}), "field f0 has the type fixed, not supported"),
        (record({"type": "string", "logicalType": "decimal"}), "field f0 needs a precision of 1 to 38"),
        (record({"type": "array", "items": {"type": "array", "items": "int"}}), "f0 is an array of an array of one"),
        (record({"type": "array", "items": "map"}), "field f0 (its items) has the type map, not supported"),
        (record({"type": "bytes", "connect.name": "io.debezium.data.Bits"}), "f0 doesn't say how many bits it has"),
        (record(["null", "int", "string"]), "field f0 is a union of 2 types"),
    ],
)
def test_what_json_events_cannot_carry_is_refused(text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(message)):
        parse(text, "x.avsc")


def test_columns_that_only_the_table_has_are_kept_behind_the_declared_ones() -> None:
    declared = (Column("a", T.IntegerType(), T.IntegerType()),)
    kinds = {"extra": T.StringType(), "a": T.IntegerType(), "day": T.DateType(), "_hoodie_is_deleted": T.BooleanType()}
    stored = T.StructType([T.StructField(name, kind) for name, kind in kinds.items()])
    names = [(column.name, column.encoding) for column in extend(declared, stored)]
    assert names == [("a", Encoding.PLAIN), ("extra", Encoding.ANYTHING), ("day", Encoding.DAYS)]


def test_inferred_types() -> None:
    kinds = (T.LongType(), T.StructType(), T.ArrayType(T.LongType()))
    found = [inferred_type(kind, fits_double=False) for kind in kinds]
    assert found == [T.LongType(), T.StringType(), T.StringType()]
    assert inferred_type(T.LongType(), fits_double=True) == T.DoubleType()


def test_the_committed_schema_names_every_field_of_real_events() -> None:
    columns = parse(SCHEMA.read_text(), str(SCHEMA))
    names = [column.name for column in columns]
    for case in ("snapshot", "insert", "update", "delete", "delete_key_only", "insert_by_statement"):
        for line in captured(case):
            assert list(json.loads(line)) == names, case
    [new] = captured("new_column")
    assert set(json.loads(new)) - set(names) == {"sales_channel"}


@pytest.mark.integration
def test_the_committed_schema_is_the_tables(database: ConnectionParameters) -> None:
    load(database, LoadOptions(connector_password="unused"), lambda *_: None)
    assert outbox_schema(dict(database)) == json.loads(SCHEMA.read_text())


@pytest.mark.parametrize(
    ("before", "now", "fits"),
    [
        (T.IntegerType(), T.LongType(), True),
        (T.IntegerType(), T.StringType(), True),
        (T.FloatType(), T.DoubleType(), True),
        (T.DecimalType(10, 2), T.DecimalType(10, 2), True),
        (T.DecimalType(10, 2), T.DecimalType(12, 2), False),
        (T.DecimalType(10, 2), T.StringType(), False),
        (T.LongType(), T.IntegerType(), False),
    ],
)
def test_a_column_becomes_what_hudi_can_read_it_as(before: T.DataType, now: T.DataType, fits: bool) -> None:
    # The table hasn't got the new one yet, which is no change.
    declared = (Column("price", T.StringType(), now), Column("new", T.LongType(), T.LongType()))
    refused = refused_changes(declared, T.StructType([T.StructField("price", before)]))
    told = f"price ({before.simpleString()} in the table, {now.simpleString()} in the file)"
    assert list(refused.values()) == ([] if fits else [told])


KNOWN = ("order_id", "note")


def test_of_names_that_differ_by_case_one_becomes_a_column_in_any_order() -> None:
    sets = [("Weight",), ("weight",), ("N",), ("n",), ("Note",)]
    for order in itertools.permutations(sets):
        assert new_columns(KNOWN, order, room=10) == ({"n": "n", "weight": "weight"}, {"N", "Weight", "Note"})


@pytest.mark.parametrize(
    ("sets", "room", "names", "unusable"),
    [
        # A column has the lake's name.
        ([("Mixed Case", "order")], 10, {"order": "order", "Mixed Case": "mixed_case"}, set()),
        ([("a.b",), ("größe",)], 10, {"a.b": "a_b", "größe": "gro_u00df_e"}, set()),
        ([("Xx", "xX")], 10, {"xX": "x_x", "Xx": "xx"}, set()),
        # Fields that would be called alike, or like Hudi's own, are no columns.
        ([("n", "N", "x")], 10, {}, {"n", "N"}),
        ([("order id",), ("orderId",)], 10, {}, {"order id", "orderId"}),
        ([("_hoodie_commit_time", "x")], 10, {}, {"_hoodie_commit_time"}),
        ([("Order ID",)], 10, {}, {"Order ID"}),
        # An event that can't have all its columns adds none.
        ([("Note", "extra"), ("a", "b")], 10, {"a": "a", "b": "b"}, {"Note"}),
        ([("a", "b"), ("c",)], 1, {"c": "c"}, set()),
        # There is room for so many.
        ([("a",), ("a", "c"), ("b",)], 2, {"a": "a", "c": "c"}, set()),
        ([("a",)], 0, {}, set()),
    ],
)
def test_new_fields_become_columns(
    sets: list[tuple[str, ...]], room: int, names: dict[str, str], unusable: set[str]
) -> None:
    found = new_columns(KNOWN, sets, room=room)
    assert (list(found[0].items()), found[1]) == (list(names.items()), unusable)
