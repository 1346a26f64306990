-- Statement-level triggers on everything that an order embeds: each kind of row, each kind of statement.

CREATE OR REPLACE FUNCTION datalake.outbox_capture_orders() RETURNS TRIGGER
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    whole TEXT[];
    heads TEXT[];
    kept  BOOLEAN;
    noted BOOLEAN;
BEGIN
    IF TG_OP = 'INSERT' THEN
        SELECT array_agg(n.order_id) INTO whole FROM new_rows n;
    ELSIF TG_OP = 'DELETE' THEN
        SELECT array_agg(o.order_id) INTO whole FROM old_rows o;
    ELSE
        -- An order that keeps its id and its partners has only a new head. Both tables have their rows in the same order: if each
        -- order keeps them, this is all, and cheaper than a join.
        SELECT array_agg(n.order_id),
               array_agg((n.order_id, n.customer_id, n.employee_id, n.ship_via))
               = (SELECT array_agg((o.order_id, o.customer_id, o.employee_id, o.ship_via)) FROM old_rows o)
        INTO heads, kept FROM new_rows n;
    END IF;
    IF TG_OP = 'UPDATE' AND NOT kept THEN
        SELECT array_agg(c.order_id) FILTER (WHERE NOT c.head_only), array_agg(c.order_id) FILTER (WHERE c.head_only)
        INTO whole, heads
        FROM (
            SELECT order_id,
                   (o.customer_id, o.employee_id, o.ship_via) IS NOT DISTINCT FROM (n.customer_id, n.employee_id, n.ship_via)
                   AND o.order_id IS NOT NULL AND n.order_id IS NOT NULL AS head_only
            FROM old_rows o FULL JOIN new_rows n USING (order_id)
        ) AS c;
    END IF;
    IF whole IS NOT NULL THEN
        noted := datalake.outbox_changed('order', whole, CASE TG_OP WHEN 'INSERT' THEN 7 ELSE 15 END);
    END IF;
    IF heads IS NOT NULL THEN
        noted := datalake.outbox_changed('order', heads, 1);
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION datalake.outbox_capture_lines() RETURNS TRIGGER
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
AS $$
DECLARE
    keys  TEXT[];
    low   INTEGER;
    high  INTEGER;
    noted BOOLEAN;
BEGIN
    IF TG_OP = 'INSERT' THEN
        -- Most statements write lines of one order: then nothing needs to be sorted.
        SELECT min(n.order_id), max(n.order_id) INTO low, high FROM new_rows n;
        IF low = high THEN
            keys := ARRAY[low];
        ELSE
            SELECT array_agg(DISTINCT n.order_id) INTO keys FROM new_rows n;
        END IF;
    ELSIF TG_OP = 'DELETE' THEN
        SELECT array_agg(DISTINCT o.order_id) INTO keys FROM old_rows o;
    ELSE
        SELECT array_agg(c.order_id) INTO keys
        FROM (SELECT order_id FROM old_rows UNION SELECT order_id FROM new_rows) AS c;
    END IF;
    IF keys IS NOT NULL THEN
        noted := datalake.outbox_changed('order', keys, 2);
    END IF;
    RETURN NULL;
END
$$;

-- Arguments of the trigger: the kind of row, the column that names it, the parts of an outbox row that show it, the columns
-- that no event shows, and the tables whose foreign keys say that no order embeds a row that isn't there yet or any more
-- ('{}': an order does, without one).
CREATE OR REPLACE FUNCTION datalake.outbox_capture() RETURNS TRIGGER
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    keys   TEXT[];
    hidden TEXT[];
BEGIN
    IF TG_OP = 'INSERT' THEN
        SELECT array_agg(DISTINCT to_jsonb(n) ->> TG_ARGV[1]) INTO keys FROM new_rows n;
    ELSIF TG_OP = 'DELETE' THEN
        SELECT array_agg(DISTINCT to_jsonb(o) ->> TG_ARGV[1]) INTO keys FROM old_rows o;
    ELSE
        hidden := TG_ARGV[3];
        -- Both have their rows in the same order; for stock alone, which every sale may change, this is all.
        IF (SELECT array_agg(to_jsonb(o) - hidden) FROM old_rows o)
           = (SELECT array_agg(to_jsonb(n) - hidden) FROM new_rows n) THEN
            RETURN NULL;
        END IF;
        WITH before AS (
            SELECT to_jsonb(o) - hidden AS shown FROM old_rows o
        ), after AS (
            SELECT to_jsonb(n) - hidden AS shown FROM new_rows n
        )
        SELECT array_agg(DISTINCT c.shown ->> TG_ARGV[1]) INTO keys
        FROM (
            (TABLE before EXCEPT ALL TABLE after) UNION ALL (TABLE after EXCEPT ALL TABLE before)
        ) AS c;
    END IF;
    IF keys IS NULL THEN
        RETURN NULL;
    END IF;
    -- An expression would leave the order of these questions open.
    IF TG_OP <> 'UPDATE' AND datalake.outbox_guarded(TG_RELID, TG_ARGV[4]::TEXT[]) AND datalake.outbox_readable() THEN
        IF NOT EXISTS (SELECT FROM datalake.outbox_orders_of(TG_ARGV[0], keys, 1)) THEN
            RETURN NULL;
        END IF;
    END IF;
    PERFORM datalake.outbox_changed(TG_ARGV[0], keys, TG_ARGV[2]::INTEGER);
    RETURN NULL;
