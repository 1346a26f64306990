"""The queries that inspection asks of the catalogue. `schemas` empty means: all that are users' own."""
# ruff: noqa: S608  # put together from parts that stand here

SERVER = """
SELECT
    current_database() AS database,
    current_setting('server_version_num')::int AS version,
    current_setting('server_encoding') AS encoding,
    current_setting('wal_level') AS wal_level,
    pg_is_in_recovery() AS standby,
    EXISTS (SELECT FROM pg_roles WHERE rolname = 'rds_superuser') AS hosted,
    (SELECT count(*) FROM pg_replication_slots)::int AS slots,
    current_setting('max_replication_slots')::int AS max_slots,
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'walsender')::int AS senders,
    current_setting('max_wal_senders')::int AS max_senders,
    current_setting('max_slot_wal_keep_size') AS slot_keep,
    current_user AS role,
    r.rolsuper AS superuser,
    r.rolreplication AS replication,
    r.rolcreaterole AS createrole,
    has_database_privilege(current_database(), 'CREATE') AS may_create,
    EXISTS (SELECT FROM pg_largeobject_metadata) AS large_objects
FROM pg_roles r WHERE r.rolname = current_user
"""

# What is a user's: not the catalogue's, not a session's temporary objects, and no part of an extension.
_OURS_NOT_THE_SYSTEMS = """
    n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
    AND (cardinality(%(schemas)s::text[]) = 0 OR n.nspname = ANY (%(schemas)s::text[]))
"""

# Partitions come with their root (`root`); the rest of `pg_inherits` is inheritance in the old way.
RELATIONS = f"""
SELECT
    c.oid::bigint AS oid,
    n.nspname AS schema,
    c.relname AS name,
    c.relkind AS kind,
    c.relpersistence = 'u' AS unlogged,
    c.relreplident AS identity,
    c.relrowsecurity AS row_security,
    pg_get_userbyid(c.relowner) AS owner,
    pg_has_role(c.relowner, 'USAGE') AS owned,
    CASE WHEN c.reltuples >= 0 THEN c.reltuples::bigint END AS rows,
    CASE WHEN c.relispartition THEN pg_partition_root(c.oid)::oid::bigint END AS root,
    CASE WHEN NOT c.relispartition AND c.relkind = 'r' THEN ARRAY(
        SELECT ARRAY[pn.nspname::text, p.relname::text]
        FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhparent JOIN pg_namespace pn ON pn.oid = p.relnamespace
        WHERE i.inhrelid = c.oid ORDER BY i.inhseqno
    ) END AS parents,
    c.relkind = 'r' AND EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = c.oid) AS has_children,
    EXISTS (SELECT FROM pg_index x WHERE x.indrelid = c.oid AND x.indisprimary AND x.indisvalid) AS has_primary_key
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND {_OURS_NOT_THE_SYSTEMS}
    AND NOT EXISTS (
        SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
    )
ORDER BY n.nspname, c.relname
"""

SEQUENCES = f"""
SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'S' AND {_OURS_NOT_THE_SYSTEMS}
"""

# The columns' own rights are only asked for where the table's don't say it all.
COLUMNS = """
SELECT
    a.attrelid::bigint, a.attname::text, a.attnum::int, a.atttypid::bigint, a.atttypmod,
    NOT a.attnotnull, a.atthasdef, a.attgenerated <> '', a.attstorage <> 'p',
    CASE WHEN t.readable THEN TRUE ELSE t.usable AND has_column_privilege(a.attrelid, a.attnum, 'SELECT') END
FROM (
    SELECT c.oid, u.usable, u.usable AND has_table_privilege(c.oid, 'SELECT') AS readable
    FROM pg_class c, LATERAL (SELECT has_schema_privilege(c.relnamespace, 'USAGE') AS usable) AS u
    WHERE c.oid = ANY (%(relations)s::oid[])
) AS t
JOIN pg_attribute a ON a.attrelid = t.oid
WHERE a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attrelid, a.attnum
"""

TYPE_TEXTS = """
SELECT t.oid::bigint, t.modifier, format_type(t.oid, t.modifier)
FROM unnest(%(types)s::oid[], %(modifiers)s::int[]) AS t (oid, modifier)
"""

# Unique over whole columns of all rows: no expression, no predicate, nothing deferred.
UNIQUE_INDEXES = """
SELECT
    x.indrelid::bigint AS relation,
    c.relname AS name,
    k.columns,
    x.indisprimary AS primary,
    NOT k.nullable AS identity,
    x.indisreplident AS is_identity
FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid, LATERAL (
    SELECT array_agg(a.attname::text ORDER BY i.place) AS columns, bool_or(NOT a.attnotnull) AS nullable
    FROM unnest(x.indkey) WITH ORDINALITY AS i (attnum, place)
    JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = i.attnum
    WHERE i.place <= x.indnkeyatts
) AS k
WHERE x.indrelid = ANY (%(relations)s::oid[])
    AND x.indisunique AND x.indimmediate AND x.indisvalid AND x.indpred IS NULL AND x.indexprs IS NULL
ORDER BY x.indrelid, NOT x.indisprimary, NOT x.indisreplident, x.indnkeyatts, c.relname
"""

# Of a publication for all tables, or for schemas, these are the tables that it has now.
PUBLICATIONS = """
SELECT
    p.pubname AS name,
    p.puballtables AS all_tables,
    p.pubviaroot AS via_root,
    ARRAY(
        SELECT o.name FROM (VALUES
            ('insert', p.pubinsert), ('update', p.pubupdate), ('delete', p.pubdelete), ('truncate', p.pubtruncate)
        ) AS o (name, is_published) WHERE o.is_published
    ) AS operations,
    ARRAY(
        SELECT ARRAY[t.schemaname::text, t.tablename::text] FROM pg_publication_tables t WHERE t.pubname = p.pubname
    ) AS tables
FROM pg_publication p ORDER BY p.pubname
"""
