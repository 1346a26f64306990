"""Turns lines of text into typed rows, or into a reason why a line doesn't fit: no I/O, no Python functions.

`from_json` alone would lose data silently: it returns null for a value of the wrong type, and ignores anything after a
line's first JSON value. So the decoder writes the values as JSON again, which must be the line, byte for byte: then
nothing was lost, changed or cut. Other lines are odd, and each of their nulls is compared with the line; few are, once
the order of the events' fields is known.
"""

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from contract import events
from spark_jobs.decoding import misfits, values, wire
from spark_jobs.decoding.schema import Column, Encoding
from spark_jobs.errors import first_line
from spark_jobs.ordering.changes import is_snapshot_row
from spark_jobs.ordering.memory import is_mark
from spark_jobs.runtime.query_plans import ReusedPlan
from spark_jobs.runtime.retry import may_be_a_value

# A source's columns: the text, its origin, and what orders two events of equal ordering value.
LINE_COLUMNS = ("line", "origin", "block", "number", "tie")
_PLACE = ("origin", "block", "number")
_UNCHECKED = (Encoding.PLAIN, Encoding.ANYTHING)
_AS_SENT = (*_UNCHECKED, Encoding.JSON)
_STRICT = {"columnNameOfCorruptRecord": wire.CORRUPT, "allowSingleQuotes": "false", "allowNonNumericNumbers": "true"}
_TRANSACTION = Column(events.TRANSACTION, T.LongType(), T.LongType())
# The rest of a surrogate pair's escapes, once whole pairs and escaped backslashes are removed.
_WHOLE_PAIRS = r"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_SURROGATE = r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}"


