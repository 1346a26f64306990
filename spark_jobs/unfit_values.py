"""Which values of an event don't fit their columns, and why: what would be lost, changed or cut on the way.

`from_json` gives null for a value of the wrong type, and what can't be converted is null, too: each null is compared
with what the line says. Texts are null where all values fit.
"""

import json
import operator
import re
from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F
from pyspark.sql import types as T

from contract import events
from spark_jobs import values, wire
from spark_jobs.schema import Column, Encoding

# No field that becomes a column can be called so.
CORRUPT = "corrupt line"
_LITERAL = r"^(-?\d+(\.\d+)?([eE][-+]?\d+)?|true|false|[{\[].*)$"
# A number that Spark would change as it copies a value into a text: from_json reads fractions as doubles.
_INEXACT_IN_TEXT = r"(?=[\d.]{17})\d+\.\d+|\d[eE][-+]?\d{3}"
# What a number looks like that is none any more as a double, or as a float.
_TINY = r"[eE]-\d{2}|0{30}"
_TWO_TO_53 = float(2**53)


def wrong_types(columns: Sequence[Column]) -> Expression:
    """Name the fields whose value has another JSON type than their column, or doesn't fit into it."""
    typed = [column for column in columns if not _is_text(column)]
    said = {column.source: f"{column.source} (not {column.wire.simpleString()})" for column in typed}
    given = F.map_keys(F.map_filter("_text", lambda _, text: text.isNotNull()))
    # Only for lines that have a `_text`; to ask each column would take longer to plan.
    taken = F.coalesce(F.json_object_keys(F.to_json("_wire", {"ignoreNullFields": "true"})), wire.no_names())
    wrong = F.array_except(F.array_intersect(wire.texts(said), given), taken)
    saying = F.from_json(F.lit(json.dumps(said)), "map<string,string>")
    corrupt = F.when(F.col(f"_wire.`{CORRUPT}`").isNotNull(), F.lit("type: a value doesn't fit its field"))
    return F.coalesce(wire.listed("type: ", F.transform(wrong, lambda name: saying[name])), corrupt, _not_text(columns))


def _not_text(columns: Sequence[Column]) -> Expression:
    """Name a text field that came as a number, as true or false, or as an object: `from_json` takes those as text.

    JSON columns may come as objects, decimals as numbers, and events.DELETED as true or false: their meaning is the
    same.
    """
    open_to_all = (Encoding.JSON, Encoding.ANYTHING, Encoding.DECIMAL)
    texts = [c for c in columns if _is_text(c) and c.encoding not in open_to_all and c.name != events.DELETED]
    if not texts:
        return F.lit(None).cast("string")
    # Looking through the whole line costs as much as parsing it, and few texts look like one of those values. A quote
    # inside of a text is escaped in JSON, so the pattern meets field names only.
    looks_so = F.exists(wire.sent(texts), lambda text: text.rlike(_LITERAL))
    pattern = rf'"({"|".join(_key(column)[1:-1] for column in texts)})"\s*:\s*[^"n\s]'
    found = F.when(F.coalesce(looks_so, F.lit(False)), F.regexp_extract("line", pattern, 1))
    return F.when(found != "", F.concat(F.lit("type: "), found, F.lit(" (not string)")))


def _fractional(columns: Sequence[Column]) -> list[tuple[Column, ...]]:
    fractional = [column for column in columns if isinstance(column.wire, T.DoubleType | T.FloatType)]
    return wire.grouped(fractional, lambda column: column.wire)


def is_large(columns: Sequence[Column]) -> Expression:
    """Tell lines with a double beyond which not every whole number is one."""
    large = [
        F.exists(wire.sent(alike), lambda number: F.coalesce(F.abs(number) >= _TWO_TO_53, F.lit(False)))
        for alike in _fractional(columns)
    ]
    return reduce(operator.or_, large, F.lit(False))


