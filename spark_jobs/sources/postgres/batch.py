"""Rows of a look, as lines of JSON, and the existing keys, for one commit to the lake."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import pairwise

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from contract.events import DATABASE, DELETED, OPERATION, READ_MS, SCHEMA, TABLE, UPDATE
from spark_jobs.decoding.schema import Column
from spark_jobs.options.jdbc_settings import DRIVER
from spark_jobs.sources.batches import SMALL_BYTES, SMALL_EVENTS, Batch
from spark_jobs.sources.postgres.access import Database, Look
from spark_jobs.sources.postgres.detection import Progress
from spark_jobs.sources.postgres.relation import ALL, Key, Relation
from spark_jobs.sources.postgres.typed_rows import typed_keys, typed_rows

# Maximum keys that come to the driver as one text; Spark reads more, in parts.
_KEYS_AT_ONCE = 20_000


@dataclass(frozen=True)
class Part:
    """The rows of a look behind a key, up to another; None for no bound."""

    after: Key | None = None
    until: Key | None = None


@dataclass(frozen=True, kw_only=True)
class JdbcBatch(Batch):
    """Changed rows of one snapshot: `count` of them, of `size` bytes, those that meet `condition`.

    `complete`: nothing is left of this look's result, so rows that only the lake has are deleted. `rows`: how many the
    source has (None: not counted); `settled` receives how many of them the lake has.
    """

    spark: SparkSession
    database: Database
    look: Look
    relation: Relation
    condition: str
    parts: Sequence[Part]
    count: int
    size: int
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
    def files(self) -> int:
        return len(self.parts)

    @property
    def is_small(self) -> bool:
        """Whether the look's own connection reads it."""
        return self.count <= SMALL_EVENTS and self.size <= SMALL_BYTES

    @property
    def checkpoint(self) -> str:
        return self.progress.to_text()

    def lines(self) -> DataFrame:
        """Return the rows as lines, all of them with the operation of an update: the lake knows which are new."""
        if not self.count:
            return self._as_lines(self.spark.range(0).select(F.lit("").alias("line")))
        if self.is_small:
            return self._as_lines(self._of_text(self._text))
        return self._as_lines(self._read(self._row_lines, self.parts))

    def rows_of(self, columns: Sequence[Column]) -> DataFrame | None:
        """Return the rows as decoded events of the lake's columns; None where only lines can be decoded.

        An event with a `reason` means that the lines have to be read after all.
        """
        if self.is_small or not self.count:
            return None
        relation, key = self.relation, [column.name for column in self.relation.key]
        typed = typed_rows(columns, relation.columns, key, self._metadata)
        if typed is None:
            return None
        select = typed.select
        found = self._read(lambda part: relation.select(select, f"{self.condition} AND {part}"), self.parts)
        return typed.of(found, relation.settings.name)

    def keys_of(self, columns: Mapping[str, Column]) -> DataFrame | None:
        """Return the source's keys with the lake's names and types; None for few keys, or if only lines will do.

        `columns` are the lake's, by the source's names.
        """
        typed = typed_keys(columns, self.relation.key) if (self.rows or 0) > _KEYS_AT_ONCE else None
        if typed is None:
            return None
        select, found = typed
        return self._read(lambda part: self.relation.select(select, part), self._parts_of_all()).select(*found)

    def key_lines(self) -> DataFrame:
        """Return a line for each key in the source."""
        if (self.rows or 0) <= _KEYS_AT_ONCE:
            return self._as_lines(self._of_text(self.look.text(_together(self.relation.key_lines(ALL))) or ""))
        return self._as_lines(self._read(self.relation.key_lines, self._parts_of_all()))

    def content_of(self, origin: str) -> str:
        """Return the table's name with the batch's ordering value: a look is never repeated."""
        return f"{origin}/{self.read_ms}.json"

    def close(self) -> None:
        """End the look: nothing more is read."""
        self.look.close()

    @property
    def _metadata(self) -> dict[str, str | int]:
        settings = self.relation.settings
        return {
            DELETED: "false",
            OPERATION: UPDATE,
            DATABASE: settings.server.database,
            TABLE: settings.table,
            SCHEMA: settings.schema,
            READ_MS: self.read_ms,
        }

    @cached_property
    def _text(self) -> str:
        return self.look.text(_together(self._row_lines(self._of_part(self.parts[0])))) or ""

    def _row_lines(self, condition: str) -> str:
        return self.relation.lines(f"{self.condition} AND {condition}", self._metadata)

    def _parts_of_all(self) -> list[Part]:
        readers = self.relation.settings.readers
        _, bounds = self.relation.parts(self.look, ALL, None, most=self.rows or 1, readers=readers)
        return divided(None, bounds[:-1], None)

    def _of_part(self, part: Part) -> str:
        return self.relation.between(part.after, part.until)

    def _of_text(self, text: str) -> DataFrame:
        return self.spark.range(1, numPartitions=1).select(F.explode(F.split(F.lit(text), "\n")).alias("line"))

    def _read(self, query: Callable[[str], str], parts: Sequence[Part]) -> DataFrame:
        """Read a query's result for a condition in each part, through connections that see the look's snapshot."""
        reader = self.spark.read.format("jdbc").options(
            **self.database.reader_properties(),
            url=self.database.url,
            driver=DRIVER,
            fetchsize=str(self.relation.settings.fetch_size),
            sessionInitStatement=self.look.beginning(self.look.export()),
        )
        return reduce(DataFrame.unionAll, [reader.option("query", query(self._of_part(part))).load() for part in parts])

    def _as_lines(self, frame: DataFrame) -> DataFrame:
        return frame.select(
            "line",
            F.lit(self.relation.settings.name).alias("origin"),
            F.lit(0).cast("long").alias("block"),
            F.monotonically_increasing_id().alias("number"),
            F.lit(0).alias("tie"),
        )


def divided(after: Key | None, bounds: Sequence[Key], until: Key | None) -> list[Part]:
    edges = [after, *bounds, until]
    return [Part(first, last) for first, last in pairwise(edges)]


def _together(query: str) -> str:
    return f"SELECT string_agg(line, E'\\n') FROM ({query}) AS q"  # noqa: S608
