"""Finds values that don't fit their columns, and why: they would be lost, changed or cut.

`from_json` returns null for a value of the wrong type, and so does a failing conversion: each null is compared with the
line, if that is odd (decode.py). Texts are null where all values fit.
"""

import json
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F
from pyspark.sql import types as T

from contract import events
from spark_jobs.decoding import values, wire
from spark_jobs.decoding.schema import Column, Encoding

_OPEN_TO_ALL = (Encoding.JSON, Encoding.ANYTHING, Encoding.DECIMAL)
# A number that Spark may change when it copies a value into a text: from_json reads fractions as doubles.
_INEXACT_IN_TEXT = r"(?=[\d.]{17})\d+\.\d+|\d{16}[eE]|\d[eE][-+]?\d{3}"
_TWO_TO_53 = float(2**53)
# Possessive (`*+`): otherwise Java retries each part by recursion, which a long line is too deep for.
_QUOTED = r'"(?:[^"\\]++|\\.)*+"'
_BEFORE_TEXT = rf'\G((?:[^"]++|{_QUOTED}\s*+:)*+)"((?:[^"\\]++|\\.)*+")'
_NUMBER = r"-?\d[\d.eE+-]*+"
_BEFORE_NUMBER = rf'\G((?:[^"\d-]++|{_QUOTED})*+)({_NUMBER})'
# In the result of `own_text`: a number, as the value or within it; a quote in a text has a backslash before it.
_OWN_NUMBER = rf'(?:^|(?<!\\)")({_NUMBER})(?:"(?!:)|$)'


def own_text(line: Expression) -> Expression:
    """Return each field's own text, by its name: numbers as in the line, and a NUL before each text.

    It costs more than parsing the line.
    """
    marked = F.regexp_replace(line, _BEFORE_TEXT, r'$1"\\u0000$2')
    return F.from_json(F.regexp_replace(marked, _BEFORE_NUMBER, '$1"$2"'), "map<string,string>")


def wrong_types(columns: Sequence[Column]) -> Expression:
    """Name the fields whose value has another JSON type than their column, or doesn't fit into it."""
    typed = [column for column in columns if not _is_text(column)]
    said = {column.source: f"{column.source} (not {column.wire.simpleString()})" for column in typed}
    given = F.map_keys(F.map_filter("_text", lambda _, text: text.isNotNull()))
    # Checking each column would take longer to plan.
    taken = F.coalesce(F.json_object_keys(F.to_json("_wire", {"ignoreNullFields": "true"})), wire.no_names())
    wrong = F.array_except(F.array_intersect(wire.texts(said), given), taken)
    saying = F.from_json(F.lit(json.dumps(said)), "map<string,string>")
    corrupt = F.when(F.col(f"_wire.`{wire.CORRUPT}`").isNotNull(), F.lit("type: a value doesn't fit its field"))
    # `from_json` reads numbers, booleans and objects as text. JSON columns may come as objects, decimals as numbers,
    # and events.DELETED as a boolean.
    texts = {
        column.source: f"{json.dumps(column.source, ensure_ascii=False)[1:-1]} (not string)"
        for column in columns
        if _is_text(column) and column.encoding not in _OPEN_TO_ALL and column.name != events.DELETED
    }
    not_text = wire.listed("type: ", _where_own(texts, lambda text: ~text.startswith("\0")))
    return F.coalesce(wire.listed("type: ", F.transform(wrong, lambda name: saying[name])), corrupt, not_text)


def changed_numbers(columns: Sequence[Column], unknown: Expression) -> Expression:
    """Name the fields whose number would change: too large, too small or too long for a double or a float."""
    kinds = {c.name: c.wire.simpleString().removeprefix("array<").rstrip(">") for c in columns}
    said = {name: f"{name} (no {kind} is that number)" for name, kind in kinds.items() if kind in ("double", "float")}
    fractional = wire.grouped((column for column in columns if column.name in said), lambda column: column.wire)
    changed = [_where_changed(alike, [said[column.name] for column in alike]) for alike in fractional]
    labels = list(said.values())
    copied = {c.source: f"{c.name} (a number in it would change)" for c in columns if c.encoding in _OPEN_TO_ALL}
    infinite = F.exists(unknown, lambda name: F.abs(_number(F.col("_own")[name]).cast("double")) == float("inf"))
    return F.coalesce(
        wire.listed("value: ", wire.in_order(changed, labels)),
        wire.listed("value: ", _where_own(copied, _has_inexact)),
        F.when(infinite, F.lit("value: a new field's number is too large")),
    )