def changed_numbers(columns: Sequence[Column], unknown: Expression) -> Expression:
    """Name the fields whose number would become another one: too large or too small for a double, or too long."""
    fractional = _fractional(columns)
    said = {c.name: f"{c.name} (no {c.wire.simpleString()} is that number)" for alike in fractional for c in alike}
    changed = [_where_changed(alike, [said[column.name] for column in alike]) for alike in fractional]
    infinite = F.exists(unknown, lambda name: F.col("_text")[name].rlike('^"?-?Infinity"?$'))
    beyond = F.when(
        infinite & F.col("line").rlike(r"\d[eE]\+?\d{3}"), F.lit("value: a new field's number is too large")
    )
    labels = [said[column.name] for column in columns if column.name in said]
    # One look at the line, as few have such a number, decides whether to look closer.
    copied = F.when(F.col("line").rlike(_INEXACT_IN_TEXT), _changed_in_text(columns))
    return F.coalesce(wire.listed("value: ", wire.in_order(changed, labels)), copied, beyond)


def _changed_in_text(columns: Sequence[Column]) -> Expression:
    """Name the columns of text, or of decimals, that a number, object or array came for: it is as Spark writes it."""
    open_to_all = (Encoding.JSON, Encoding.ANYTHING, Encoding.DECIMAL)
    copied = [column for column in columns if column.encoding in open_to_all]
    if not copied:
        return F.lit(None).cast("string")
    keys = wire.texts(map(_key, copied))
    said = wire.texts(f"{column.name} (a number in it would change)" for column in copied)

    def changed(value: Expression, place: Expression) -> Expression:
        bare = F.rlike(F.col("line"), F.concat(keys[place], F.lit(r"\s*:\s*[-\d\[{]")))
        return F.when(value.rlike(_LITERAL) & bare, said[place])

    return wire.listed("value: ", F.array_compact(F.transform(wire.sent(copied), changed)))


def _where_changed(columns: Sequence[Column], labels: Sequence[str]) -> Expression:
    keys, names, said = wire.texts(map(_key, columns)), wire.texts(c.source for c in columns), wire.texts(labels)
    line = F.col("line")

    def changed(value: Expression, place: Expression) -> Expression:
        # PostgreSQL's own infinity comes in quotes.
        quoted = F.rlike(line, F.concat(keys[place], F.lit(r'\s*:\s*"')))
        vanished = F.rlike(line, F.concat(keys[place], F.lit(r"\s*:\s*-?[0.]*[1-9]")))
        text = F.col("_text")[names[place]]
        whole = text.rlike(r"^-?\d{1,38}$") & (text.cast("decimal(38,0)") != value.cast("decimal(38,0)"))
        return F.when(
            ((F.abs(value) == float("inf")) & ~quoted)
            | ((value == 0) & line.rlike(_TINY) & vanished)
            | F.coalesce((F.abs(value) >= _TWO_TO_53) & whole, F.lit(False)),
            said[place],
        )

    return F.array_compact(F.transform(wire.sent(columns), changed))


def bad_values(kinds: Sequence[Sequence[Column]], *, takes_specials: bool) -> Expression:
    """Name the fields whose value can't become their column's; `kinds` as the row's values are converted."""
    found, labels = list[Expression](), dict[str, str]()
    for number, kind in enumerate(kinds):
        if kind[0].encoding is Encoding.ANYTHING:
            continue
        said = [f"{column.source} (not {column.encoding.value})" for column in kind]
        labels |= {column.name: label for column, label in zip(kind, said, strict=True)}
        found.append(_unconverted(kind, f"_stored_{number}", said, takes_specials=takes_specials))
    return wire.listed("value: ", wire.in_order(found, list(labels.values())))


def _unconverted(kind: Sequence[Column], stored: str, labels: Sequence[str], *, takes_specials: bool) -> Expression:
    of = kind[0]

    def lost(one: Expression) -> Expression:
        value = one["sent"]
        missing = value.isNotNull() & one["stored"].isNull()
        if values.has_placeholder(of):
            missing &= ~values.is_placeholder(value, of)
        if of.encoding is Encoding.DECIMAL and takes_specials:
            missing &= ~values.is_special(value)
        return missing

    pairs = F.arrays_zip(wire.sent(kind).alias("sent"), F.col(stored).alias("stored"), wire.texts(labels).alias("l"))
    return F.filter(pairs, lost)["l"]


def _is_text(column: Column) -> bool:
    return isinstance(column.wire, T.StringType)


def _key(column: Column) -> str:
    """Return the pattern of a column's name as a JSON key."""
    return re.escape(json.dumps(column.source, ensure_ascii=False))
