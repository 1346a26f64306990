"""The catalogue queries of an inspection.

Empty `schemas` means all user schemas; together with `names` it selects relations. `role`: the role whose rights are
reported, by default the current one; a role that doesn't exist yet has everyone's rights (PUBLIC, `public` in the
functions below).
"""

from contract.source import ROW_POLICIES

# ruff: noqa: S608  # put together from parts that stand here

SERVER = """
SELECT
    current_database() AS database,
    current_setting('server_version_num')::int AS version,
    current_setting('server_encoding') AS encoding,
    pg_is_in_recovery() AS standby,
    EXISTS (SELECT FROM pg_roles WHERE rolname = 'rds_superuser') AS hosted,
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'walsender')::int AS senders,
    current_setting('max_wal_senders')::int AS max_senders,
    current_setting('max_slot_wal_keep_size') AS slot_keep,
    current_user AS role,
    EXISTS (SELECT FROM pg_largeobject_metadata) AS large_objects
"""

# User objects: not the catalogue's, not a session's temporary objects, and not part of an extension.
_OURS_NOT_THE_SYSTEMS = """
    n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
    AND (cardinality(%(schemas)s::text[]) = 0 OR n.nspname = ANY (%(schemas)s::text[]))
"""

# Partitions come with their root; the rest of `pg_inherits` is old-style inheritance.
RELATIONS = f"""
WITH chosen AS (
    SELECT c.oid, c.relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND CASE
        WHEN %(names)s::text[] IS NOT NULL THEN (n.nspname::text, c.relname::text) IN (
            SELECT * FROM unnest(%(schemas)s::text[], %(names)s::text[])
        )
        ELSE NOT c.relispartition AND {_OURS_NOT_THE_SYSTEMS} AND NOT EXISTS (
            SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
        )
    END
)
SELECT
    w.root::bigint AS root,
    c.oid::bigint AS oid,
    n.nspname AS schema,
    c.relname AS name,
    quote_ident(n.nspname) || '.' || quote_ident(c.relname) AS sql,
    c.relkind AS kind,
    c.relpersistence <> 'p' AS unlogged,
    c.relreplident AS identity,
    c.relrowsecurity AS row_security,
    s.shows_all AS has_policy,
    c.relrowsecurity AND s.hides AS restricted,
    pg_get_userbyid(c.relowner) AS owner,
    pg_has_role(c.relowner, 'USAGE') AS owned,
    quote_ident(n.nspname) AS schema_sql,
    pg_get_userbyid(n.nspowner) AS schema_owner,
    coalesce(
        has_schema_privilege(r.oid, n.oid, 'USAGE'), has_schema_privilege('public', n.oid, 'USAGE')
    ) AS schema_usable,
    has_schema_privilege(n.oid, 'USAGE WITH GRANT OPTION') AS schema_grantable,
    coalesce(has_table_privilege(r.oid, c.oid, 'SELECT'), FALSE) AS whole,
    coalesce((
        SELECT bool_and(has_column_privilege(r.oid, c.oid, a.attnum, 'SELECT')) FROM pg_attribute a
        WHERE a.attrelid = c.oid AND a.attname = ANY (%(system)s)
    ), FALSE) AS reads_system,
    CASE WHEN c.reltuples >= 0 THEN c.reltuples::bigint END AS rows,
    CASE WHEN NOT c.relispartition AND c.relkind = 'r' THEN ARRAY(
        SELECT ARRAY[pn.nspname::text, p.relname::text]
        FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhparent JOIN pg_namespace pn ON pn.oid = p.relnamespace
        WHERE i.inhrelid = c.oid ORDER BY i.inhseqno
    ) END AS parents,
    c.relkind = 'r' AND EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = c.oid) AS has_children
FROM (
    SELECT oid AS root, oid FROM chosen
    UNION SELECT chosen.oid, t.relid::oid FROM chosen, pg_partition_tree(chosen.oid) AS t
        WHERE chosen.relkind = 'p' AND t.isleaf
) AS w
JOIN pg_class c ON c.oid = w.oid AND (w.oid = w.root OR c.relkind = 'r')
JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_roles r ON r.rolname = coalesce(%(role)s, current_user)
CROSS JOIN LATERAL {ROW_POLICIES} AS s
ORDER BY n.nspname, c.relname
"""

SEQUENCES = f"""
SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'S' AND {_OURS_NOT_THE_SYSTEMS}
"""

# Column rights are queried only where the table's rights don't already cover them.
COLUMNS = """
SELECT
    a.attrelid::bigint AS relation, a.attname AS name, quote_ident(a.attname) AS sql, a.attnum::int AS position,
    a.atttypid::bigint AS type, a.atttypmod AS modifier,
    a.attgenerated <> '' AS generated, a.attstorage <> 'p' AS toastable,
    t.whole OR coalesce(has_column_privilege(t.role, a.attrelid, a.attnum, 'SELECT'), FALSE) AS readable
FROM (
    SELECT c.oid, r.oid AS role, coalesce(has_table_privilege(r.oid, c.oid, 'SELECT'), FALSE) AS whole
    FROM pg_class c LEFT JOIN pg_roles r ON r.rolname = coalesce(%(role)s, current_user)
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

# Unique over whole columns of all rows: no expression, no predicate, not deferred.
UNIQUE_INDEXES = """
SELECT
    x.indrelid::bigint AS relation,
    quote_ident(c.relname) AS sql,
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


# The queries for the state of a pipeline's objects in a database: parameters are SourceObjects' names.
#
# A role that doesn't exist yet has everyone's rights (PUBLIC, `public` in the functions below).

