"""What is asked of all of an event's columns: by one expression for those that are alike.

One expression per column would take longer to plan than most batches take to decode, and PostgreSQL allows 1,600.
"""

import json
from collections.abc import Callable, Hashable, Iterable, Sequence

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F

from spark_jobs.decoding.schema import Column


def sent(columns: Sequence[Column]) -> Expression:
    """Return an array of what the event carries of columns that it carries alike."""
    return F.expr(f"array({', '.join(map(sent_path, columns))})")


def sent_path(column: Column) -> str:
    """Return SQL for what the event carries of a column."""
    return f"_wire.{quoted(column.source)}"


def quoted(name: str) -> str:
    """Return a name as SQL has it, whatever is in it."""
    return f"`{name.replace('`', '``')}`"


def texts(of: Iterable[str]) -> Expression:
    return F.from_json(F.lit(json.dumps(list(of))), "array<string>")


def grouped(columns: Iterable[Column], by: Callable[[Column], Hashable]) -> list[tuple[Column, ...]]:
    """Return the columns that are alike in something, group by group."""
    groups: dict[Hashable, list[Column]] = {}
    for column in columns:
        groups.setdefault(by(column), []).append(column)
    return [tuple(alike) for alike in groups.values()]


def no_names() -> Expression:
    return F.array().cast("array<string>")


def where(columns: Sequence[Column], labels: Sequence[str], holds: Callable[[Expression], Expression]) -> Expression:
    """Return the labels of those columns, all of them alike, for whose value on the wire a condition holds."""
    known = texts(labels)
    return F.array_compact(F.transform(sent(columns), lambda value, place: F.when(holds(value), known[place])))


def in_order(found: Sequence[Expression], labels: Sequence[str]) -> Expression:
    """Return what was found of `labels`, in their order."""
    if len(found) < 2:
        return found[0] if found else no_names()
    return F.array_intersect(texts(labels), F.concat(*found))


def listed(prefix: str, found: Expression) -> Expression:
    """Return `prefix` and the names in an array; null when it has none.

    The array stands in it once: what is written twice is analysed twice, in each batch.
    """
    names = F.filter(F.array(F.concat_ws(", ", found)), lambda text: text != "")[0]
    return F.concat(F.lit(prefix), names)
