"""Rows of a look, as lines of JSON or typed, and the existing keys, for one commit to the lake."""

import itertools
import json
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import ClassVar

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from contract.column_types import canonical
from contract.column_types.catalogue import Carried, quoted, without_domains
from contract.column_types.types import avro_field
from contract.events import DATABASE, DELETED, OPERATION, PLACEHOLDER, READ_MS, SCHEMA, SPECIALS_COLUMN, TABLE, UPDATE
from spark_jobs.decoding import schema, wire
from spark_jobs.decoding.schema import Column
from spark_jobs.options.jdbc_settings import DRIVER
from spark_jobs.sources.batches import SMALL_BYTES, SMALL_EVENTS, Batch
from spark_jobs.sources.postgres.access import LOCK_TIMEOUT, Database, Look
from spark_jobs.sources.postgres.detection import Progress
from spark_jobs.sources.postgres.event_sql import SourceColumn, literal
from spark_jobs.sources.postgres.relation import ALL, Relation

# A value with an era, more than four digits in its year, or infinity is odd.
_FIRST_DAY, _BEYOND = "0001-01-01", "10000-01-01"


@dataclass(frozen=True)
class ColumnTransfer:
    """How values travel: SQL for the database, Spark's conversion (None: a cast), and SQL that marks odd values."""

    sql: str = "{c}"
    conversion: str | None = None
    odd: str | None = None

    def read(self, number: int, stored: T.DataType) -> Expression:
        value = F.col(f"v{number}")
        return F.call_function(self.conversion, value) if self.conversion else value.cast(stored)


_WITHIN = f"{{c}} >= '{_FIRST_DAY}' AND {{c}} < '{_BEYOND}'"
_TEXT = ColumnTransfer("{c}::text", odd=f"{{c}}::text = {literal(PLACEHOLDER)}")
# An infinite one has no number.
_INSTANT = ColumnTransfer(
    f"CASE WHEN {_WITHIN} THEN {canonical.MICROS}::bigint END", "timestamp_micros", f"NOT ({_WITHIN})"
)
_WAYS: Mapping[str, ColumnTransfer] = {
    **dict.fromkeys(("int2", "int4", "int8", "float4", "float8", "bool"), ColumnTransfer()),
    **dict.fromkeys(("text", "varchar", "json", "jsonb"), _TEXT),
    # A cast to text would remove its padding.
    "bpchar": ColumnTransfer("CASE WHEN {c} IS NOT NULL THEN concat({c}) END", odd=_TEXT.odd),
    "uuid": ColumnTransfer("{c}::text"),
    "numeric": ColumnTransfer("{c}::text", odd="{c} = 'NaN'"),
    "date": ColumnTransfer(
        f"CASE WHEN {_WITHIN} THEN {{c}} - DATE '1970-01-01' END", "date_from_unix_date", f"NOT ({_WITHIN})"
    ),
    "timestamp": _INSTANT,
    "timestamptz": _INSTANT,
    "bytea": ColumnTransfer(odd=f"{{c}} = convert_to({literal(PLACEHOLDER)}, 'UTF8')"),
}
# Where the text by which values are compared is the lake's value, its cast, or its bytes in hexadecimal digits.
_OF_SPELLINGS = {
    canonical.TEXT.lake: "{text}",
    canonical.INTEGER.lake: "{text}",
    canonical.BYTES.lake: "decode({text}, 'hex')",
}
# The decoder refuses an array of several dimensions, or of nothing but NULLs.
_ODD_ARRAY = "array_ndims({c}) > 1 OR cardinality({c}) > 0 AND cardinality({c}) = num_nulls(VARIADIC {c})"
# Key types without odd values that a row in the lake could have.
_PLAIN_KEYS = ("int2", "int4", "int8", "bool", "text", "varchar", "bpchar", "uuid")


def typed_rows(
    columns: Sequence[Column], sent: Sequence[SourceColumn], key: Sequence[str], metadata: Mapping[str, str | int]
) -> tuple[str, Expression, str] | None:
    """Return how rows of `sent` columns become rows of the lake's `columns`; None where all have to be lines.

    They are SQL of v0, v1 and so on, the row of those, and the condition of rare values that need a closer look: such a
    row has to be a line. The values are the same either way. `key`: the source's names of its key; `metadata`: the
    fields that each event also has.
    """
    lake = {column.source: column for column in columns}
    found = _transferred(sent, lake)
    if found is None or not all(_takes(lake.get(name), value) for name, value in metadata.items()):
        return None
    select, values, odd = found
    for name in (f"t.{quoted(name)}" for name in key):
        odd += [f"{name} IS NULL", f"concat({name}) = ''"]
    if len(key) > 1:  # the decoder has to look at these
        odd += [f"concat(t.{quoted(name)}) = '__empty__'" for name in key]
        odd += [
            f"position({literal(f',{lake[after].name}:')} in concat(t.{quoted(name)})) > 0"
            for name, after in itertools.pairwise(key)
        ]
    values |= {name: F.lit(value) for name, value in metadata.items()}
    row = F.struct(*(values.get(c.source, F.lit(None)).cast(c.stored).alias(c.name) for c in columns))
    return ", ".join(select), row, f"coalesce({' OR '.join(odd)}, false)" if odd else "false"