@dataclass(frozen=True, eq=False)
class Decoder:
    """Decodes lines by a table's columns; the expressions are built once, as building takes longer than a batch.

    `required`: fields without which an event doesn't fit; `not_of_snapshots`: the one that a snapshot's rows may lack.
    In a composite `key` at least one field needs a value: Hudi refuses such a key otherwise (docs/decisions/0070).
    `refusal`: the reason for events with fields that the columns lack; None while columns may be added. Events with one
    of the fields `unusable`, which can't be columns, get that reason. `unplaceable`: from the delete flag, returns the
    reason why a `row` fits no partition, null when it does. `operations`: those that an event may have; `has_marks`:
    some belong to no row (memory.py), and need only their position.

    Events of any connector may carry their transaction's number, which isn't stored. `order`: the fields of ordinary
    events in their order, by default the columns'.
    """

    columns: Sequence[Column]
    required: Sequence[str]
    key: Sequence[str] = ()
    not_of_snapshots: str | None = None
    unplaceable: Callable[[Expression], Expression] | None = None
    refusal: str | None = None
    unusable: Collection[str] = ()
    operations: Sequence[str] = events.OPERATIONS
    has_marks: bool = False
    order: Sequence[str] = ()

    def __call__(self, lines: DataFrame) -> DataFrame:
        """Decode `lines` (LINE_COLUMNS).

        Returns origin, block, number, tie; `blank` for a line without an event; `reason` (null when the line fits);
        `unknown`, the names of fields with values that the columns lack, for lines that fit; `placeholders`, the names
        of columns that came as a TOAST placeholder; `deleted`; `row`, the stored columns; `transaction`, null where it
        wasn't sent; and `line`, kept only where it may go to quarantine or has unknown fields.
        """
        return self._any_lines(lines)

    @cached_property
    def stored(self) -> list[Column]:
        """The columns that events have fields for."""
        return [column for column in self.columns if column.encoding is not Encoding.SPECIALS]

    @cached_property
    def _sent(self) -> list[Column]:
        is_declared = any(column.source == events.TRANSACTION for column in self.stored)
        return self.stored if is_declared else [*self.stored, _TRANSACTION]

    @cached_property
    def ordinary(self) -> ReusedPlan:
        """Decodes lines in a fraction of a call's time, but with a `reason` and the `line` for each odd one.

        An ordinary one has the fields of `order`, and fits.
        """
        order = self.order or [column.source for column in self.stored]
        usual = sorted((c for c in self._sent if c.source in order), key=lambda column: order.index(column.source))
        kinds = _kinds(usual)
        row, converted = _row(self.columns, kinds, usual)
        documents = [column for column in usual if column.encoding is Encoding.JSON]
        has_placeholder = values.has_one_placeholder(usual)
        is_odd = (F.to_json("_wire", {"ignoreNullFields": "false"}) != F.col("line")) | misfits.has_bad_value(kinds)
        is_odd |= ~values.are_documents(F.col("_documents"), documents) if documents else F.lit(False)
        reason = F.coalesce(F.when(F.coalesce(is_odd, F.lit(True)), F.lit("odd")), *self._misfits_of_rows())
        return _planned(
            [*map(F.col, LINE_COLUMNS), _parsed(usual).alias("_wire")],
            # The documents in a step of their own: Spark interprets what an expression on JSON is made of.
            [F.col("*"), *converted, values.together(documents).alias("_documents")],
            [*map(F.col, LINE_COLUMNS), F.col("_wire"), row.alias("row"), F.col("_documents")],
            [
                *map(F.col, (*_PLACE, "tie")),
                F.lit(False).alias("blank"),
                reason.alias("reason"),
                F.when(has_placeholder, _placeholders(usual)).otherwise(wire.no_names()).alias("placeholders"),
                _is_delete(self._known).alias("deleted"),
                F.col("row"),
                _transaction(usual).alias("transaction"),
                wire.no_names().alias("unknown"),
                F.when(reason.isNotNull() | has_placeholder, F.col("line")).alias("line"),
            ],
        )

    @cached_property
    def _any_lines(self) -> ReusedPlan:
        sent, unknown = self._sent, F.col("_new")
        kinds, corrupt = _kinds(sent), T.StructField(wire.CORRUPT, T.StringType())
        bad_values = misfits.bad_values(kinds, takes_specials=len(self.stored) < len(self.columns))
        reasons = [
            *(_broken(), _naming("twice", F.col("_names.twice")), misfits.wrong_types(sent), bad_values),
            *(misfits.changed_numbers(sent, unknown), *self._misfits_of_rows()),
        ]
        if self.unusable:
            found = F.array_intersect(unknown, F.array(*map(F.lit, sorted(self.unusable))))
            reasons.append(_naming("no column can be called", found, then=" "))
        if self.refusal:
            reasons.append(_naming(self.refusal, unknown))
        fits, is_new = F.col("reason").isNull(), F.size("_new") > 0
        row, converted = _row(self.columns, kinds, sent)
        return _planned(
            [*map(F.col, LINE_COLUMNS), _parsed(sent, corrupt).alias("_wire"), *_inspected(sent)],
            [F.col("*"), *converted],
            [F.col("*"), _unknown().alias("_new"), row.alias("row")],
            [
                *map(F.col, LINE_COLUMNS),
                (F.trim("line") == "").alias("blank"),
                F.when(F.trim("line") != "", F.coalesce(*reasons)).alias("reason"),
                unknown,
                _placeholders(sent).alias("placeholders"),
                _is_delete(self._known).alias("deleted"),
                F.col("row"),
                _transaction(sent).alias("transaction"),
            ],
            [
                *map(F.col, (*_PLACE, "tie", "blank", "reason", "placeholders", "deleted", "row", "transaction")),
                F.when(fits & is_new, unknown).otherwise(wire.no_names()).alias("unknown"),
                F.when(~fits | (F.size("placeholders") > 0) | is_new, F.col("line")).alias("line"),
            ],
        )

    @property
    def _known(self) -> list[str]:
        return [column.name for column in self.columns]

    def _misfits_of_rows(self) -> list[Expression]:
        is_row = ~is_mark() if self.has_marks else F.lit(True)
        reasons = [_missing(self.required, self.key, self.not_of_snapshots, is_row)]
        if len(self.key) > 1:
            another = F.lit("key: its text in Hudi may be another's, too")
            reasons.append(F.when(is_row & _is_ambiguous(self.key), another))
        if events.OPERATION in self._known:
            operation = F.col(f"row.{events.OPERATION}")
            wrong = F.concat(F.lit(f"operation: {events.OPERATION} is "), operation)
            reasons.append(F.when(~operation.isin(*self.operations), wrong))
        if self.unplaceable:
            reasons.append(F.when(is_row, self.unplaceable(_is_delete(self._known))))
        return reasons


def _planned(*steps: Sequence[Expression]) -> ReusedPlan:
    return ReusedPlan(lambda lines: reduce(lambda frame, step: frame.select(*step), steps, lines))


def _kinds(sent: Sequence[Column]) -> list[tuple[Column, ...]]:
    """Group the columns that are converted by kind; `values.stored` treats a kind's columns alike."""
    converted = (column for column in sent if column.encoding not in _UNCHECKED)
    return wire.grouped(converted, lambda column: replace(column, name="", given_source=None))


def _parsed(sent: Sequence[Column], *more: T.StructField) -> Expression:
    fields = [T.StructField(column.source, column.wire) for column in sent]
    return F.from_json("line", T.StructType([*fields, *more]), _STRICT)


