"""Turns lines of text into typed rows, or into a reason why a line doesn't fit: no I/O, no Python functions.

`from_json` alone would lose data silently: it gives null for a value of the wrong type, and ignores whatever follows
the first JSON value of a line. Every null that it gives is therefore compared with what the line says.
"""

import json
import operator
import re
from collections.abc import Callable, Collection, Sequence
from functools import partial, reduce

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from contract import events
from spark_jobs import values
from spark_jobs.planned_once import PlannedOnce
from spark_jobs.schema import Column, Encoding
from spark_jobs.snapshot_rows import is_snapshot_row
from spark_jobs.truncates import is_mark

# What a source delivers: the text, where it is from, and what orders two events of equal ordering value.
LINE_COLUMNS = ("line", "origin", "block", "number", "tie")
# No field that becomes a column can be called so.
CORRUPT = "corrupt line"
_AS_SENT = (Encoding.PLAIN, Encoding.ANYTHING)
_STRICT = {"columnNameOfCorruptRecord": CORRUPT, "allowSingleQuotes": "false", "allowNonNumericNumbers": "true"}
_LITERAL = r"^(-?\d+(\.\d+)?([eE][-+]?\d+)?|true|false|[{\[].*)$"
# What is left of a surrogate pair's escapes when whole pairs, and escaped backslashes, are taken out.
_WHOLE_PAIRS = r"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_SURROGATE = r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
# A number that Spark would change as it copies a value into a text: from_json reads fractions as doubles.
_INEXACT_IN_TEXT = r"(?=[\d.]{17})\d+\.\d+|\d[eE][-+]?\d{3}"
# What a number looks like that is none any more as a double, or as a float.
_TINY = r"[eE]-\d{2}|0{30}"
_TWO_TO_53 = float(2**53)