END
$$;

-- Whether foreign keys of all these tables, checked by the end of each statement, refer to this one. Then an order that embeds a
-- row which has come or gone is in sight at the end of the statement: the row was replaced in it.
CREATE OR REPLACE FUNCTION datalake.outbox_guarded(embedded OID, referring TEXT[]) RETURNS BOOLEAN
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT cardinality(referring) > 0
       AND current_setting('transaction_isolation') NOT IN ('repeatable read', 'serializable')
       AND NOT EXISTS (
           SELECT FROM unnest(referring) AS r
           WHERE NOT EXISTS (
               SELECT FROM pg_constraint c
               WHERE c.conrelid = ('datalake.' || quote_ident(r))::REGCLASS AND c.contype = 'f' AND c.confrelid = embedded
                 AND c.convalidated AND NOT c.condeferrable
           )
       )
$$;

CREATE OR REPLACE FUNCTION datalake.outbox_capture_truncate() RETURNS TRIGGER
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM datalake.outbox_changed('everything', '{}', 15);
    RETURN NULL;
END
$$;

-- Watch all tables. After a change of the views this is to be run again: the columns that no event shows are read from them.
CREATE OR REPLACE FUNCTION datalake.outbox_watch() RETURNS VOID
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    source  RECORD;
    event   TEXT;
    hidden  NAME[];
BEGIN
    FOR source IN
        SELECT * FROM (VALUES
            ('orders',               NULL, NULL, NULL, NULL),
            ('order_details',        NULL, NULL, NULL, NULL),
            ('employee_territories', 'employee', 'employee_id', 4, '{}'),
            ('employees',            'employee', 'employee_id', 4, '{orders,employee_territories}'),
            ('territories',          'territory', 'territory_id', 4, '{employee_territories}'),
            ('region',               'region', 'region_id', 4, '{territories}'),
            ('customers',            'customer', 'customer_id', 4, '{orders}'),
            ('shippers',             'shipper', 'shipper_id', 4, '{orders}'),
            ('products',             'product', 'product_id', 2, '{order_details}'),
            ('suppliers',            'supplier', 'supplier_id', 2, '{products}'),
            ('categories',           'category', 'category_id', 2, '{products}')
        ) AS s (table_name, entity, key, parts, referring)
    LOOP
        SELECT array_agg(a.attname) INTO hidden
        FROM pg_attribute a
        WHERE a.attrelid = to_regclass('datalake.' || source.table_name) AND a.attnum > 0 AND NOT a.attisdropped
          AND a.attname NOT IN (
              SELECT s.attname FROM pg_attribute s
              WHERE s.attrelid = coalesce(to_regclass('datalake.current_order_' || source.table_name), a.attrelid)
          );
        FOREACH event IN ARRAY '{INSERT,UPDATE,DELETE}'::TEXT[] LOOP
            EXECUTE format(
                'CREATE OR REPLACE TRIGGER outbox_%s AFTER %s ON datalake.%I REFERENCING %s
                 FOR EACH STATEMENT EXECUTE FUNCTION datalake.%s',
                lower(event), event, source.table_name,
                CASE event
                    WHEN 'INSERT' THEN 'NEW TABLE AS new_rows'
                    WHEN 'DELETE' THEN 'OLD TABLE AS old_rows'
                    ELSE 'OLD TABLE AS old_rows NEW TABLE AS new_rows'
                END,
                CASE source.table_name
                    WHEN 'orders' THEN 'outbox_capture_orders()'
                    WHEN 'order_details' THEN 'outbox_capture_lines()'
                    ELSE format('outbox_capture(%L, %L, %L, %L, %L)', source.entity, source.key, source.parts,
                                coalesce(hidden, '{}'), source.referring)
                END);
        END LOOP;
        EXECUTE format(
            'CREATE OR REPLACE TRIGGER outbox_truncate AFTER TRUNCATE ON datalake.%I
             FOR EACH STATEMENT EXECUTE FUNCTION datalake.outbox_capture_truncate()',
            source.table_name);
    END LOOP;
END
$$;
SELECT datalake.outbox_watch();

-- Triggers need no EXECUTE right of the user; nobody else has business with these functions.
DO $$
DECLARE
    ours REGPROCEDURE;
BEGIN
    FOR ours IN
        SELECT oid FROM pg_proc
        WHERE pronamespace = 'datalake'::REGNAMESPACE AND (proname LIKE 'outbox\_%' OR proname LIKE 'usp\_%')
    LOOP
        EXECUTE format('REVOKE ALL ON ROUTINE %s FROM PUBLIC', ours);
    END LOOP;
END
$$;
