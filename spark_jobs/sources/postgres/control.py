"""The control query: what a look sees and of which cluster; and the catalog's description of the table."""

# ruff: noqa: S608  # names and texts are quoted

import json
from collections.abc import Sequence
from dataclasses import dataclass

from contract.column_types.catalogue import Carried, quoted, result_modifier
from contract.events import no_key
from spark_jobs.errors import JobError, Log, SettingsError
from spark_jobs.options import keys
from spark_jobs.options.jdbc_settings import JdbcSettings
from spark_jobs.sources.postgres.access import Look
from spark_jobs.sources.postgres.event_sql import (
    SourceColumn,
    catalogue_sql,
    literal,
    not_sent,
    query_catalogue_sql,
    read_columns,
    sent,
)
from spark_jobs.sources.postgres.relation import Relation, source_of

# Which cluster it is, and how often it was restored or taken over: transaction numbers begin again then, at an earlier
# point. A standby knows its timeline from its last restartpoint only. Which database, since a copy of another (CREATE
# DATABASE … TEMPLATE) has the same table numbers, and its rows the same transactions.
_DATABASE = "(SELECT concat('database ', d.oid) FROM pg_database d WHERE d.datname = current_database())"
_IDENTITY = f"""concat_ws('/', (SELECT system_identifier FROM pg_control_system()), CASE
    WHEN pg_is_in_recovery() THEN (SELECT timeline_id::text FROM pg_control_checkpoint())
    ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int::text END, {_DATABASE})"""
# The last is used where a service hides the others.
IDENTITIES = (_IDENTITY, _DATABASE)
# Since when a server runs: a server that was stopped may be a cold copy by now, whose transactions reuse numbers
# already seen. And since when a primary has statistics: it loses them in a crash, which isn't a start. It then also
# loses the end of its log, which may have been seen; no function reports a crash.
_SINCE = """(SELECT concat_ws('/', extract(epoch FROM pg_postmaster_start_time()),
    CASE WHEN NOT pg_is_in_recovery() THEN stats_reset END) FROM pg_stat_archiver)"""
# Before the snapshot of a look: a later transaction can't have been running then. Null without the right to see other
# users' transactions.
OLDEST = """SELECT CASE WHEN pg_has_role(current_user, 'pg_read_all_stats', 'USAGE') THEN (
    SELECT (extract(epoch FROM least(clock_timestamp(), min(a.xact_start))) * 1000000)::bigint::text
    FROM pg_stat_activity a WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()) END"""
_FIRST_OWN = 16384  # PostgreSQL's own types have lower numbers
# A table with its parts: partitions and inheriting tables. And the types of its columns with their components: an
# array's elements, a domain's base, a range's bounds, the fields of a composite type.
_TREE = f"""WITH RECURSIVE tree (oid, relkind, reltuples) AS (
    SELECT c.oid, c.relkind, c.reltuples FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = {{schema}} AND c.relname = {{table}}
    UNION ALL
    SELECT c.oid, c.relkind, c.reltuples FROM tree t
    JOIN pg_inherits i ON i.inhparent = t.oid JOIN pg_class c ON c.oid = i.inhrelid
), part (oid) AS (
    SELECT a.atttypid FROM pg_attribute a WHERE a.attrelid = (SELECT oid FROM tree LIMIT 1) AND a.attnum > 0
    AND NOT a.attisdropped AND a.atttypid >= {_FIRST_OWN}
    UNION
    SELECT made.of FROM part p JOIN pg_type y ON y.oid = p.oid CROSS JOIN LATERAL (
        VALUES (y.typelem), (y.typbasetype)
        UNION ALL SELECT rngsubtype FROM pg_range WHERE p.oid IN (rngtypid, rngmultitypid)
        UNION ALL SELECT atttypid FROM pg_attribute WHERE attrelid = y.typrelid AND attnum > 0 AND NOT attisdropped
    ) AS made (of) WHERE made.of >= {_FIRST_OWN}
)"""
# A value of an enum, or of a composite type, is read with the type's present definition: no transaction number changes
# when an enum's value is renamed. Nor when a virtual column, computed as it is read, gets another expression.
_TYPE_PARTS = """(SELECT string_agg(concat_ws(' ', p.oid,
    (SELECT string_agg(e.enumlabel, ',' ORDER BY e.oid) FROM pg_enum e WHERE e.enumtypid = p.oid),
    (SELECT string_agg(concat_ws(' ', f.attnum, f.atttypid), ',' ORDER BY f.attnum) FROM pg_type y JOIN pg_attribute f
        ON f.attrelid = y.typrelid WHERE y.oid = p.oid AND f.attnum > 0 AND NOT f.attisdropped)), ';' ORDER BY p.oid)
    FROM part p)"""
