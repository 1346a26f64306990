-- Statement-level triggers on everything that an order embeds. Rows that orders refer to by foreign key need none for INSERT
-- and DELETE: no order can refer to them before the one and after the other.

CREATE FUNCTION datalake.outbox_capture_orders() RETURNS TRIGGER
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
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
        PERFORM datalake.outbox_changed('order', keys);
    END IF;
    RETURN NULL;
END
$$;

-- Arguments of the trigger: the kind of row that orders embed, and the column that names it.
CREATE FUNCTION datalake.outbox_capture_embedded() RETURNS TRIGGER
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
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
        PERFORM datalake.outbox_changed(TG_ARGV[0], keys);
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION datalake.outbox_capture_truncate() RETURNS TRIGGER
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM datalake.outbox_changed('everything', '{}');
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
            ('orders',               '{INSERT,UPDATE,DELETE}'::TEXT[], 'orders()'),
            ('order_details',        '{INSERT,UPDATE,DELETE}', 'orders()'),
            ('employee_territories', '{INSERT,UPDATE,DELETE}', $f$embedded('employee', 'employee_id')$f$),
            ('customers',            '{UPDATE}', $f$embedded('customer', 'customer_id')$f$),
            ('employees',            '{UPDATE}', $f$embedded('employee', 'employee_id')$f$),
            ('territories',          '{UPDATE}', $f$embedded('territory', 'territory_id')$f$),
            ('region',               '{UPDATE}', $f$embedded('region', 'region_id')$f$),
            ('shippers',             '{UPDATE}', $f$embedded('shipper', 'shipper_id')$f$),
            ('products',             '{UPDATE}', $f$embedded('product', 'product_id')$f$),
            ('suppliers',            '{UPDATE}', $f$embedded('supplier', 'supplier_id')$f$),
            ('categories',           '{UPDATE}', $f$embedded('category', 'category_id')$f$)
        ) AS s (table_name, events, capture)
    LOOP
        FOREACH event IN ARRAY source.events LOOP
            EXECUTE format(
                'CREATE TRIGGER outbox_%s AFTER %s ON datalake.%I REFERENCING %s
                 FOR EACH STATEMENT EXECUTE FUNCTION datalake.outbox_capture_%s',
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