def _transaction(sent: Sequence[Column]) -> Expression:
    return next((F.expr(wire.sent_path(c)) for c in sent if c.source == events.TRANSACTION), F.lit(None)).cast("long")


def _inspected(sent: Sequence[Column]) -> list[Expression]:
    names = F.transform(F.array(F.json_object_keys("line")), lambda found: _odd_names(found, sent))[0]
    return [
        values.is_one_json_value(F.col("line")).alias("_whole"),
        names.alias("_names"),
        F.from_json("line", "map<string,string>", _STRICT).alias("_text"),
        misfits.own_text(F.col("line")).alias("_own"),
    ]


def _odd_names(found: Expression, sent: Sequence[Column]) -> Expression:
    distinct = F.array_distinct(found)
    twice = F.filter(distinct, lambda name: F.size(F.filter(found, lambda key: key == name)) > 1)
    others = F.array_except(found, wire.texts(column.source for column in sent))
    return F.struct(others.alias("others"), F.when(F.size(distinct) < F.size(found), twice).alias("twice"))


def _unknown() -> Expression:
    others = F.coalesce("_names.others", wire.no_names())
    return F.array_sort(F.filter(others, lambda name: F.col("_text")[name].isNotNull()))


def _row(
    columns: Sequence[Column], kinds: Sequence[Sequence[Column]], sent: Sequence[Column]
) -> tuple[Expression, list[Expression]]:
    """Return the row, and the converted values that it is made of: an array for each kind with many columns."""
    found = {column.name: f"CAST(NULL AS {column.stored.simpleString()})" for column in columns}
    found |= {column.name: wire.sent_path(column) for column in columns if column in sent}
    converted = [values.specials(sent)]
    found |= {column.name: "_specials" for column in columns if column.encoding is Encoding.SPECIALS}
    names = ["_specials"]
    for number, kind in enumerate(kinds):
        name = f"_stored_{number}"
        if kind[0].encoding in _AS_SENT:
            continue
        if wire.are_few(kind):
            found |= {column.name: f"{name}_{place}" for place, column in enumerate(kind)}
            converted += [values.stored(F.expr(wire.sent_path(column)), column) for column in kind]
            names += [f"{name}_{place}" for place in range(len(kind))]
        else:
            found |= {column.name: f"{name}[{place}]" for place, column in enumerate(kind)}
            converted.append(_all_stored(kind))
            names.append(name)
    row = F.expr(f"struct({', '.join(f'{sql} AS {wire.quoted(name)}' for name, sql in found.items())})")
    return row, [value.alias(name) for value, name in zip(converted, names, strict=True)]


def _all_stored(kind: Sequence[Column]) -> Expression:
    return F.transform(wire.sent(kind), lambda value: values.stored(value, kind[0]))


def _placeholders(columns: Sequence[Column]) -> Expression:
    found = [
        wire.where(alike, [column.name for column in alike], partial(values.is_placeholder, column=alike[0]))
        for alike in wire.grouped(columns, lambda column: (column.encoding, column.wire))
        if values.has_placeholder(alike[0])
    ]
    return wire.in_order(found, [column.name for column in columns])


def _broken() -> Expression:
    is_object = F.ltrim("line").startswith("{")
    line = F.col("line")
    is_utf8 = line.cast("binary") == F.encode(line, "UTF-8")  # an invalid text changes on its way through Java
    escaped = line.contains("\\ud") | line.contains("\\uD")
    lone = escaped & F.regexp_replace(line, _WHOLE_PAIRS, "").rlike(_SURROGATE)
    return (
        F.when(~is_utf8, F.lit("not UTF-8 text"))
        .when(~F.col("_whole"), F.lit("not one JSON value"))
        .when(~is_object, F.lit("not a JSON object"))
        .when(lone, F.lit("value: half a surrogate pair, which no text can hold"))
    )


def _naming(problem: str, names: Expression, *, then: str = ": ") -> Expression:
    """Return the problem of some field names, one of which may be empty; null without any."""
    return F.when(F.size(names) > 0, F.concat(F.lit(f"name: {problem}{then}"), F.concat_ws(", ", names)))


def _missing(
    required: Sequence[str], key: Sequence[str], not_of_snapshots: str | None, is_row: Expression
) -> Expression:
    empty = {name: F.coalesce(F.col(f"row.{name}").cast("string"), F.lit("")) == "" for name in required}
    if len(key) > 1:
        all_empty = reduce(operator.and_, (empty[name] for name in key))
        empty |= {name: F.col(f"row.{name}").isNull() | all_empty for name in key}
    if not_of_snapshots in empty:
        empty[not_of_snapshots] &= ~is_snapshot_row()
    empty = {name: condition if name == events.LSN else condition & is_row for name, condition in empty.items()}
    if not empty:
        return F.lit(None).cast("string")
    names = F.array_compact(F.array(*(F.when(is_so, F.lit(name)) for name, is_so in empty.items())))
    return F.when(reduce(operator.or_, empty.values()), wire.listed("missing: ", names))