_FACTS = f"""(SELECT json_build_object(
    'kind', (SELECT relkind FROM tree LIMIT 1),
    'foreign', (SELECT bool_or(relkind = 'f') FROM tree),
    'members', (SELECT json_agg(oid::bigint ORDER BY oid) FROM tree),
    'indexes', (SELECT coalesce(json_agg(indexrelid::bigint ORDER BY indexrelid), '[]') FROM pg_index
        WHERE indrelid = (SELECT oid FROM tree LIMIT 1) AND indisvalid),
    'shape', (SELECT md5(concat(string_agg(concat_ws(' ', a.attnum, a.attname, a.atttypid, a.atttypmod,
            CASE WHEN a.attgenerated = 'v' THEN pg_get_expr(d.adbin, d.adrelid) END), ',' ORDER BY attnum),
            {_TYPE_PARTS}))
        FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        WHERE a.attrelid = (SELECT oid FROM tree LIMIT 1) AND a.attnum > 0
        AND NOT a.attisdropped)))"""
_FACTS_OF_QUERY = (
    "json_build_object('kind', 'q', 'foreign', false, 'members', '[]'::json, 'indexes', '[]'::json,"
    " 'shape', md5({query}))"
)
# Whether a table has an index that covers all rows and meets a condition.
_HAS_INDEX = """SELECT (EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisvalid AND i.indpred IS NULL
    AND {condition}))::text
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = {schema} AND c.relname = {table}"""
_OF_JUST_THESE = """i.indisunique AND i.indexprs IS NULL AND (
    SELECT array_agg(a.attname::text ORDER BY a.attname::text) FROM pg_attribute a
    WHERE a.attrelid = c.oid AND a.attnum = ANY (i.indkey[0:i.indnkeyatts - 1])) = ARRAY[{key}]::text[]"""
_BEGINS_WITH = """EXISTS (SELECT FROM pg_attribute a
    WHERE a.attrelid = c.oid AND a.attnum = i.indkey[0] AND a.attname = {column})"""
TABLES = ("r", "p")


@dataclass(frozen=True, kw_only=True)
class Control:
    """What a look sees: transactions below `horizon` are finished, none from `next_transaction` on is.

    `since` changes when the server restarts or has crashed. `kind` is pg_class.relkind, `q` for a query. `members` are
    the table and its partitions, `indexes` the table's, by oid; `shape` changes with the columns.
    """

    horizon: int
    next_transaction: int
    standby: bool
    system: str
    since: str
    oldest_micros: int | None
    kind: str
    foreign: bool
    members: tuple[int, ...]
    indexes: tuple[int, ...]
    shape: str

    @property
    def has_xmin(self) -> bool:
        """Whether each row has the number of the transaction that wrote it."""
        return self.kind in TABLES and not self.foreign

    @property
    def has_unique_keys(self) -> bool:
        """Whether a unique index covers all rows: it doesn't cover those of inheriting tables."""
        return self.kind == "p" or (self.kind == "r" and len(self.members) == 1)


