"""Decodes events into rows, compiled and interpreted."""

from collections.abc import Callable, Sequence

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from spark_jobs.decoding.decode import Decoder
from spark_jobs.decoding.schema import Column
from spark_jobs.runtime.session import CodegenSwitch
from tests.spark_jobs.events import Event, as_lines, frame_of

REQUIRED = ("order_id", "__lsn")
Decode = Callable[..., list[Row]]


@pytest.fixture(scope="session")
def decode(spark: SparkSession, columns: tuple[Column, ...]) -> Decode:
    shared = Decoder(columns, required=REQUIRED)

    def decode_all(*events: Event | str, by: Sequence[Column] | None = None) -> list[Row]:
        lines = frame_of(spark, as_lines(events).split("\n")[:-1])
        use = shared if by is None else Decoder(by, required=("order_id",))
        with CodegenSwitch(spark).unless(small=True):
            interpreted = _in_order(use(lines))
        compiled = _in_order(use(lines))
        assert repr(interpreted) == repr(compiled)
        for ordinary, row in zip(_in_order(use.ordinary(lines)), compiled, strict=True):
            assert ordinary["reason"] or repr(ordinary) == repr(row)
        return compiled

    return decode_all


def _in_order(decoded: DataFrame) -> list[Row]:
    return sorted(decoded.collect(), key=lambda row: row["number"])
