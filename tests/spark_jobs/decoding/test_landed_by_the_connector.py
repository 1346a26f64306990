"""The real sink reads and rewrites each event: the job must not depend on details that may change."""

import json
from typing import Any

import pytest
from pyspark.sql import SparkSession

from contract.sizes import LARGEST_EVENT_BYTES
from local.sink.values import content
from tests.cases import chance
from tests.spark_jobs.decoding.conftest import Decode
from tests.spark_jobs.events import captured, event

pytestmark = pytest.mark.integration


def test_the_order_of_fields_means_nothing(decode: Decode) -> None:
    lines = [line for case in ("snapshot", "insert", "update", "delete") for line in captured(case)]
    chosen = chance()
    shuffled = []
    for line in lines:
        fields = list(json.loads(line).items())
        chosen.shuffle(fields)
        shuffled.append(json.dumps(dict(fields)))
    assert shuffled != lines
    found = decode(*shuffled, *lines)
    assert {row["reason"] for row in found} == {None}
    assert [row["row"] for row in found[: len(lines)]] == [row["row"] for row in found[len(lines) :]]


def test_an_event_of_the_largest_size_is_read(decode: Decode) -> None:
    items = json.dumps([{"note": "x" * (LARGEST_EVENT_BYTES - 4096)}])
    [row] = decode(event(10248, 7) | {"order_items": items})
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
