"""Checks all of an event's columns, with one expression for many columns that are alike.

One expression per column takes long to plan, and PostgreSQL allows 1,600.
"""

import json
import uuid
from collections.abc import Callable, Hashable, Iterable, Sequence

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F

from spark_jobs.decoding.schema import Column

# Spark needs a field name of its own for these, and any name may be a JSON key: so it is random, chosen at each start.
CORRUPT = uuid.uuid4().hex
_FEW = 16


def sent(columns: Sequence[Column]) -> Expression:
    """Return an array of the wire values of columns with the same wire type."""
    return F.expr(f"array({', '.join(map(sent_path, columns))})")


def sent_path(column: Column) -> str:
    return f"_wire.{quoted(column.source)}"


def stored_path(column: Column) -> str:
    return f"row.{quoted(column.name)}"


def are_few(columns: Sequence[Column]) -> bool:
    """Whether an expression for each of them is fast to plan: Spark compiles those, and never an array's lambda."""
    return len(columns) <= _FEW


def quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def texts(of: Iterable[str]) -> Expression:
    return F.from_json(F.lit(json.dumps(list(of))), "array<string>")


def grouped(columns: Iterable[Column], by: Callable[[Column], Hashable]) -> list[tuple[Column, ...]]:
    groups: dict[Hashable, list[Column]] = {}
    for column in columns:
        groups.setdefault(by(column), []).append(column)
    return [tuple(alike) for alike in groups.values()]


def no_names() -> Expression:
    return F.array().cast("array<string>")


def where(columns: Sequence[Column], labels: Sequence[str], holds: Callable[[Expression], Expression]) -> Expression:
    """Return the labels of columns, all of them alike, whose value on the wire meets a condition."""
    known = texts(labels)
    return F.array_compact(F.transform(sent(columns), lambda value, place: F.when(holds(value), known[place])))


def in_order(found: Sequence[Expression], labels: Sequence[str]) -> Expression:
    """Sort the findings in the order of `labels`."""
    if len(found) < 2:
        return found[0] if found else no_names()
    return F.array_intersect(texts(labels), F.concat(*found))


def listed(prefix: str, found: Expression) -> Expression:
    """Return `prefix` and the names found, null without any. A repeated `found` would be analysed twice per batch."""
    names = F.filter(F.array(F.concat_ws(", ", found)), lambda text: text != "")[0]
    return F.concat(F.lit(prefix), names)