class Decoder:
    """Decodes lines by a table's columns; the expressions are built once, as building takes longer than a batch.

    `required`: fields without which an event doesn't fit; `not_of_snapshots`: the one that a snapshot's rows may lack.
    `refusal` is the reason given to events with fields that the columns lack; None while columns may be added. Those
    with one of the fields `unusable`, which can't be columns, are given that reason.
    `unplaceable` makes, of what tells deletes, the reason why a `row` fits no partition, null when it does.
    `operations` are those that an event may have; `has_marks` says that some are no row's (truncates.py): such a one
    needs its position alone.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        required: Sequence[str],
        not_of_snapshots: str | None = None,
        unplaceable: Callable[[Expression], Expression] | None = None,
        refusal: str | None = None,
        unusable: Collection[str] = (),
        operations: Sequence[str] = events.OPERATIONS,
        has_marks: bool = False,
    ) -> None:
        known = [column.name for column in columns]
        sent = [column for column in columns if column.encoding is not Encoding.SPECIALS]
        parsed = T.StructType([*(T.StructField(column.source, column.wire) for column in sent), _corrupt_field()])
        # The second parse is for the few lines that need it: those with unknown fields, and those that don't fit.
        needs_text = (F.size("_others") > 0) | F.col(f"_wire.`{CORRUPT}`").isNotNull() | _is_large(sent)
        given = F.filter(F.coalesce("_others", _no_names()), lambda name: F.col("_text")[name].isNotNull())
        unknown = F.col("_given")
        kinds = values.by_kind(column for column in sent if column.encoding not in _AS_SENT)
        bad_values = _bad_values(kinds, takes_specials=len(sent) < len(columns))
        reasons = [_broken(), _wrong_types(sent), bad_values, _changed_numbers(sent, unknown)]
        is_row = ~is_mark() if has_marks else F.lit(True)
        reasons += [_missing(required, not_of_snapshots, is_row), _bad_operation(known, operations)]
        if unplaceable:
            reasons.append(F.when(is_row, unplaceable(_is_delete(known))))
        reasons += [_unusable_names(unknown, unusable), _refused_names(unknown, refusal)]
        fits = F.col("reason").isNull()
        self._parsed = [
            *map(F.col, LINE_COLUMNS),
            values.is_one_json_value(F.col("line")).alias("_whole"),
            F.from_json("line", parsed, _STRICT).alias("_wire"),
            F.array_except(F.json_object_keys("line"), values.texts(column.source for column in sent)).alias("_others"),
        ]
        self._with_text = [
            F.col("*"),
            F.when(needs_text, F.from_json("line", "map<string,string>", _STRICT)).alias("_text"),
        ]
        self._converted = [
            F.col("*"),
            given.alias("_given"),
            values.specials(columns).alias("_specials"),
            *(_stored(kind).alias(f"_stored_{number}") for number, kind in enumerate(kinds)),
        ]
        self._with_row = [F.col("*"), _row(columns, kinds).alias("row")]
        self._judged = [
            *map(F.col, LINE_COLUMNS),
            (F.trim("line") == "").alias("blank"),
            F.when(F.trim("line") != "", F.coalesce(*reasons)).alias("reason"),
            F.array_sort(unknown).alias("_new"),
            _placeholders(sent).alias("placeholders"),
            _is_delete(known).alias("deleted"),
            F.col("row"),
        ]
        kept = F.when(~fits | (F.size("placeholders") > 0) | (F.size("_new") > 0), F.col("line")).alias("line")
        unknown_of_fitting = F.when(fits & (F.size("_new") > 0), F.col("_new")).otherwise(_no_names()).alias("unknown")
        others = ("origin", "block", "number", "tie", "blank", "reason", "placeholders", "deleted", "row")
        self._output = [*map(F.col, others), unknown_of_fitting, kept]
        self._planned = PlannedOnce(self._decoded)

    def __call__(self, lines: DataFrame) -> DataFrame:
        """Decode `lines` (LINE_COLUMNS).

        Returns origin, block, number, tie; `blank` for a line that is no event; `reason` (null when the line fits);
        `unknown`, the names of fields with values that the columns lack, of lines that fit; `placeholders`, the names
        of columns that came as a TOAST placeholder; `deleted`; `row`, the stored columns; and `line`, kept only where
        it may go to quarantine or has unknown fields.
        """
        return self._planned(lines)

    def _decoded(self, lines: DataFrame) -> DataFrame:
        converted = lines.select(self._parsed).select(self._with_text).select(self._converted)
        return converted.select(self._with_row).select(self._judged).select(self._output)


def _corrupt_field() -> T.StructField:
    return T.StructField(CORRUPT, T.StringType())


def _no_names() -> Expression:
    return F.array().cast("array<string>")


def _stored(kind: Sequence[Column]) -> Expression:
    """Return an array of the stored values of columns of one kind."""
    return F.transform(values.sent(kind), lambda value: values.stored(value, kind[0]))


def _row(columns: Sequence[Column], kinds: Sequence[Sequence[Column]]) -> Expression:
    """Return the struct of the stored columns."""
    found = {c.name: "_specials" if c.encoding is Encoding.SPECIALS else values.sent_path(c) for c in columns}
    for number, kind in enumerate(kinds):
        found |= {column.name: f"_stored_{number}[{place}]" for place, column in enumerate(kind)}
    return F.expr(f"struct({', '.join(f'{sql} AS {values.quoted(name)}' for name, sql in found.items())})")


def _is_text(column: Column) -> bool:
    return isinstance(column.wire, T.StringType)


def _key(column: Column) -> str:
    """Return the pattern of a column's name as a JSON key."""
    return re.escape(json.dumps(column.source, ensure_ascii=False))


def _placeholders(columns: Sequence[Column]) -> Expression:
    """Return an array of the names of columns that came as a TOAST placeholder."""
    found = []
    for alike in values.grouped(columns, lambda column: (column.encoding, column.wire)):
        holds = partial(values.is_placeholder, column=alike[0])
        if values.has_placeholder(alike[0]):
            found.append(_where(alike, [column.name for column in alike], holds))
    return _in_order(found, [column.name for column in columns])


def _where(columns: Sequence[Column], labels: Sequence[str], holds: Callable[[Expression], Expression]) -> Expression:
    """Return the labels of those columns, all of them alike, for whose value on the wire a condition holds."""
    known = values.texts(labels)
    return F.array_compact(F.transform(values.sent(columns), lambda value, place: F.when(holds(value), known[place])))