STATE = """
SELECT
    current_database() AS database,
    current_setting('server_version_num')::int AS version,
    current_setting('wal_level') AS wal_level,
    pg_is_in_recovery() AS standby,
    EXISTS (SELECT FROM pg_roles WHERE rolname = 'rds_replication') AS hosted,
    (SELECT database FROM pg_replication_slots WHERE slot_name = %(slot)s) AS slot_of,
    (current_setting('max_replication_slots')::int - (SELECT count(*) FROM pg_replication_slots))::int AS free_slots,
    u.rolname AS user, u.rolsuper AS superuser, u.rolcreaterole AS createrole, u.rolreplication AS replication,
    has_database_privilege(current_database(), 'CREATE') AS may_create,
    (SELECT pg_has_role(datdba, 'USAGE') FROM pg_database WHERE datname = current_database()) AS owns_database,
    EXISTS (
        SELECT FROM pg_roles g WHERE g.rolname = 'rds_replication' AND (u.rolsuper
            OR pg_has_role(g.oid, 'MEMBER WITH ADMIN OPTION')
            OR (u.rolcreaterole AND current_setting('server_version_num')::int < 160000))
    ) AS grants_rds_replication,
    r.rolcanlogin AS role_logs_in,
    r.rolreplication OR EXISTS (
        SELECT FROM pg_roles g WHERE g.rolname = 'rds_replication' AND pg_has_role(r.oid, g.oid, 'MEMBER')
    ) AS role_replicates,
    coalesce(r.rolsuper OR r.rolcreaterole OR r.rolcreatedb OR r.rolbypassrls OR EXISTS (
        SELECT FROM pg_roles a WHERE (a.rolsuper OR a.rolname = 'rds_superuser') AND pg_has_role(r.oid, a.oid, 'MEMBER')
    ), FALSE) AS role_is_administrator,
    coalesce(
        has_database_privilege(r.oid, current_database(), 'CONNECT'),
        has_database_privilege('public', current_database(), 'CONNECT')
    ) AS role_connects,
    (
        SELECT json_object_agg(name, quote_ident(name))
        FROM unnest(ARRAY[%(role)s, %(schema)s, %(publication)s, current_database()]::text[]) AS name
    ) AS names,
    n.oid IS NOT NULL AS own_schema,
    ARRAY(SELECT relname::text FROM pg_class WHERE relnamespace = n.oid AND relkind = 'r') AS own_tables,
    CASE WHEN r.oid IS NULL OR n.oid IS NULL THEN '{}' ELSE ARRAY(
        SELECT 'USAGE' WHERE has_schema_privilege(r.oid, n.oid, 'USAGE')
        UNION ALL SELECT t.relname || ' ' || p.privilege
            FROM pg_class t, unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) AS p (privilege)
            WHERE t.relnamespace = n.oid AND t.relkind = 'r' AND has_table_privilege(r.oid, t.oid, p.privilege)
        UNION ALL SELECT t.relname || ' UPDATE (' || a.attname || ')'
            FROM pg_class t JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
            WHERE t.relnamespace = n.oid AND t.relkind = 'r' AND has_column_privilege(r.oid, t.oid, a.attnum, 'UPDATE')
    ) END AS own_rights,
    CASE WHEN p.oid IS NOT NULL THEN (
        SELECT coalesce(json_object_agg(
            c.oid::bigint, quote_ident(cn.nspname) || '.' || quote_ident(c.relname)
        ), '{}'::json) FROM pg_publication_rel pr JOIN pg_class c ON c.oid = pr.prrelid
            JOIN pg_namespace cn ON cn.oid = c.relnamespace
        WHERE pr.prpubid = p.oid
    ) END AS published,
    -- Row filters and column lists came with PostgreSQL 15; the columns of a list, null where rows are filtered.
    (
        SELECT coalesce(json_object_agg(pr.prrelid::bigint, CASE WHEN to_jsonb(pr) ->> 'prqual' IS NULL THEN (
            SELECT json_agg(a.attname) FROM pg_attribute a
            WHERE a.attrelid = pr.prrelid AND to_jsonb(pr) -> 'prattrs' @> to_jsonb(a.attnum)
        ) END), '{}'::json) FROM pg_publication_rel pr
        WHERE pr.prpubid = p.oid AND coalesce(to_jsonb(pr) ->> 'prqual', to_jsonb(pr) ->> 'prattrs') IS NOT NULL
    ) AS published_in_part,
    coalesce(p.puballtables, FALSE) AS publication_for_all,
    coalesce(p.pubviaroot, TRUE) AS publication_via_root,
    ARRAY(
        SELECT o.name FROM (VALUES
            ('insert', p.pubinsert), ('update', p.pubupdate), ('delete', p.pubdelete), ('truncate', p.pubtruncate)
        ) AS o (name, is_published) WHERE o.is_published
    ) AS publication_operations,
    pg_get_userbyid(p.pubowner) AS publication_owner,
    coalesce(pg_has_role(p.pubowner, 'USAGE'), TRUE) AS publication_ours,
    ARRAY(
        SELECT pr.prrelid::bigint FROM pg_publication_rel pr JOIN pg_publication other ON other.oid = pr.prpubid
        WHERE other.oid <> p.oid AND (other.pubname LIKE 'cdc\\_%%' OR EXISTS (
            SELECT FROM pg_publication_tables t
            WHERE t.pubname = other.pubname AND t.tablename = 'signal' AND t.schemaname LIKE 'cdc\\_%%'
        ))
    ) AS elsewhere
FROM pg_roles u
LEFT JOIN pg_roles r ON r.rolname = %(role)s
LEFT JOIN pg_namespace n ON n.nspname = %(schema)s
LEFT JOIN pg_publication p ON p.pubname = %(publication)s
WHERE u.rolname = current_user
"""
