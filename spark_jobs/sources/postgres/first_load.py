"""Reads all rows of a captured table from the database once, before its events (docs/decisions/0024)."""

import contextlib
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from contract.column_types.catalogue import quoted
from contract.events import LSN, READ, SOURCE_TIME_MS
from contract.source import SHOWS_ALL_ROWS
from spark_jobs.errors import Log
from spark_jobs.options.jdbc_settings import FirstLoadSettings
from spark_jobs.runtime.hadoop import read_text
from spark_jobs.sources.batches import SMALL_BYTES
from spark_jobs.sources.postgres.access import Database, Look
from spark_jobs.sources.postgres.batch import RelationBatch
from spark_jobs.sources.postgres.control import IDENTITIES, described, names_of, read_control
from spark_jobs.sources.postgres.event_sql import literal
from spark_jobs.sources.postgres.hashing import Hashing, hashing
from spark_jobs.sources.postgres.relation import ALL, Relation
from spark_jobs.sources.postgres.snapshot import Snapshot, snapshot_look

# Who reads the slot, the position that it has confirmed, and the present one.
_READER = """SELECT json_build_array(active_pid, (confirmed_flush_lsn - '0/0'::pg_lsn)::bigint,
    (pg_current_wal_lsn() - '0/0'::pg_lsn)::bigint)::text FROM pg_replication_slots WHERE slot_name = {slot}"""
# Each reader reads that much at a time.
_BYTES_PER_PART = 64 << 20
# Whether the connector's slot streams, and its publication has the table.
_STREAMS = """SELECT (EXISTS (SELECT FROM pg_replication_slots
    WHERE slot_name = {slot} AND database = current_database() AND confirmed_flush_lsn IS NOT NULL)
    AND EXISTS (SELECT FROM pg_publication_tables
    WHERE pubname = {publication} AND schemaname = {schema} AND tablename = {table}))::text"""
