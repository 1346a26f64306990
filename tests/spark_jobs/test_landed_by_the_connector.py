"""The real sink reads each event and writes it anew: nothing may depend on what that leaves open."""

import json
import random
from collections.abc import Callable, Sequence

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from contract.sizes import LARGEST_EVENT_BYTES
from spark_jobs.decode import LINE_COLUMNS, Decoder
from spark_jobs.schema import Column
from tests.spark_jobs.conftest import captured, event

pytestmark = pytest.mark.integration
Decode = Callable[[Sequence[str]], list[Row]]


@pytest.fixture(scope="module")
def decode(spark: SparkSession, columns: tuple[Column, ...]) -> Decode:
    decoder = Decoder(columns, required=("order_id", "__lsn"))

    def decode_all(lines: Sequence[str]) -> list[Row]:
        frame = spark.createDataFrame([(text, number) for number, text in enumerate(lines)], "line string, number long")
        fixed = {"origin": F.lit("file"), "block": F.lit(0), "tie": F.lit(0)}
        rows = (
            decoder(
                frame.select("line", "number", *(value.alias(name) for name, value in fixed.items())).select(
                    *LINE_COLUMNS
                )
            )
            .orderBy("number")
            .collect()
        )
        assert [row["reason"] for row in rows] == [None] * len(rows)
        return rows

    return decode_all


def test_the_order_of_fields_means_nothing(decode: Decode) -> None:
    lines = [line for case in ("snapshot", "insert", "update", "delete") for line in captured(case)]
    chosen = random.Random(1)
    shuffled = []
    for line in lines:
        fields = list(json.loads(line).items())
        chosen.shuffle(fields)
        shuffled.append(json.dumps(dict(fields)))
    assert shuffled != lines
    assert [row["row"] for row in decode(shuffled)] == [row["row"] for row in decode(lines)]


def test_of_equal_names_the_last_one_counts_as_in_the_sink(decode: Decode) -> None:
    [text] = [json.dumps(event(10248, 7))]
    doubled = '{"order_id": 1, "__lsn": 2, "customer": "{}", "shipped_date": 20000, ' + text.removeprefix("{")
    assert decode([doubled])[0]["row"] == decode([text])[0]["row"]


def test_an_event_of_the_largest_size_is_read(decode: Decode) -> None:
    items = json.dumps([{"note": "x" * (LARGEST_EVENT_BYTES - 4096)}])
    [row] = decode([json.dumps(event(10248, 7) | {"order_items": items})])
    assert row["row"]["order_items"] == items
