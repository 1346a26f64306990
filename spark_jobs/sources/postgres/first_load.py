"""Reads all rows of a captured table from the database once, before its events (docs/decisions/0024)."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column as Expression
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from contract.events import LSN, READ, SOURCE_TIME_MS
from spark_jobs.errors import Log
from spark_jobs.options.jdbc_settings import FirstLoadSettings
from spark_jobs.sources.batches import SMALL_BYTES
from spark_jobs.sources.postgres.access import Database, Look
from spark_jobs.sources.postgres.batch import RelationBatch
from spark_jobs.sources.postgres.control import IDENTITIES, described, read_control
from spark_jobs.sources.postgres.event_sql import literal, quoted
from spark_jobs.sources.postgres.relation import ALL, Relation
from spark_jobs.sources.postgres.snapshot import Snapshot, snapshot_look

# Each reader reads that much at a time.
_BYTES_PER_PART = 64 << 20
# Whether the connector's slot streams, and its publication has the table.
_STREAMS = """SELECT (EXISTS (SELECT FROM pg_replication_slots
    WHERE slot_name = {slot} AND database = current_database() AND confirmed_flush_lsn IS NOT NULL)
    AND EXISTS (SELECT FROM pg_publication_tables
    WHERE pubname = {publication} AND schemaname = {schema} AND tablename = {table}))::text"""
# The relations that hold the rows: oid, name, bytes, estimated rows (as the planner does), file, and whether the role
# may read it by itself.
_HOLDERS = """SELECT json_agg(json_build_array(c.oid::bigint, n.nspname, c.relname, pg_relation_size(c.oid),
    coalesce(greatest(c.reltuples, 0) / nullif(c.relpages, 0) * pg_relation_size(c.oid) / 8192, 0)::bigint,
    pg_relation_filenode(c.oid)::bigint,
    has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')) ORDER BY c.oid)::text
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid IN (
        SELECT t.oid FROM pg_class t JOIN pg_namespace s ON s.oid = t.relnamespace
        WHERE s.nspname = {schema} AND t.relname = {table} AND t.relkind = 'r'
        UNION ALL SELECT l.relid FROM pg_class t JOIN pg_namespace s ON s.oid = t.relnamespace
        CROSS JOIN LATERAL pg_partition_tree(t.oid) AS l
        WHERE s.nspname = {schema} AND t.relname = {table} AND t.relkind = 'p' AND l.isleaf)"""
# Rows per page of one that was never analysed, from its first ones; a scan may begin anywhere.
_DENSITY = """SELECT (count(*) / (max(page) - min(page) + 1))::text
    FROM (SELECT (ctid::text::point)[0] AS page FROM ONLY {name} LIMIT 2000) AS first"""
# The same relations with their present files, whatever the look's snapshot: functions aren't bound to it.
_FILES = """SELECT json_agg(json_build_array(f.relid::oid::bigint, pg_relation_filenode(f.relid)::bigint))::text FROM (
    SELECT t AS relid FROM to_regclass({name}) AS t WHERE NOT EXISTS (SELECT FROM pg_partition_tree(t))
    UNION ALL SELECT l.relid FROM pg_partition_tree(to_regclass({name})) AS l WHERE l.isleaf) AS f"""


class RewrittenError(Exception):
    """A table has to be read again; the message is one line."""


@dataclass(frozen=True, kw_only=True)
class _Holder:
    """A relation that holds rows: a table, or a partition."""

    oid: int
    schema: str
    name: str
    size: int
    rows: int
    file: int
    readable: bool

    def parts(self) -> list[tuple[str, str]]:
        """Write the FROM item and condition of each part of its pages."""
        source, page = f"ONLY {quoted(self.schema)}.{quoted(self.name)} AS t", 8192
        pages, step = -(-self.size // page), _BYTES_PER_PART // page
        edges = [*range(0, max(pages, 1), step)]
        # The last one is open: the table may have grown.
        within = [f"t.ctid >= '({first},0)'::tid AND t.ctid < '({first + step},0)'::tid" for first in edges[:-1]]
        return [(source, one) for one in (*within, f"t.ctid >= '({edges[-1]},0)'::tid")]


@dataclass(frozen=True, kw_only=True)
class LoadBatch(RelationBatch):
    """All rows of a table; later, events that its `snapshot` contains are passed over.

    `sources`: the FROM item of each part. `start`: the progress behind the events that landed before. `is_whole` tells
    whether the table still has the files from before the snapshot.
    """

    operation = READ

    snapshot: Snapshot
    sources: Sequence[str]
    start: str
    is_whole: Callable[[], bool]

    def refuse_if_rewritten(self) -> None:
        """Raise RewrittenError when the snapshot may lack rows: TRUNCATE and some of ALTER TABLE don't respect it."""
        if not self.is_whole():
            raise RewrittenError(f"{self.relation.settings.name} was truncated or rewritten while it was read")

    @property
    def checkpoint(self) -> str:
        return self.start

    @property
    def order(self) -> dict[str, str | int]:
        # Older than each event that isn't passed over.
        return {LSN: self.snapshot.begin, SOURCE_TIME_MS: time.time_ns() // 1_000_000}

    def _has(self, condition: str) -> bool:
        """Ask on another connection: the look would keep its lock on the table until the commit."""
        return bool(self._read([f"SELECT {self.relation.exists(condition)} AS found"]).collect()[0]["found"])

    def _queries(self, query: Callable[[Relation], str]) -> list[str]:
        parts = zip(self.sources, self.parts, strict=True)
        return [f"{query(replace(self.relation, part=source))} AND {condition}" for source, condition in parts]

    def _place(self) -> list[Expression]:
        nowhere = F.struct(
            F.lit(-1).cast("long").alias("offset"),
            F.lit(None).cast("timestamp").alias("time"),
            F.lit("").alias("file_path"),
            F.lit(0).cast("long").alias("sent_ms"),
            F.lit(False).alias("late"),
        )
        return [*super()._place()[:-1], nowhere.alias("tie")]


class FirstLoad:
    """Reads one table's rows; each look has its own snapshot."""

    def __init__(
        self,
        spark: SparkSession,
        settings: FirstLoadSettings,
        database: Database,
        key: Sequence[str],
        *,
        log: Log,
        say: Callable[[str], None],
    ) -> None:
        """`key` are the key's columns by the source's names; `say` is told what the load waits for."""
        self._spark = spark
        self._settings = settings
        self._database = database
        self._key = tuple(key)
        self._log = log
        self._say = say
        self._open: Look | None = None
        self._names = {"schema": literal(settings.jdbc.schema), "table": literal(settings.jdbc.table)}

    def next_batch(self, start: str) -> LoadBatch | None:
        """Return all rows; None before the connector's slot keeps what comes after them.

        `start`: the progress behind events that have landed already.
        """
        self.reset()
        settings, jdbc = self._settings, self._settings.jdbc
        streams = _STREAMS.format(slot=literal(settings.slot), publication=literal(settings.publication), **self._names)
        if self._asked(streams) != "true":
            self._say(f"waits until slot {settings.slot} streams publication {settings.publication} with {jdbc.name}")
            return None
        before = self._holders()
        self._say("waits for a snapshot: the transactions that run now have to end")
        self._open, snapshot = look, _ = snapshot_look(self._database)
        control = read_control(look, jdbc, IDENTITIES[-1])
        relation = described(look, control, jdbc, self._key, self._log)
        size, rows = sum(one.size for one in before), sum(one.rows for one in before)
        if control.kind != "p":  # tables that inherit from it have their own events
            relation = replace(relation, part=f"ONLY {relation.source}")
        if size <= SMALL_BYTES:
            rows, _ = relation.counted(look, ALL)
        elif not rows:
            rows = self._sampled(look, max(before, key=lambda one: one.size), size)
        if size <= SMALL_BYTES or not all(one.readable for one in before):
            parts = [(relation.source, ALL)]
        else:
            parts = [part for one in before for part in one.parts()]
        self._say("waits for its turn to be read")
        return LoadBatch(
            spark=self._spark,
            database=self._database,
            look=look,
            relation=relation,
            condition=ALL,
            parts=[condition for _, condition in parts],
            sources=[source for source, _ in parts],
            count=max(rows, int(size > 0)),
            size=size,
            snapshot=snapshot,
            start=start,
            is_whole=lambda: self._files(look) == {(one.oid, one.file) for one in before},
        )

    def reset(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def _sampled(self, look: Look, largest: _Holder, size: int) -> int:
        if not largest.readable:
            return 0
        density = look.text(_DENSITY.format(name=f"{quoted(largest.schema)}.{quoted(largest.name)}"))
        return round(float(density or 0) * size / 8192)

    def _holders(self) -> list[_Holder]:
        names = ("oid", "schema", "name", "size", "rows", "file", "readable")
        found = json.loads(self._asked(_HOLDERS.format(**self._names)) or "null")
        return [_Holder(**dict(zip(names, one, strict=True))) for one in found or ()]

    def _files(self, look: Look) -> set[tuple[int, int]]:
        """Ask on the look's own connection: a second one may be another table's, which waits for ours."""
        name = literal(f"{quoted(self._settings.jdbc.schema)}.{quoted(self._settings.jdbc.table)}")
        return {(oid, file) for oid, file in json.loads(look.text(_FILES.format(name=name)) or "[]")}

    def _asked(self, query: str) -> str | None:
        look = self._database.look()
        try:
            return look.text(query)
        finally:
            look.close()
