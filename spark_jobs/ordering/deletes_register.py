"""Remembers deleted keys in the commits' metadata, so that an older event can't bring a deleted row back.

Hudi compares an event's ordering value with the stored row's. After a hard delete there is no row to compare with, and
a late or repeated event (Debezium repeats some after a crash) would insert the row again.
"""

import base64
import json
import zlib
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.decoding.topic_place import TopicPlace

_COLUMNS = ("deleted_at", "delete_offset", "delete_sent_ms")


class Delete(NamedTuple):
    """A delete: its ordering value, as text, and its place in the topic, None if unknown."""

    at: str
    place: TopicPlace | None = None


def encode(register: Mapping[str, Delete]) -> str:
    """Return a register (key -> its delete) as compressed ASCII text; `decode` reverses it."""
    entries = {key: [at, *place] if place else at for key, (at, place) in register.items()}
    text = json.dumps(entries, separators=(",", ":"), ensure_ascii=False)
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode("ascii")


def decode(text: str | None) -> dict[str, Delete]:
    """Return the register of an encoded text; empty for None. Earlier jobs stored no places."""
    if not text:
        return {}
    entries: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(text)))
    return {
        key: Delete(entry) if isinstance(entry, str) else Delete(entry[0], TopicPlace(*entry[1:]))
        for key, entry in entries.items()
    }


def merge(
    register: Mapping[str, Delete], deletes: Mapping[str, Delete], *, limit: int
) -> tuple[dict[str, Delete], int]:
    """Add new deletes, the higher ordering value winning, and keep the `limit` highest.

    Returns the register and how many keys had to be dropped. Numbers are compared as numbers, other values as text.
    """
    merged = dict(register)
    for key, delete in deletes.items():
        if key not in merged or rank(delete.at) > rank(merged[key].at):
            merged[key] = delete
    if len(merged) <= limit:
        return merged, 0
    newest = sorted(merged.items(), key=lambda item: rank(item[1].at), reverse=True)[:limit]
    return dict(newest), len(merged) - limit


def rank(ordering: str) -> tuple[Decimal, str]:
    """Return an ordering value's sort key: its number, or, behind all numbers, its text."""
    try:
        number = Decimal(ordering)
    except InvalidOperation:
        return (Decimal("-Infinity"), ordering)
    return (number, "") if number.is_finite() else (Decimal("-Infinity"), ordering)


def collected(deletes: DataFrame) -> dict[str, Delete]:
    """Return the register of a commit's deletes, from the result of changes.deletes."""
    return {
        key: Delete(at, None if offset is None or sent_ms is None else TopicPlace(offset, sent_ms))
        for key, at, offset, sent_ms in deletes.collect()
    }


def as_frame(spark: SparkSession, register: Mapping[str, Delete]) -> DataFrame:
    """Return a register as a frame, parsed by the JVM from one JSON text.

    It has the key, `deleted_at` and the delete's place in the topic, `delete_offset` and `delete_sent_ms`.
    """
    entries = {key: dict(zip(_COLUMNS, (at, *(place or ())), strict=False)) for key, (at, place) in register.items()}
    kind = "map<string,struct<deleted_at:string,delete_offset:bigint,delete_sent_ms:bigint>>"
    parsed = F.from_json(F.lit(json.dumps(entries, ensure_ascii=False)), kind)
    return spark.range(1).select(F.explode(parsed).alias("event key", "delete")).select("event key", "delete.*")
