"""Remembers deleted keys in the commits' metadata, so that an older event can't bring a deleted row back.

Hudi compares an event's ordering value with the stored row's. After a hard delete there is no row to compare with, and
an event that arrives again (Debezium repeats some after a crash) or late would insert the row anew.
"""

import base64
import json
import zlib
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def encode(register: Mapping[str, str]) -> str:
    """Return a register (key -> ordering value of its delete) as compressed ASCII text; `decode` reverses it."""
    text = json.dumps(dict(register), separators=(",", ":"), ensure_ascii=False)
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode("ascii")


def decode(text: str | None) -> dict[str, str]:
    """Return the register of an encoded text; empty for None."""
    if not text:
        return {}
    register: dict[str, str] = json.loads(zlib.decompress(base64.b64decode(text)))
    return register


def merge(register: Mapping[str, str], deletes: Mapping[str, str], *, limit: int) -> tuple[dict[str, str], int]:
    """Add new deletes, the higher ordering value winning, and keep the `limit` highest.

    Returns the register and how many keys had to be dropped. Numbers are compared as numbers, other values as text.
    """
    merged = dict(register)
    for key, deleted_at in deletes.items():
        if key not in merged or rank(deleted_at) > rank(merged[key]):
            merged[key] = deleted_at
    if len(merged) <= limit:
        return merged, 0
    newest = sorted(merged.items(), key=lambda item: rank(item[1]), reverse=True)[:limit]
    return dict(newest), len(merged) - limit


def rank(ordering: str) -> tuple[Decimal, str]:
    """Return what an ordering value sorts by: its number, or, behind every number, its text."""
    try:
        number = Decimal(ordering)
    except InvalidOperation:
        return (Decimal("-Infinity"), ordering)
    return (number, "") if number.is_finite() else (Decimal("-Infinity"), ordering)


def as_frame(spark: SparkSession, register: Mapping[str, str]) -> DataFrame:
    """Return a register as a frame with the key and `deleted_at`, parsed by the JVM from one JSON text."""
    text = F.lit(json.dumps(dict(register), ensure_ascii=False))
    entries = F.from_json(text, "map<string,string>")
    return spark.range(1).select(F.explode(entries).alias("event key", "deleted_at"))