def _in_order(found: Sequence[Expression], labels: Sequence[str]) -> Expression:
    """Return what was found of `labels`, in their order."""
    if len(found) < 2:
        return found[0] if found else _no_names()
    return F.array_intersect(values.texts(labels), F.concat(*found))


def _listed(prefix: str, found: Expression) -> Expression:
    """Return `prefix` and the names in an array; null when it has none.

    The array stands in it once: what is written twice is analysed twice, in each batch.
    """
    listed = F.filter(F.array(F.concat_ws(", ", found)), lambda text: text != "")[0]
    return F.concat(F.lit(prefix), listed)


def _broken() -> Expression:
    is_object = F.ltrim("line").startswith("{")
    line = F.col("line")
    is_utf8 = line.cast("binary") == F.encode(line, "UTF-8")  # a text that isn't changes on its way through Java
    escaped = line.contains("\\ud") | line.contains("\\uD")
    lone = escaped & F.regexp_replace(line, _WHOLE_PAIRS, "").rlike(_SURROGATE)
    return (
        F.when(~is_utf8, F.lit("not UTF-8 text"))
        .when(~F.col("_whole"), F.lit("not one JSON value"))
        .when(~is_object, F.lit("not a JSON object"))
        .when(lone, F.lit("value: half a surrogate pair, which no text can hold"))
    )


def _wrong_types(columns: Sequence[Column]) -> Expression:
    """Name the fields whose value has another JSON type than their column, or doesn't fit into it."""
    typed = [column for column in columns if not _is_text(column)]
    said = {column.source: f"{column.source} (not {column.wire.simpleString()})" for column in typed}
    given = F.map_keys(F.map_filter("_text", lambda _, text: text.isNotNull()))
    # Only for lines that have a `_text`; to ask each column would take longer to plan.
    taken = F.coalesce(F.json_object_keys(F.to_json("_wire", {"ignoreNullFields": "true"})), _no_names())
    wrong = F.array_except(F.array_intersect(values.texts(said), given), taken)
    saying = F.from_json(F.lit(json.dumps(said)), "map<string,string>")
    corrupt = F.when(F.col(f"_wire.`{CORRUPT}`").isNotNull(), F.lit("type: a value doesn't fit its field"))
    return F.coalesce(_listed("type: ", F.transform(wrong, lambda name: saying[name])), corrupt, _not_text(columns))


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
    looks_so = F.exists(values.sent(texts), lambda text: text.rlike(_LITERAL))
    pattern = rf'"({"|".join(_key(column)[1:-1] for column in texts)})"\s*:\s*[^"n\s]'
    found = F.when(F.coalesce(looks_so, F.lit(False)), F.regexp_extract("line", pattern, 1))
    return F.when(found != "", F.concat(F.lit("type: "), found, F.lit(" (not string)")))


def _fractional(columns: Sequence[Column]) -> list[tuple[Column, ...]]:
    fractional = [column for column in columns if isinstance(column.wire, T.DoubleType | T.FloatType)]
    return values.grouped(fractional, lambda column: column.wire)


def _is_large(columns: Sequence[Column]) -> Expression:
    """Tell lines with a double beyond which not every whole number is one."""
    large = [
        F.exists(values.sent(alike), lambda number: F.coalesce(F.abs(number) >= _TWO_TO_53, F.lit(False)))
        for alike in _fractional(columns)
    ]
    return reduce(operator.or_, large, F.lit(False))


def _changed_numbers(columns: Sequence[Column], unknown: Expression) -> Expression:
    """Name the fields whose number would become another one: too large or too small for a double, or too long."""
    fractional = _fractional(columns)
    said = {c.name: f"{c.name} (no {c.wire.simpleString()} is that number)" for alike in fractional for c in alike}
    changed = [_where_changed(alike, [said[column.name] for column in alike]) for alike in fractional]
    infinite = F.exists(unknown, lambda name: F.col("_text")[name].rlike('^"?-?Infinity"?$'))
    beyond = F.when(
        infinite & F.col("line").rlike(r"\d[eE]\+?\d{3}"), F.lit("value: a new field's number is too large")
    )
    in_order = [said[column.name] for column in columns if column.name in said]
    # One look at the line, as few have such a number, decides whether to look closer.
    copied = F.when(F.col("line").rlike(_INEXACT_IN_TEXT), _changed_in_text(columns))
    return F.coalesce(_listed("value: ", _in_order(changed, in_order)), copied, beyond)


