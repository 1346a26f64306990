"""The real sink reads each event and writes it anew: nothing may depend on what that leaves open."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from contract.sizes import LARGEST_EVENT_BYTES
from local.sink.values import content
from spark_jobs.decoding.decode import LINE_COLUMNS, Decoder
from spark_jobs.decoding.schema import Column
from tests.cases import chance
from tests.spark_jobs.conftest import captured, event

pytestmark = pytest.mark.integration
Decode = Callable[[Sequence[str]], list[Row]]


@pytest.fixture(scope="module")
def decode(spark: SparkSession, columns: tuple[Column, ...]) -> Decode:
    decoder = Decoder(columns, required=("order_id", "__lsn"))

    def decode_all(lines: Sequence[str]) -> list[Row]:
        frame = spark.createDataFrame([(text, number) for number, text in enumerate(lines)], "line string, number long")
        fixed = {"origin": F.lit("file"), "block": F.lit(0), "tie": F.lit(0)}
        return (
            decoder(
                frame.select("line", "number", *(value.alias(name) for name, value in fixed.items())).select(
                    *LINE_COLUMNS
                )
            )
            .orderBy("number")
            .collect()
        )

    return decode_all


def test_the_order_of_fields_means_nothing(decode: Decode) -> None:
    lines = [line for case in ("snapshot", "insert", "update", "delete") for line in captured(case)]
    chosen = chance()
    shuffled = []
    for line in lines:
        fields = list(json.loads(line).items())
        chosen.shuffle(fields)
        shuffled.append(json.dumps(dict(fields)))
    assert shuffled != lines
    found = decode(shuffled)
    assert {row["reason"] for row in found} == {None}
    assert [row["row"] for row in found] == [row["row"] for row in decode(lines)]


def test_a_line_with_names_twice_which_the_connector_never_lands_is_set_aside(decode: Decode) -> None:
    doubled = '{"order_id": 1, "__lsn": 2, ' + json.dumps(event(10248, 7)).removeprefix("{")
    assert decode([doubled])[0]["reason"] == "name: twice: order_id, __lsn"


def test_an_event_of_the_largest_size_is_read(decode: Decode) -> None:
    items = json.dumps([{"note": "x" * (LARGEST_EVENT_BYTES - 4096)}])
    [row] = decode([json.dumps(event(10248, 7) | {"order_items": items})])
    assert (row["reason"], row["row"]["order_items"]) == (None, items)


def test_the_stand_in_passes_each_double_as_java_writes_it(spark: SparkSession) -> None:
    java: Any = spark._jvm
    chosen = java.java.util.Random(1)
    drawn = [chosen.longs(25_000, 10**16, 9 * 10**18).asDoubleStream()]
    drawn += [chosen.doubles(25_000, 0.0, upper) for upper in (1e-300, 1e23, 1e308)]
    for doubles in drawn:
        text = java.java.util.Arrays.toString(doubles.toArray())
        assert content(text.encode()) == [float(number) for number in text.strip("[]").split(", ")]
    assert content(b"[9.999999999999999E22, 4.9E-324, 4.3779339001381090E17]") == [1e23, 5e-324, 437793390013810900.0]
