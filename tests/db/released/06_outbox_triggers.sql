-- Statement-level triggers on everything that an order embeds. Rows that orders refer to by foreign key need none for INSERT
-- and DELETE: no order can refer to them before the one and after the other.

CREATE FUNCTION datalake.outbox_capture_orders() RETURNS TRIGGER
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    whole TEXT[];
    heads TEXT[];
BEGIN
    IF TG_OP = 'INSERT' THEN
        SELECT array_agg(n.order_id) INTO whole FROM new_rows n;
    ELSIF TG_OP = 'DELETE' THEN
        SELECT array_agg(o.order_id) INTO whole FROM old_rows o;
    ELSE
        -- An order that keeps its id and its partners has only a new head.
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
        PERFORM datalake.outbox_changed('order', whole, CASE TG_OP WHEN 'INSERT' THEN 7 ELSE 15 END);
    END IF;
    IF heads IS NOT NULL THEN
        PERFORM datalake.outbox_changed('order', heads, 1);
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION datalake.outbox_capture_lines() RETURNS TRIGGER
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    keys TEXT[];
BEGIN
    IF TG_OP = 'INSERT' THEN
        SELECT array_agg(DISTINCT n.order_id) INTO keys FROM new_rows n;
    ELSIF TG_OP = 'DELETE' THEN
        SELECT array_agg(DISTINCT o.order_id) INTO keys FROM old_rows o;
    ELSE
        SELECT array_agg(c.order_id) INTO keys
        FROM (SELECT order_id FROM old_rows UNION SELECT order_id FROM new_rows) AS c;
    END IF;
    IF keys IS NOT NULL THEN
        PERFORM datalake.outbox_changed('order', keys, 2);
    END IF;
    RETURN NULL;
END
$$;

-- Arguments of the trigger: the kind of row, the column that names it, and the parts of an outbox row that show it.
CREATE FUNCTION datalake.outbox_capture() RETURNS TRIGGER
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    keys TEXT[];
BEGIN
    IF TG_OP = 'INSERT' THEN
        SELECT array_agg(DISTINCT to_jsonb(n) ->> TG_ARGV[1]) INTO keys FROM new_rows n;
    ELSIF TG_OP = 'DELETE' THEN
        SELECT array_agg(DISTINCT to_jsonb(o) ->> TG_ARGV[1]) INTO keys FROM old_rows o;
    ELSE
        SELECT array_agg(c.key) INTO keys
        FROM (
            SELECT to_jsonb(o) ->> TG_ARGV[1] AS key FROM old_rows o
            UNION SELECT to_jsonb(n) ->> TG_ARGV[1] FROM new_rows n
        ) AS c;
    END IF;
    IF keys IS NOT NULL THEN
        PERFORM datalake.outbox_changed(TG_ARGV[0], keys, TG_ARGV[2]::INTEGER);
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION datalake.outbox_capture_truncate() RETURNS TRIGGER
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM datalake.outbox_changed('everything', '{}', 15);
    RETURN NULL;
END
$$;

DO $$
DECLARE
    source RECORD;
    event  TEXT;
BEGIN
    FOR source IN
        SELECT * FROM (VALUES
            ('orders',               '{INSERT,UPDATE,DELETE}'::TEXT[], 'outbox_capture_orders()'),
            ('order_details',        '{INSERT,UPDATE,DELETE}', 'outbox_capture_lines()'),
            ('employee_territories', '{INSERT,UPDATE,DELETE}', $f$outbox_capture('employee', 'employee_id', 4)$f$),
            ('employees',            '{UPDATE}', $f$outbox_capture('employee', 'employee_id', 4)$f$),
            ('territories',          '{UPDATE}', $f$outbox_capture('territory', 'territory_id', 4)$f$),
            ('region',               '{UPDATE}', $f$outbox_capture('region', 'region_id', 4)$f$),
            ('customers',            '{UPDATE}', $f$outbox_capture('customer', 'customer_id', 4)$f$),
            ('shippers',             '{UPDATE}', $f$outbox_capture('shipper', 'shipper_id', 4)$f$),
            ('products',             '{UPDATE}', $f$outbox_capture('product', 'product_id', 2)$f$),
            ('suppliers',            '{UPDATE}', $f$outbox_capture('supplier', 'supplier_id', 2)$f$),
            ('categories',           '{UPDATE}', $f$outbox_capture('category', 'category_id', 2)$f$)
        ) AS s (table_name, events, capture)
    LOOP
        FOREACH event IN ARRAY source.events LOOP
            EXECUTE format(
                'CREATE TRIGGER outbox_%s AFTER %s ON datalake.%I REFERENCING %s
                 FOR EACH STATEMENT EXECUTE FUNCTION datalake.%s',
                lower(event), event, source.table_name,
                CASE event
                    WHEN 'INSERT' THEN 'NEW TABLE AS new_rows'
                    WHEN 'DELETE' THEN 'OLD TABLE AS old_rows'
                    ELSE 'OLD TABLE AS old_rows NEW TABLE AS new_rows'
                END,
                source.capture);
        END LOOP;
        EXECUTE format(
            'CREATE TRIGGER outbox_truncate AFTER TRUNCATE ON datalake.%I
             FOR EACH STATEMENT EXECUTE FUNCTION datalake.outbox_capture_truncate()',
            source.table_name);
    END LOOP;
END
$$;

-- Triggers need no EXECUTE right of the user; nobody else has business with these functions.
REVOKE ALL ON ALL ROUTINES IN SCHEMA datalake FROM PUBLIC;