def _where_own(said: Mapping[str, str], holds: Callable[[Expression], Expression]) -> Expression:
    if not said:
        return wire.no_names()
    names = F.filter(wire.texts(said), lambda name: holds(F.col("_own")[name]))
    labels = F.from_json(F.lit(json.dumps(said)), "map<string,string>")
    return F.when(F.col("_own").isNotNull(), F.transform(names, lambda name: labels[name]))


def _number(own: Expression) -> Expression:
    return F.when(own.rlike(r"^-?\d"), own)


def _has_inexact(own: Expression) -> Expression:
    numbers = F.when(~own.startswith("\0"), F.regexp_extract_all(own, F.lit(_OWN_NUMBER), F.lit(1)))
    return F.exists(numbers, lambda number: number.rlike(_INEXACT_IN_TEXT))


def _where_changed(columns: Sequence[Column], labels: Sequence[str]) -> Expression:
    names, said = wire.texts(column.source for column in columns), wire.texts(labels)

    def changed(value: Expression, place: Expression) -> Expression:
        own = F.col("_own")[names[place]]
        if isinstance(columns[0].wire, T.ArrayType):
            each = F.zip_with(value, F.from_json(own, "array<string>"), _is_changed)
            return F.when(F.exists(each, lambda one: one), said[place])
        return F.when(_is_changed(value, own), said[place])

    return F.array_compact(F.transform(wire.sent(columns), changed))


def _is_changed(value: Expression, own: Expression) -> Expression:
    # PostgreSQL's own infinity is quoted.
    number = _number(own)
    whole = number.rlike(r"^-?\d{1,38}$") & (number.cast("decimal(38,0)") != value.cast("decimal(38,0)"))
    exponent = F.coalesce(F.regexp_extract(number, r"[eE]\+?(-?\d+)", 1).cast("int"), F.lit(0))
    last_digit = F.pow(F.lit(10.0), exponent - F.length(F.regexp_extract(number, r"\.(\d+)", 1)))
    # Programs spell a float by different digits, but its last one never differs by one.
    rounded = F.abs(number.cast("double") - value.cast("double"))
    return (
        ((F.abs(value) == float("inf")) & number.isNotNull())
        | ((value == 0) & number.rlike("^[^eE]*[1-9]"))
        | F.coalesce((F.abs(value) >= _TWO_TO_53) & whole, F.lit(False))
        | ((rounded > 0) & (rounded >= last_digit))
    )


def has_bad_value(kinds: Sequence[Sequence[Column]]) -> Expression:
    """Check whether a value, except JSON text, can't be converted to its column; not even what no decimal can be."""
    found = [F.lit(False)]
    for kind in kinds:
        if wire.are_few(kind):
            found += [F.expr(f"{wire.sent_path(c)} IS NOT NULL AND {wire.stored_path(c)} IS NULL") for c in kind]
        elif kind[0].encoding is not Encoding.JSON:
            found.append(F.size(_unconverted(kind, [c.name for c in kind], takes_specials=False)) > 0)
    return reduce(operator.or_, found)


def bad_values(kinds: Sequence[Sequence[Column]], *, takes_specials: bool) -> Expression:
    """Name the fields whose value can't be converted to their column; `kinds` as in the row's conversion."""
    found, labels = list[Expression](), list[str]()
    for kind in kinds:
        said = [f"{column.source} (not {column.encoding.value})" for column in kind]
        labels += said
        found.append(_unconverted(kind, said, takes_specials=takes_specials))
    return wire.listed("value: ", wire.in_order(found, labels))


def _unconverted(kind: Sequence[Column], labels: Sequence[str], *, takes_specials: bool) -> Expression:
    of = kind[0]

    def lost(one: Expression) -> Expression:
        value = one["sent"]
        fits = values.is_one_json_value(value) if of.encoding is Encoding.JSON else one["stored"].isNotNull()
        missing = value.isNotNull() & ~fits
        if values.has_placeholder(of):
            missing &= ~values.is_placeholder(value, of)
        if of.encoding is Encoding.DECIMAL and takes_specials:
            missing &= ~values.is_special(value)
        return missing

    stored = F.expr(f"array({', '.join(map(wire.stored_path, kind))})")
    pairs = F.arrays_zip(wire.sent(kind).alias("sent"), stored.alias("stored"), wire.texts(labels).alias("l"))
    return F.filter(pairs, lost)["l"]


def _is_text(column: Column) -> bool:
    return isinstance(column.wire, T.StringType)
