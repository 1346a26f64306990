"""The queries for the state of a pipeline's objects in a database: parameters are SourceObjects' names.

A role that doesn't exist yet has everyone's rights (PUBLIC, `public` in the functions below).
"""

STATE = """
SELECT
    current_database() AS database,
    current_setting('server_version_num')::int AS version,
    current_setting('wal_level') AS wal_level,
    pg_is_in_recovery() AS standby,
    EXISTS (SELECT FROM pg_roles WHERE rolname = 'rds_replication') AS hosted,
    EXISTS (
        SELECT FROM pg_replication_slots WHERE slot_name = %(slot)s AND database = current_database()
    ) AS slot_exists,
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
        WHERE other.oid <> p.oid AND other.pubname LIKE 'cdc\\_%%'
    ) AS elsewhere
FROM pg_roles u
LEFT JOIN pg_roles r ON r.rolname = %(role)s
LEFT JOIN pg_namespace n ON n.nspname = %(schema)s
LEFT JOIN pg_publication p ON p.pubname = %(publication)s
WHERE u.rolname = current_user
"""