def _changed_in_text(columns: Sequence[Column]) -> Expression:
    """Name the columns of text, or of decimals, that a number, object or array came for: it is as Spark writes it."""
    open_to_all = (Encoding.JSON, Encoding.ANYTHING, Encoding.DECIMAL)
    copied = [column for column in columns if column.encoding in open_to_all]
    if not copied:
        return F.lit(None).cast("string")
    keys = values.texts(map(_key, copied))
    said = values.texts(f"{column.name} (a number in it would change)" for column in copied)

    def changed(value: Expression, place: Expression) -> Expression:
        bare = F.rlike(F.col("line"), F.concat(keys[place], F.lit(r"\s*:\s*[-\d\[{]")))
        return F.when(value.rlike(_LITERAL) & bare, said[place])

    return _listed("value: ", F.array_compact(F.transform(values.sent(copied), changed)))


def _where_changed(columns: Sequence[Column], labels: Sequence[str]) -> Expression:
    keys, names, said = values.texts(map(_key, columns)), values.texts(c.source for c in columns), values.texts(labels)
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

    return F.array_compact(F.transform(values.sent(columns), changed))


def _bad_values(kinds: Sequence[Sequence[Column]], *, takes_specials: bool) -> Expression:
    """Name the fields whose value can't become their column's; `kinds` as the row's values are converted."""
    found, labels = list[Expression](), dict[str, str]()
    for number, kind in enumerate(kinds):
        if kind[0].encoding is Encoding.ANYTHING:
            continue
        said = [f"{column.source} (not {column.encoding.value})" for column in kind]
        labels |= {column.name: label for column, label in zip(kind, said, strict=True)}
        found.append(_unconverted(kind, f"_stored_{number}", said, takes_specials=takes_specials))
    return _listed("value: ", _in_order(found, list(labels.values())))


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

    pairs = F.arrays_zip(
        values.sent(kind).alias("sent"), F.col(stored).alias("stored"), values.texts(labels).alias("l")
    )
    return F.filter(pairs, lost)["l"]


def _missing(required: Sequence[str], not_of_snapshots: str | None, is_row: Expression) -> Expression:
    empty = {name: F.col(f"row.{name}").isNull() | (F.col(f"row.{name}").cast("string") == "") for name in required}
    if not_of_snapshots in empty:
        empty[not_of_snapshots] &= ~is_snapshot_row()
    empty = {name: condition if name == events.LSN else condition & is_row for name, condition in empty.items()}
    return _listed(
        "missing: ", F.array_compact(F.array(*(F.when(is_so, F.lit(name)) for name, is_so in empty.items())))
    )


def _bad_operation(known: Sequence[str], operations: Sequence[str]) -> Expression:
    if events.OPERATION not in known:
        return F.lit(None).cast("string")
    operation = F.col(f"row.{events.OPERATION}")
    wrong = F.concat(F.lit(f"operation: {events.OPERATION} is "), operation)
    return F.when(~operation.isin(*operations), wrong)


def _unusable_names(unknown: Expression, unusable: Collection[str]) -> Expression:
    """Name the new fields that can't be columns."""
    if not unusable:
        return F.lit(None).cast("string")
    found = F.array_intersect(unknown, F.array(*map(F.lit, sorted(unusable))))
    return F.when(F.size(found) > 0, F.concat(F.lit("name: no column can be called "), F.concat_ws(", ", found)))


def _refused_names(unknown: Expression, refusal: str | None) -> Expression:
    if refusal is None:
        return F.lit(None).cast("string")
    return F.when(F.size(unknown) > 0, F.concat(F.lit(f"name: {refusal}: "), F.concat_ws(", ", unknown)))


def _is_delete(known: Sequence[str]) -> Expression:
    flags = [F.col(f"row.{events.DELETED}") == events.IS_DELETED] if events.DELETED in known else []
    flags += [F.col(f"row.{events.OPERATION}") == events.DELETE] if events.OPERATION in known else []
    return reduce(operator.or_, (F.coalesce(flag, F.lit(False)) for flag in flags), F.lit(False))
