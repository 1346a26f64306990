"""Finds values that don't fit their columns, and why: they would be lost, changed or cut.

`from_json` returns null for a value of the wrong type, and so does a failing conversion: each null is compared with the
line. Texts are null where all values fit.
"""

import json
import operator
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F
from pyspark.sql import types as T

from contract import events
from spark_jobs.decoding import values, wire
from spark_jobs.decoding.schema import Column, Encoding

# Spark needs a field name of its own here, and any name may be a JSON key: so it is random, chosen at each start.
CORRUPT = uuid.uuid4().hex
_OPEN_TO_ALL = (Encoding.JSON, Encoding.ANYTHING, Encoding.DECIMAL)
_LITERAL = r"^(-?\d+(\.\d+)?([eE][-+]?\d+)?|true|false|[{\[].*)$"
# A number that Spark may change when it copies a value into a text: from_json reads fractions as doubles.
_INEXACT_IN_TEXT = r"(?=[\d.]{17})\d+\.\d+|\d{16}[eE]|\d[eE][-+]?\d{3}"
# Whether a line may have one. It starts with a single character, to keep the number of full checks low.
_MAYBE_INEXACT = r"\d(?:[\d.]{15}[\d.eE]|[eE][-+]?\d{3})"
# A number that is no longer finite as a double, or as a float.
_TINY = r"[eE]-\d{2}|0{30}"
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

    It costs more than parsing the line, so only the few `suspect` lines should need it.
    """
    marked = F.regexp_replace(line, _BEFORE_TEXT, r'$1"\\u0000$2')
    return F.from_json(F.regexp_replace(marked, _BEFORE_NUMBER, '$1"$2"'), "map<string,string>")


def suspect(columns: Sequence[Column]) -> Expression:
    """Mark lines that may have a value which its column can't store, by scanning the whole line."""
    line, fractional = F.col("line"), _fractional(columns)
    infinite = F.exists(F.map_values("_text"), lambda text: text.rlike('^"?-?Infinity"?$'))
    texts = [column for column in columns if _is_strict_text(column)]
    copied = [column for column in columns if column.encoding in _OPEN_TO_ALL]
    found = [infinite, *(_some(alike, lambda number: F.abs(number) == float("inf")) for alike in fractional)]
    found += [_some(alike, lambda number: number == 0) & line.rlike(_TINY) for alike in fractional]
    if copied:
        is_bare = _some(copied, lambda text: text.rlike(r'^[-\d\[{"]')) & _names_one(copied, r"[-\d\[{]")
        found.append(line.rlike(_MAYBE_INEXACT) & is_bare)
    if texts:
        found.append(_some(texts, lambda text: text.rlike(_LITERAL)) & _names_one(texts, r'[^"n\s]'))
    return reduce(operator.or_, (F.coalesce(one, F.lit(False)) for one in found))


def wrong_types(columns: Sequence[Column]) -> Expression:
    """Name the fields whose value has another JSON type than their column, or doesn't fit into it."""
    typed = [column for column in columns if not _is_text(column)]
    said = {column.source: f"{column.source} (not {column.wire.simpleString()})" for column in typed}
    given = F.map_keys(F.map_filter("_text", lambda _, text: text.isNotNull()))
    # Only for lines that have a `_text`; checking each column would take longer to plan.
    taken = F.coalesce(F.json_object_keys(F.to_json("_wire", {"ignoreNullFields": "true"})), wire.no_names())
    wrong = F.array_except(F.array_intersect(wire.texts(said), given), taken)
    saying = F.from_json(F.lit(json.dumps(said)), "map<string,string>")
    corrupt = F.when(F.col(f"_wire.`{CORRUPT}`").isNotNull(), F.lit("type: a value doesn't fit its field"))
    return F.coalesce(wire.listed("type: ", F.transform(wrong, lambda name: saying[name])), corrupt, _not_text(columns))


def _not_text(columns: Sequence[Column]) -> Expression:
    # `from_json` reads numbers, booleans and objects as text. JSON columns may come as objects, decimals as numbers,
    # and events.DELETED as a boolean.
    said = {column.source: f"{_as_key(column)} (not string)" for column in columns if _is_strict_text(column)}
    return wire.listed("type: ", _where_own(said, lambda text: ~text.startswith("\0")))


def _fractional(columns: Sequence[Column]) -> list[tuple[Column, ...]]:
    fractional = [column for column in columns if isinstance(column.wire, T.DoubleType | T.FloatType)]
    return wire.grouped(fractional, lambda column: column.wire)


def is_large(columns: Sequence[Column]) -> Expression:
    """Mark lines with a double so large that not every whole number is one."""
    large = [
        F.exists(wire.sent(alike), lambda number: F.coalesce(F.abs(number) >= _TWO_TO_53, F.lit(False)))
        for alike in _fractional(columns)
    ]
    return reduce(operator.or_, large, F.lit(False))


def changed_numbers(columns: Sequence[Column], unknown: Expression) -> Expression:
    """Name the fields whose number would change: too large, too small or too long for a double."""
    fractional = _fractional(columns)
    said = {c.name: f"{c.name} (no {c.wire.simpleString()} is that number)" for alike in fractional for c in alike}
    changed = [_where_changed(alike, [said[column.name] for column in alike]) for alike in fractional]
    labels = [said[column.name] for column in columns if column.name in said]
    copied = {c.source: f"{c.name} (a number in it would change)" for c in columns if c.encoding in _OPEN_TO_ALL}
    infinite = F.exists(unknown, lambda name: F.abs(_number(F.col("_own")[name]).cast("double")) == float("inf"))
    found = F.coalesce(
        wire.listed("value: ", wire.in_order(changed, labels)),
        wire.listed("value: ", _where_own(copied, _has_inexact)),
        F.when(infinite, F.lit("value: a new field's number is too large")),
    )
    return F.when(F.col("_text").isNotNull() | F.col("_own").isNotNull(), found)


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
        # PostgreSQL's own infinity is quoted.
        number = _number(F.col("_own")[names[place]])
        text = F.col("_text")[names[place]]
        whole = text.rlike(r"^-?\d{1,38}$") & (text.cast("decimal(38,0)") != value.cast("decimal(38,0)"))
        return F.when(
            ((F.abs(value) == float("inf")) & number.isNotNull())
            | ((value == 0) & number.rlike("^[^eE]*[1-9]"))
            | F.coalesce((F.abs(value) >= _TWO_TO_53) & whole, F.lit(False)),
            said[place],
        )

    return F.array_compact(F.transform(wire.sent(columns), changed))


def bad_values(kinds: Sequence[Sequence[Column]], *, takes_specials: bool) -> Expression:
    """Name the fields whose value can't be converted to their column; `kinds` as in the row's conversion."""
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


def _is_strict_text(column: Column) -> bool:
    return _is_text(column) and column.encoding not in _OPEN_TO_ALL and column.name != events.DELETED


def _some(columns: Sequence[Column], holds: Callable[[Expression], Expression]) -> Expression:
    return F.exists(wire.sent(columns), lambda value: F.coalesce(holds(value), F.lit(False)))


def _names_one(columns: Sequence[Column], value: str) -> Expression:
    line, names = F.col("line"), "|".join(re.escape(_as_key(column)) for column in columns)
    is_escaped = line.contains("\\u") & line.rlike(r'\\u[^"\\]*"\s*:')
    return line.rlike(rf'"(?:{names})"\s*:\s*{value}') | is_escaped


def _as_key(column: Column) -> str:
    return json.dumps(column.source, ensure_ascii=False)[1:-1]