def typed_keys(columns: Mapping[str, Column], key: Sequence[SourceColumn]) -> tuple[str, list[Expression]] | None:
    """Return a key's SQL, and its conversion to the lake's `columns` (by source name); None if it has to be lines."""
    found = _transferred(key, columns)
    if found is None or not all(column.type.name in _PLAIN_KEYS for column in key):
        return None
    select, values, _ = found
    return ", ".join(select), [value.alias(columns[name].name) for name, value in values.items()]


def _transferred(
    columns: Sequence[SourceColumn], lake: Mapping[str, Column]
) -> tuple[list[str], dict[str, Expression], list[str]] | None:
    """Return the columns' SQL, their lake values by name, and SQL that marks odd values; None if one can't be typed."""
    select, values, odd = list[str](), dict[str, Expression](), list[str]()
    for column in columns:
        way, name = _way(column, lake.get(column.name)), f"t.{quoted(column.name)}"
        if way is None:
            return None
        values[column.name] = way.read(len(select), lake[column.name].stored)
        select.append(f"{way.sql.replace('{c}', name)} AS v{len(select)}")
        odd += [way.odd.replace("{c}", name)] if way.odd else []
    return select, values, odd


def _way(column: SourceColumn, lake: Column | None) -> ColumnTransfer | None:
    kind = column.carried
    if lake is None or not isinstance(kind, Carried) or lake.name == SPECIALS_COLUMN:
        return None
    field = avro_field(lake.name, column.name, kind)
    [expected] = schema.parse(json.dumps({"type": "record", "name": "row", "fields": [field]}), column.name)
    if (expected.wire, expected.stored, expected.encoding) != (lake.wire, lake.stored, lake.encoding):
        return None
    base, _ = without_domains(column.type, column.modifier)
    if base.schema == "pg_catalog" and base.name in _WAYS:
        return _WAYS[base.name]
    text = _OF_SPELLINGS.get(kind.spelling.lake)
    if text is None or kind.special:
        return None
    sql = f"CASE WHEN {{c}} IS DISTINCT FROM NULL THEN {text.replace('{text}', kind.spelling.source)} END"
    return ColumnTransfer(sql, odd=_ODD_ARRAY if kind.wire == "array" else None)


def _takes(lake: Column | None, value: str | int) -> bool:
    wanted = T.StringType() if isinstance(value, str) else T.LongType()
    return lake is not None and lake.stored == wanted and lake.encoding is schema.Encoding.PLAIN


# Maximum keys that come to the driver as one text; Spark reads more, in parts.
_KEYS_AT_ONCE = 20_000