# The relations that hold the rows: name, bytes, rows as the planner estimates them, and whether the role may read it by
# itself.
_HOLDERS = """SELECT json_agg(json_build_array(n.nspname, c.relname, pg_relation_size(c.oid),
    coalesce(greatest(c.reltuples, 0) / nullif(c.relpages, 0) * pg_relation_size(c.oid) / 8192, 0)::bigint,
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
# The same relations with their present files, whatever the transaction's snapshot: functions aren't bound to it.
_FILES = """SELECT json_agg(json_build_array(f.relid::oid::bigint, pg_relation_filenode(f.relid)::bigint)
    ORDER BY f.relid)::text FROM (
    SELECT t AS relid FROM to_regclass({name}) AS t WHERE NOT EXISTS (SELECT FROM pg_partition_tree(t))
    UNION ALL SELECT l.relid FROM pg_partition_tree(to_regclass({name})) AS l WHERE l.isleaf) AS f"""
# A first query's lock keeps the files as they are while a reader reads them: LOCK would need rights on all columns. The
# error's class makes the job try again.
_UNCHANGED = """BEGIN IF ({files}) IS DISTINCT FROM {before} THEN
    RAISE EXCEPTION USING ERRCODE = 'serialization_failure', MESSAGE = {message}; END IF; END"""

# The role reads through policies (db/source/rights.py); off, a query fails where one may hide rows.
_SHOWN = f"""SELECT set_config('row_security', CASE WHEN ({SHOWS_ALL_ROWS}) THEN 'on' ELSE 'off' END, TRUE)"""


@dataclass(frozen=True)
class _Holder:
    """A relation that holds rows, a table or a partition; `size` in bytes, `rows` estimated."""

    schema: str
    name: str
    size: int
    rows: int
    readable: bool

    @property
    def sql(self) -> str:
        return f"{quoted(self.schema)}.{quoted(self.name)}"

    def parts(self) -> list[tuple[str, str]]:
        """Write the FROM item and condition of each part of its pages."""
        source, page = f"ONLY {self.sql} AS t", 8192
        pages, step = -(-self.size // page), _BYTES_PER_PART // page
        edges = [*range(0, max(pages, 1), step)]
        # The last one is open: the table may have grown.
        within = [f"t.ctid >= '({first},0)'::tid AND t.ctid < '({first + step},0)'::tid" for first in edges[:-1]]
        return [(source, one) for one in (*within, f"t.ctid >= '({edges[-1]},0)'::tid")]


@dataclass(frozen=True, kw_only=True)
class LoadBatch(RelationBatch):
    """All rows of a table; later, events that its `snapshot` contains are passed over.

    `sources`: the FROM item of each part. `start`: the progress behind the events that landed before. `checks`: the
    statements that a reader begins with, which fail when a policy may hide rows, or the table has been rewritten since
    before the snapshot: TRUNCATE and some of ALTER TABLE leave an older snapshot no rows. `count` is an estimate.
    """

    operation = READ

    snapshot: Snapshot
    sources: Sequence[str]
    start: str
    checks: str
    hashing: Hashing

    @property
    def is_small(self) -> bool:
        return self.size <= SMALL_BYTES

    def lines(self) -> DataFrame:
        return self._as_lines(self._read(self._queries(lambda one: one.lines(self.condition, self.metadata))))

    @property
    def checkpoint(self) -> str:
        return self.start

    @property
    def order(self) -> dict[str, str | int]:
        # Older than each event that isn't passed over.
        return {LSN: self.snapshot.begin, SOURCE_TIME_MS: time.time_ns() // 1_000_000}

    @property
    def _reader_start(self) -> str:
        # Rows without a key are numbered: a part that Spark reads again, after an executor was lost, has to come in the
        # same order.
        return f"{super()._reader_start}; SET LOCAL synchronize_seqscans = off; {self.checks}"

    @property
    def _reader_properties(self) -> dict[str, str]:
        given = super()._reader_properties
        return {**given, **self.hashing.properties(given.get("options", ""))}

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


@dataclass(eq=False)
class FirstLoad:
    """Reads one table's rows; each look has its own snapshot.

    `key` are the key's columns by the source's names; `say` is told what the load waits for.
    """

    spark: SparkSession
    settings: FirstLoadSettings
    database: Database
    key: Sequence[str]
    _: KW_ONLY
    log: Log
    say: Callable[[str], None]
    _open: Look | None = None
    # The process that reads the slot, and where the log was when it was first seen.
    _reader: tuple[int, int] | None = None

    def next_batch(self, start: str) -> LoadBatch | None:
        """Return all rows; None before the connector's slot keeps what comes after them.

        `start`: the progress behind events that have landed already.
        """
        self.reset()
        settings, jdbc = self.settings, self.settings.jdbc
        if (awaited := self._awaited()) is not None:
            self.say(f"waits until {awaited}")
            return None
        hashes = hashing(settings, lambda path: read_text(path, self.spark))
        table = f"{quoted(jdbc.schema)}.{quoted(jdbc.table)}"
        files = _FILES.format(name=literal(table))
        # In this order: a partition that comes or goes in between is then a difference in the files.
        before, holders = literal(self._asked(files) or ""), self._holders()
        message = literal(f"{jdbc.name} was truncated or rewritten while it was read")
        unchanged = _UNCHANGED.format(files=files, before=before, message=message)
        size, rows = sum(one.size for one in holders), sum(one.rows for one in holders)
        if size > SMALL_BYTES and not rows:
            rows = self._sampled(max(holders, key=lambda one: one.size), size)
        self.say("waits for a snapshot: the transactions that run now have to end")
        self._open, snapshot = look, _ = snapshot_look(self.database)
        control = read_control(look, jdbc, IDENTITIES[-1])
        relation = described(look, control, jdbc, self.key, self.log)
        # No event has generated ones.
        relation = replace(relation, columns=tuple(one for one in relation.columns if not one.generated))
        read = [table]
        if control.kind != "p":  # tables that inherit from it have their own events
            relation, table = replace(relation, part=f"ONLY {relation.source}"), f"ONLY {table}"
        if size <= SMALL_BYTES or not all(one.readable for one in holders):
            parts = [(relation.source, ALL)]
        else:
            parts = [part for one in holders for part in one.parts()]
            read += [one.sql for one in holders]
        self.say("waits for its turn to be read")
        return LoadBatch(
            spark=self.spark,
            database=self.database,
            look=look,
            relation=hashes.hashed(relation),
            condition=ALL,
            parts=[condition for _, condition in parts],
            sources=[hashes.source(source, relation.columns, places=part != ALL) for source, part in parts],
            count=max(rows, int(size > 0)),
            size=size,
            snapshot=snapshot,
            start=start,
            hashing=hashes,
            checks=f"{_shown(read)}; SELECT FROM {table} LIMIT 0; DO {literal(unchanged)}",
        )

    def _awaited(self) -> str | None:
        """Return what the load waits for, so that a connector that starts again would go on from where it streams now.

        Until one that reads other tables has stored such a position, it would begin its own snapshot once more, and go
        on behind that.
        """
        slot, publication = self.settings.slot, self.settings.publication
        names = {"slot": literal(slot), "publication": literal(publication), **names_of(self.settings.jdbc)}
        if self._asked(_STREAMS.format(**names)) != "true":
            return f"slot {slot} streams publication {publication} with {self.settings.jdbc.name}"
        if not self.settings.after_snapshot:
            return None
        pid, confirmed, now = json.loads(self._asked(_READER.format(slot=literal(slot))) or "[null, 0, 0]")
        if self._reader is None or self._reader[0] != pid:
            self._reader = (pid, now) if pid else None
        elif confirmed > self._reader[1]:
            return None
        return f"the connector of slot {slot} has read its tables, and stored where it is"

    def reset(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def _sampled(self, largest: _Holder, size: int) -> int:
        if not largest.readable:
            return 0
        density = self._asked(_DENSITY.format(name=largest.sql))
        return round(float(density or 0) * size / 8192)

    def _holders(self) -> list[_Holder]:
        return [
            _Holder(*one) for one in json.loads(self._asked(_HOLDERS.format(**names_of(self.settings.jdbc))) or "[]")
        ]

    def _asked(self, query: str) -> str | None:
        with contextlib.closing(self.database.look()) as look:
            return look.text(query)


def _shown(relations: Iterable[str]) -> str:
    return _SHOWN.format(relations=f"ARRAY[{', '.join(map(literal, relations))}]::regclass[]::oid[]")
