"""Compares a query's result with a derived table's rows: a full outer join by key, reduced to the rows that differ."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from contract.events import READ_MS
from spark_jobs.decoding.schema import IS_DELETED, WIDENED
from spark_jobs.errors import JobError
from spark_jobs.ordering.changes import KEY, comparison_form, filled, key_of
from spark_jobs.table.kept_table import META_PREFIX

# No column of a query can have these names: each contains a blank.
_NOW, _THERE, _ROWS, _LACKS = "row now", "row there", "rows of key", "lacks key"
_NAME = re.compile(r"[a-z_][a-z0-9_]*")
# Types that Avro, and so Hudi, lacks, with their replacements.
_WRITTEN_AS: Mapping[type[T.DataType], T.DataType] = {T.ByteType: T.IntegerType(), T.ShortType: T.IntegerType()}


@dataclass(frozen=True)
class Difference:
    """The rows that differ, cached until `release`, and their number. A row that is missing now is null there."""

    rows: DataFrame
    count: int

    def to_write(self, read_ms: int) -> DataFrame:
        """Return the table's rows to upsert, those to delete with Hudi's flag."""
        values = self.rows.select(F.coalesce(_NOW, _THERE).alias("row"), F.isnull(_NOW).alias(IS_DELETED))
        return values.select("row.*", F.lit(read_ms).cast("long").alias(READ_MS), IS_DELETED)

    def to_append(self, key_fields: Sequence[str], ended: str) -> DataFrame:
        """Return new and changed rows, and only the key of missing rows, which `ended` marks."""
        names = self.rows.select(f"`{_NOW}`.*").columns
        sides = {name: (_NOW, _THERE) if name in key_fields else (_NOW,) for name in names}
        values = [F.coalesce(*(F.col(side)[name] for side in sides[name])).alias(name) for name in names]
        return self.rows.select(*values, F.isnull(_NOW).alias(ended))

    def release(self) -> None:
        self.rows.unpersist()


def writable(
    result: DataFrame,
    key_fields: Sequence[str],
    stored: T.StructType | None,
    *,
    reserved: Collection[str] = (READ_MS,),
) -> DataFrame:
    """Return a query's rows as the table's columns; columns that the query no longer has are null.

    `reserved`: columns that the job adds. Raises JobError for a result whose names or types can't be the table's.
    """
    _check_names(result.columns, key_fields, reserved)
    given = {field.name: _WRITTEN_AS.get(type(field.dataType), field.dataType) for field in result.schema.fields}
    for name, kind in given.items():
        if reason := _unwritable(kind):
            raise JobError(f"the query's column {name} {reason}")
    fields = stored.fields if stored else []
    there = {
        field.name: field.dataType
        for field in fields
        if field.name not in reserved and not field.name.startswith(META_PREFIX)
    }
    for name, kind in there.items():
        if name in given and not _fits(kind, given[name]):
            raise JobError(
                f"{name} comes as {given[name].simpleString()}, and the table has it as {kind.simpleString()}, which "
                "Hudi can't change in place: cast it to that, or give it another name"
            )
    kinds = {**there, **{name: _wider(there.get(name), kind) for name, kind in given.items()}}
    return result.select(
        *((F.col(name) if name in given else F.lit(None)).cast(kind).alias(name) for name, kind in kinds.items())
    )


def compare(
    rows: DataFrame, stored: DataFrame | None, key_fields: Sequence[str], *, ignored: Collection[str] = ()
) -> Difference:
    """Compare `rows` (`writable`) with the table's, None before its first commit; columns `ignored` make no difference.

    Raises JobError for null or repeated keys, and then caches nothing.
    """
    lacks = reduce(lambda one, other: one | other, (F.col(name).isNull() for name in key_fields))
    keyed = rows.select(key_of(key_fields).alias(KEY), F.struct(*rows.columns).alias(_NOW), lacks.alias(_LACKS))
    now = keyed.groupBy(KEY).agg(F.count("*").alias(_ROWS), F.first(_NOW).alias(_NOW), F.max(_LACKS).alias(_LACKS))
    compared = [field for field in rows.schema.fields if field.name not in ignored]
    differing = _flagged(now, _there(rows, rows.limit(0) if stored is None else stored, key_fields), compared).persist()
    try:
        count = differing.count()
        _refuse_keys(differing, key_fields)
    except Exception:
        differing.unpersist()
        raise
    return Difference(differing, count)


def _there(rows: DataFrame, stored: DataFrame, key_fields: Sequence[str]) -> DataFrame:
    values = filled({name: F.col(name) for name in stored.columns}, rows.schema.fields)
    return stored.select(key_of(key_fields).alias(KEY), F.struct(*values).alias(_THERE))


def _flagged(now: DataFrame, there: DataFrame, compared: Sequence[T.StructField]) -> DataFrame:
    """Return rows that differ between the sides, or lack a unique key."""
    joined = now.join(there, KEY, "full_outer")
    differs = ~state(_THERE, compared).eqNullSafe(state(_NOW, compared))
    return joined.filter(F.isnull(_NOW) | F.isnull(_THERE) | differs | (F.col(_ROWS) > 1))


def state(row: str, compared: Sequence[T.StructField]) -> Expression:
    """Return the compared fields of a row as one value: Spark walks a condition over 1,600 columns by recursion."""
    return F.struct(*(comparison_form(F.col(row)[field.name], field.dataType).alias(field.name) for field in compared))


def _refuse_keys(differing: DataFrame, key_fields: Sequence[str]) -> None:
    wrong = differing.filter((F.col(_ROWS) > 1) | F.col(_LACKS)).orderBy(F.desc(_LACKS), KEY).first()
    if wrong is None:
        return
    named = ", ".join(key_fields)
    if wrong[_LACKS]:
        raise JobError(f"the query gives {wrong[_ROWS]} rows without a value of the key {named}: nothing was committed")
    raise JobError(
        f"the query gives {wrong[_ROWS]} rows of one key, so {named} doesn't tell its rows apart: nothing was committed"
    )


def _check_names(names: Sequence[str], key_fields: Sequence[str], reserved: Collection[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise JobError(f"the query gives the column {name} twice: name each once")
        if name in reserved or name.startswith(META_PREFIX) or not _NAME.fullmatch(name):
            raise JobError(
                f"the query's column {name!r} can't be a column of the table: name it otherwise, in lower-case "
                "letters, digits and underscores"
            )
    if lacking := [name for name in key_fields if name not in names]:
        raise JobError(f"the query has no column {', '.join(lacking)}, which the key names")


def _unwritable(kind: T.DataType) -> str | None:
    if isinstance(kind, T.NullType):
        return "has no type: cast it"
    if isinstance(kind, T.MapType | T.DayTimeIntervalType | T.ByteType | T.ShortType):
        return f"is {kind.simpleString()}, which can't be compared or written: cast it"
    inner = [kind.elementType] if isinstance(kind, T.ArrayType) else []
    inner += [field.dataType for field in kind.fields] if isinstance(kind, T.StructType) else []
    return next((reason for each in inner if (reason := _unwritable(each))), None)


def _fits(stored: T.DataType, given: T.DataType) -> bool:
    pair = (stored.simpleString(), given.simpleString())
    return pair[0] == pair[1] or pair in WIDENED or pair[::-1] in WIDENED


def _wider(stored: T.DataType | None, given: T.DataType) -> T.DataType:
    if stored is not None and (given.simpleString(), stored.simpleString()) in WIDENED:
        return stored
    return given