@dataclass(frozen=True, kw_only=True)
class RelationBatch(Batch):
    """Rows of one snapshot: `count` of them, of `size` bytes, those that meet `condition`; `parts` divide them.

    Each event also has the fields `metadata`.
    """

    operation: ClassVar[str]

    spark: SparkSession
    database: Database
    look: Look
    relation: Relation
    condition: str
    parts: Sequence[str]
    count: int
    size: int

    @property
    @abstractmethod
    def order(self) -> dict[str, str | int]:
        """The fields that give its events their place among others."""

    @cached_property
    def metadata(self) -> dict[str, str | int]:
        """The fields that each event also has."""
        settings = self.relation.settings
        return {
            DELETED: "false",
            OPERATION: self.operation,
            DATABASE: settings.server.database,
            TABLE: settings.table,
            SCHEMA: settings.schema,
            **self.order,
        }

    @property
    def files(self) -> int:
        return len(self.parts)

    @property
    def is_small(self) -> bool:
        """Whether the look's own connection reads it."""
        return self.count <= SMALL_EVENTS and self.size <= SMALL_BYTES

    def lines(self) -> DataFrame:
        if not self.count:
            return self._as_lines(self.spark.range(0).select(F.lit("").alias("line")))
        if self.is_small:
            return self._as_lines(self._of_text(self._text))
        return self._as_lines(self._read(self._queries(lambda one: one.lines(self.condition, self.metadata))))

    def rows_of(self, columns: Sequence[Column]) -> tuple[DataFrame, DataFrame | None] | None:
        """Return the rows as decoded events of the lake's columns (decode.Decoder), and lines of those with odd values.

        None where only lines will do.
        """
        if self.is_small:
            return None
        relation, key = self.relation, [column.name for column in self.relation.key]
        typed = typed_rows(columns, relation.columns, key, self.metadata)
        if typed is None:
            return None
        select, row, is_odd = typed
        plain, odd = (f"{self.condition} AND {isnt}{is_odd}" for isnt in ("NOT ", ""))
        found = self._read(self._queries(lambda one: one.select(select, plain)))
        events = found.select(
            *self._place(),
            F.lit(False).alias("blank"),
            F.lit(None).cast("string").alias("reason"),
            wire.no_names().alias("placeholders"),
            F.lit(False).alias("deleted"),
            row.alias("row"),
            F.lit(None).cast("long").alias("transaction"),
            wire.no_names().alias("unknown"),
            F.lit(None).cast("string").alias("line"),
        )
        if not self._has(odd):
            return events, None
        return events, self._as_lines(self._read(self._queries(lambda one: one.lines(odd, self.metadata))))

    @cached_property
    def _text(self) -> str:
        [query] = self._queries(lambda one: one.lines(self.condition, self.metadata))
        return self.look.text(_together(query)) or ""

    def _has(self, condition: str) -> bool:
        found = (self.relation.exists(f"{condition} AND {part}") for part in self.parts)
        return any(self.look.text(f"SELECT ({one})::text") == "true" for one in found)

    def _queries(self, query: Callable[[Relation], str]) -> list[str]:
        """Write a query's parts; `query` ends with a condition."""
        return [f"{query(self.relation)} AND {part}" for part in self.parts]

    def _of_text(self, text: str) -> DataFrame:
        return self.spark.range(1, numPartitions=1).select(F.explode(F.split(F.lit(text), "\n")).alias("line"))

    @property
    def _reader_start(self) -> str:
        """The statements that a reader's transaction begins with."""
        return self.look.beginning(self.look.export())

    @property
    def _reader_properties(self) -> dict[str, str]:
        # Spark asks for the columns on a connection of its own, without `_reader_start`. If DDL waited for this look,
        # that connection would wait for the DDL, and this look for the connection.
        given = self.database.reader_properties()
        return {**given, "options": f"{given.get('options', '')} -c lock_timeout={LOCK_TIMEOUT}".strip()}

    def _read(self, queries: Sequence[str]) -> DataFrame:
        """Read the results of queries together, through connections that see the look's snapshot."""
        reader = self.spark.read.format("jdbc").options(
            **self._reader_properties,
            url=self.database.server.url,
            driver=DRIVER,
            fetchsize=str(self.relation.settings.fetch_size),
            sessionInitStatement=self._reader_start,
        )
        return reduce(DataFrame.unionAll, [reader.option("query", query).load() for query in queries])

    def _as_lines(self, frame: DataFrame) -> DataFrame:
        return frame.select("line", *self._place())

    def _place(self) -> list[Expression]:
        return [
            F.lit(self.relation.settings.name).alias("origin"),
            F.lit(0).cast("long").alias("block"),
            F.monotonically_increasing_id().alias("number"),
            F.lit(0).alias("tie"),
        ]


@dataclass(frozen=True, kw_only=True)
class JdbcBatch(RelationBatch):
    """Changed rows of a queried table, all with the operation of an update: the lake knows which are new.

    `complete`: nothing is left of this look's result, so rows that only the lake has are deleted. `rows`: how many the
    source has (None: not counted); `settled` receives how many of them the lake has.
    """

    operation = UPDATE

    progress: Progress
    complete: bool
    rows: int | None
    # Rows in the lake, if its keys are known to be the source's at the last look.
    lake_rows: int | None
    settled: Callable[[int | None, int], None] = field(repr=False)

    @property
    def read_ms(self) -> int:
        """The ordering value of all its rows."""
        return self.progress.read_ms

    @property
    def checkpoint(self) -> str:
        return self.progress.to_text()

    def keys_of(self, columns: Mapping[str, Column]) -> DataFrame | None:
        """Return the keys as the lake's `columns` (by source name); None for few keys, or if only lines will do."""
        typed = typed_keys(columns, self.relation.key) if (self.rows or 0) > _KEYS_AT_ONCE else None
        if typed is None:
            return None
        select, found = typed
        return self._read([self.relation.select(select, part) for part in self._parts_of_all()]).select(*found)

    def key_lines(self) -> DataFrame:
        if (self.rows or 0) <= _KEYS_AT_ONCE:
            return self._as_lines(self._of_text(self.look.text(_together(self.relation.key_lines(ALL))) or ""))
        return self._as_lines(self._read(list(map(self.relation.key_lines, self._parts_of_all()))))

    def content_of(self, origin: str) -> str:
        """Return the table's name with the batch's ordering value: a look is never repeated."""
        return f"{origin}/{self.read_ms}.json"

    def close(self) -> None:
        self.look.close()

    @property
    def order(self) -> dict[str, str | int]:
        return {READ_MS: self.read_ms}

    def _parts_of_all(self) -> list[str]:
        return self.relation.all_parts(self.look, ALL, self.rows or 1)


def _together(query: str) -> str:
    return f"SELECT string_agg(line, E'\\n') FROM ({query}) AS q"  # noqa: S608