def _is_ambiguous(key: Sequence[str]) -> Expression:
    """Tell whether Hudi's text of a composite key, `a:1,b:2` without escapes, may be another key's, too.

    An empty text is `__empty__` there (KeyGenUtils of Hudi 0.15).
    """
    parts = [F.coalesce(F.col(f"row.{name}").cast("string"), F.lit("")) for name in key]
    found = [part.contains(f",{name}:") for part, name in zip(parts, key[1:], strict=False)]
    return reduce(operator.or_, [*found, *(part == "__empty__" for part in parts)])


def _is_delete(known: Sequence[str]) -> Expression:
    flags = [F.col(f"row.{events.DELETED}") == events.IS_DELETED] if events.DELETED in known else []
    flags += [F.col(f"row.{events.OPERATION}") == events.DELETE] if events.OPERATION in known else []
    return reduce(operator.or_, (F.coalesce(flag, F.lit(False)) for flag in flags), F.lit(False))


# How many lines may show the order of the fields.
_LOOKED_AT = 200


def longest_names(lines: DataFrame) -> tuple[str, ...]:
    """Return the fields of the line with the most of them, in their order, among a batch's first lines."""
    found = lines.limit(_LOOKED_AT).select(F.json_object_keys("line").alias("names")).filter("names IS NOT NULL")
    return max((tuple(row["names"]) for row in found.collect()), key=len, default=())


# The decoder knows most values that don't fit. What follows sets aside lines whose decoding fails all the same, and the
# rest of the batch goes through. More failures in one batch point to a fault, not to odd values.
MOST_FAILING = 20
Reasons = Mapping[tuple[str, int, int], str]


def failing_lines(lines: DataFrame, decoder: Decoder) -> Reasons:
    """Return why lines fail, by their place; empty when single lines aren't the cause, or too many fail.

    Decodes a failing part again in two halves: some two decodings of a half, a quarter … for each failing line. `lines`
    must be cached, so that reading can't fail. Raises errors that no value causes.
    """
    parts, reasons = [(lines, 0)], dict[tuple[str, int, int], str]()
    while parts:
        part, depth = parts.pop()
        if _failure(part, decoder) is None:
            continue
        places = part.select(*_PLACE).limit(2).collect()
        if len(places) > 1:
            half = F.shiftright(F.xxhash64(*_PLACE), depth).bitwiseAND(1)
            parts += [(part.filter(half == number), depth + 1) for number in (0, 1)]
        elif len(reasons) == MOST_FAILING or _failure(part.withColumn("line", F.lit("{}")), decoder):
            return {}
        else:
            reasons[tuple(places[0])] = _why_failing(part, decoder)
    return reasons


def decode_lines(lines: DataFrame, decoder: Decoder, failing: Reasons) -> DataFrame:
    """Decode lines; pass failing ones to the decoder as empty events, and return them with reason and text."""
    why = F.coalesce(
        *(
            F.when((F.col("origin") == origin) & (F.col("block") == block) & (F.col("number") == number), F.lit(reason))
            for (origin, block, number), reason in failing.items()
        )
    )
    texts = lines.select(*_PLACE, why.alias("_why"), F.col("line").alias("_text")).filter("_why IS NOT NULL")
    events = decoder(lines.withColumn("line", F.when(why.isNull(), F.col("line")).otherwise("{}")))
    joined = events.join(F.broadcast(texts), [*_PLACE], "left")
    said = {"reason": F.coalesce("_why", "reason"), "line": F.coalesce("_text", "line")}
    return joined.withColumns(said).select(*events.columns)


def _failure(lines: DataFrame, decoder: Decoder) -> str | None:
    try:
        decoder(lines).write.format("noop").mode("overwrite").save()
    except Exception as error:
        if not may_be_a_value(error):
            raise
        return first_line(error)
    return None


def _why_failing(line: DataFrame, decoder: Decoder) -> str:
    names = decoder.stored
    while len(names) > 1:
        half = names[: len(names) // 2]
        names = half if _failure(line, Decoder(half, required=())) else names[len(half) :]
    at = f"{names[0].source} " if _failure(line, Decoder(names, required=())) else ""
    return f"value: {at}(the job fails at it: {_failure(line, decoder)})"