def read_control(look: Look, settings: JdbcSettings, identity: str) -> Control:
    """Query what a look sees, in its first statement. Raises JobError for a missing table."""
    if settings.query is None:
        tree, facts = _TREE.format(**names_of(settings)), _FACTS
    else:
        # A query's columns are known when it is read; another text is another query.
        tree, facts = "", _FACTS_OF_QUERY.format(query=literal(settings.query))
    text = look.text(
        f"{tree} SELECT json_build_array(json_build_object('horizon', pg_snapshot_xmin(s)::text::bigint,"
        " 'next_transaction', pg_snapshot_xmax(s)::text::bigint, 'standby', pg_is_in_recovery(),"
        f" 'system', {identity}, 'since', {_SINCE}), {facts})::text FROM pg_current_snapshot() AS s"
    )
    seen, found = json.loads(str(text))
    if found["kind"] is None:
        raise JobError(f"{settings.name}: no such table in database {settings.server.database}")
    oids = {name: tuple(found[name]) for name in ("members", "indexes")}
    oldest = None if look.before is None else int(look.before)
    return Control(oldest_micros=oldest, **{**seen, **found, **oids})


def described(look: Look, control: Control, settings: JdbcSettings, key: Sequence[str], log: Log) -> Relation:
    """Return a table, view or query with its columns; `key` are the key's, by the source's names.

    `log` gets a line for each column that can't be carried. Raises JobError or SettingsError for an invalid key, and
    for missing columns.
    """
    if settings.query is None:
        columns = table_columns(look, settings.schema, settings.table)
    else:
        columns = _query_columns(look, source_of(settings))
    named = {column.name: column for column in columns}
    for name in settings.left_out:
        if name not in named:
            raise SettingsError(f"{keys.JDBC_LEFT_OUT}: {settings.name} has no column {name}")
        if name in key:
            raise SettingsError(f"{keys.JDBC_LEFT_OUT}: {name} is the key's, by which rows are told")
    for name, reason in not_sent(columns, leave_out=settings.left_out).items():
        log(f"{settings.name}: column {name} is left out: {reason}")
    if lacking := [name for name in key if name not in named]:
        raise JobError(f"{settings.name} has no column {', '.join(lacking)}, which the record key names")
    for name in key:
        kind = named[name].carried
        if isinstance(kind, Carried) and (why := no_key(kind.avro)):
            raise JobError(f"{settings.name}: column {name} of the record key tells no rows apart: {why}")
    if key and control.kind in TABLES:
        _refuse_other_keys(look, settings, key)
    return Relation(
        settings=settings,
        columns=sent(columns, leave_out=settings.left_out),
        key=tuple(named[name] for name in key),
        is_unique=control.has_unique_keys,
    )


def table_columns(look: Look, schema: str, table: str) -> tuple[SourceColumn, ...]:
    return read_columns(str(look.text(catalogue_sql(schema, table))))


def _query_columns(look: Look, source: str) -> tuple[SourceColumn, ...]:
    named = look.columns(f"SELECT * FROM {source}")
    types = ", ".join(f"pg_typeof(t.{quoted(name)})::oid::bigint" for name, _, _ in named)
    # No row of the query is read: its columns are NULLs, which still have their types.
    oids = json.loads(
        str(look.text(f"SELECT array_to_json(ARRAY[{types}])::text FROM (SELECT) AS d LEFT JOIN {source} ON FALSE"))
    )
    columns = [
        (name, oid, result_modifier(oid, precision, scale))
        for (name, precision, scale), oid in zip(named, oids, strict=True)
    ]
    return read_columns(str(look.text(query_catalogue_sql(columns))))


def _refuse_other_keys(look: Look, settings: JdbcSettings, key: Sequence[str]) -> None:
    if not _has_index(look, settings, _OF_JUST_THESE.format(key=", ".join(map(literal, sorted(key))))):
        raise JobError(
            f"{settings.name}: {', '.join(map(quoted, key))} is no key of it: no unique index has just these columns; "
            "name its primary key as hoodie.datasource.write.recordkey.field"
        )


def is_indexed(look: Look, settings: JdbcSettings, column: str) -> bool:
    return _has_index(look, settings, _BEGINS_WITH.format(column=literal(column)))


def _has_index(look: Look, settings: JdbcSettings, condition: str) -> bool:
    return look.text(_HAS_INDEX.format(condition=condition, **names_of(settings))) != "false"


def names_of(settings: JdbcSettings) -> dict[str, str]:
    """Return a table's names as SQL's texts."""
    return {"schema": literal(settings.schema), "table": literal(settings.table)}
