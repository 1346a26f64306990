-- How a change reaches the outbox. At commit locks are taken in this order: tables, gate, outbox rows by order id. docs/decisions/0010
-- says what that keeps away, and what not.
--
-- What a change affects is a sum of PARTS of an outbox row, so that the rest needn't be assembled again:
--   1  head      customer_id, dates, shipment
--   2  lines     order_items, products
--   4  partners  customer, employee, shipper
--   8  existence the order may be gone
--
-- The callers of outbox_enter, outbox_write and what these call have set search_path and plan_cache_mode: to set them again for
-- each call would cost a sale 7 % of its time.

-- Whether this transaction sees no more than when it began (REPEATABLE READ, SERIALIZABLE). Then it can't know what the outbox
-- should say: what it changed goes into the queue.
CREATE OR REPLACE FUNCTION datalake.outbox_frozen() RETURNS BOOLEAN
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
RETURN current_setting('transaction_isolation') IN ('repeatable read', 'serializable');

CREATE OR REPLACE FUNCTION datalake.outbox_refuse_frozen() RETURNS VOID
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF datalake.outbox_frozen() THEN
        RAISE EXCEPTION 'the outbox can''t be written at this isolation level: it wouldn''t say what others have committed'
            USING ERRCODE = 'invalid_transaction_state', HINT = 'Use READ COMMITTED.';
    END IF;
END
$$;

-- The orders that embed the given rows, one perhaps more than once; of more than `at_most`, that many (NULL: all).
CREATE OR REPLACE FUNCTION datalake.outbox_orders_of(entity TEXT, keys TEXT[], at_most INTEGER) RETURNS SETOF INTEGER
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    CASE entity
        WHEN 'order' THEN
            RETURN QUERY SELECT unnest(keys)::INTEGER LIMIT at_most;
        WHEN 'customer' THEN
            RETURN QUERY SELECT o.order_id FROM datalake.orders o WHERE o.customer_id = ANY (keys) LIMIT at_most;
        WHEN 'employee' THEN
            RETURN QUERY SELECT o.order_id FROM datalake.orders o WHERE o.employee_id = ANY (keys::SMALLINT[]) LIMIT at_most;
        WHEN 'territory' THEN
            RETURN QUERY SELECT o.order_id FROM datalake.orders o
                WHERE o.employee_id IN (
                    SELECT et.employee_id FROM datalake.employee_territories et WHERE et.territory_id = ANY (keys)
                ) LIMIT at_most;
        WHEN 'region' THEN
            RETURN QUERY SELECT o.order_id FROM datalake.orders o
                WHERE o.employee_id IN (
                    SELECT et.employee_id FROM datalake.employee_territories et
                    JOIN datalake.territories t ON t.territory_id = et.territory_id
                    WHERE t.region_id = ANY (keys::SMALLINT[])
                ) LIMIT at_most;
        WHEN 'shipper' THEN
            RETURN QUERY SELECT o.order_id FROM datalake.orders o WHERE o.ship_via = ANY (keys::SMALLINT[]) LIMIT at_most;
        WHEN 'product' THEN
            RETURN QUERY SELECT d.order_id FROM datalake.order_details d
                WHERE d.product_id = ANY (keys::SMALLINT[]) LIMIT at_most;
        WHEN 'supplier' THEN
            RETURN QUERY SELECT d.order_id FROM datalake.order_details d
                WHERE d.product_id IN (
                    SELECT p.product_id FROM datalake.products p WHERE p.supplier_id = ANY (keys::SMALLINT[])
                ) LIMIT at_most;
        WHEN 'category' THEN
            RETURN QUERY SELECT d.order_id FROM datalake.order_details d
                WHERE d.product_id IN (
                    SELECT p.product_id FROM datalake.products p WHERE p.category_id = ANY (keys::SMALLINT[])
                ) LIMIT at_most;
        WHEN 'everything' THEN
            RETURN QUERY SELECT o.order_id FROM datalake.orders o
                UNION SELECT e.order_id FROM datalake.cdc_events e LIMIT at_most;
    END CASE;
END
$$;

-- Keep apart, until they have committed, those who change what orders embed and those who make orders embed it: neither
-- sees what the other hasn't committed. A transaction that only changed orders shares the gate; one that edited embedded rows is
-- alone.
CREATE OR REPLACE FUNCTION datalake.outbox_enter(alone BOOLEAN) RETURNS VOID
LANGUAGE plpgsql
AS $$
DECLARE
    class  CONSTANT INTEGER := 'pg_class'::REGCLASS::OID::INTEGER;
    object CONSTANT INTEGER := 'datalake.cdc_events'::REGCLASS::OID::INTEGER;
BEGIN
    IF alone THEN
        PERFORM pg_advisory_xact_lock(class, object);
    ELSE
        PERFORM pg_advisory_xact_lock_shared(class, object);
    END IF;
END
$$;

-- Whether this transaction may read what orders embed, as it then may until its end. Somebody's DDL may hold one of these tables
-- and wait for another that this transaction has changed. The wait is shorter than deadlock_timeout (1 s): it is never the
-- application that ends. A new row waits twice, at its statement and at the commit: together that is shorter, too. What can't be
-- read now goes into the queue. A view's lock is one of all tables that it reads.
CREATE OR REPLACE FUNCTION datalake.outbox_readable() RETURNS BOOLEAN
LANGUAGE plpgsql SET lock_timeout = '400ms'
AS $$
BEGIN
    LOCK TABLE datalake.current_order_events IN ACCESS SHARE MODE;
    RETURN TRUE;
EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
    RETURN FALSE;
END
$$;

-- Write these parts of these orders, whose outbox rows are there and locked, where they differ. OFFSET 0 assembles each document
-- once, though it is compared and written. Returns the number of rows written.
CREATE OR REPLACE FUNCTION datalake.outbox_write_parts(ids INTEGER[], parts INTEGER) RETURNS INTEGER
LANGUAGE plpgsql
AS $$
DECLARE
    written INTEGER;
BEGIN
    CASE parts
        WHEN 1 THEN
            UPDATE datalake.cdc_events e
            SET customer_id = v.customer_id, order_date = v.order_date, required_date = v.required_date,
                shipped_date = v.shipped_date, shipment = v.shipment, updated_at = clock_timestamp()
            FROM (
                SELECT c.order_id, c.customer_id, c.order_date, c.required_date, c.shipped_date, c.shipment
                FROM datalake.current_order_heads c WHERE c.order_id = ANY (ids) OFFSET 0
            ) AS v
            WHERE e.order_id = v.order_id
              AND (e.customer_id, e.order_date, e.required_date, e.shipped_date, e.shipment)
                  IS DISTINCT FROM (v.customer_id, v.order_date, v.required_date, v.shipped_date, v.shipment);
        WHEN 2 THEN
            UPDATE datalake.cdc_events e
            SET order_items = v.order_items, products = v.products, updated_at = clock_timestamp()
            FROM (
                SELECT c.order_id, c.order_items, c.products
                FROM datalake.current_order_events c WHERE c.order_id = ANY (ids) OFFSET 0
            ) AS v
            WHERE e.order_id = v.order_id
              AND (e.order_items, e.products) IS DISTINCT FROM (v.order_items, v.products);
        WHEN 4 THEN
            UPDATE datalake.cdc_events e
            SET customer = v.customer, employee = v.employee, shipper = v.shipper, updated_at = clock_timestamp()
            FROM (
                SELECT c.order_id, c.customer, c.employee, c.shipper
                FROM datalake.current_order_events c WHERE c.order_id = ANY (ids) OFFSET 0
            ) AS v
            WHERE e.order_id = v.order_id
              AND (e.customer, e.employee, e.shipper) IS DISTINCT FROM (v.customer, v.employee, v.shipper);
        ELSE
            DELETE FROM datalake.cdc_events e
            WHERE parts & 8 <> 0 AND e.order_id = ANY (ids)
              AND NOT EXISTS (SELECT FROM datalake.orders o WHERE o.order_id = e.order_id);
            UPDATE datalake.cdc_events e
            SET customer_id = v.customer_id, order_date = v.order_date, required_date = v.required_date,
                shipped_date = v.shipped_date, order_items = v.order_items, products = v.products,
                customer = v.customer, employee = v.employee, shipper = v.shipper, shipment = v.shipment,
                updated_at = clock_timestamp()
            FROM (SELECT c.* FROM datalake.current_order_events c WHERE c.order_id = ANY (ids) OFFSET 0) AS v
            WHERE e.order_id = v.order_id
              AND (e.customer_id, e.order_date, e.required_date, e.shipped_date, e.order_items, e.products,
                   e.customer, e.employee, e.shipper, e.shipment)
                  IS DISTINCT FROM
                  (v.customer_id, v.order_date, v.required_date, v.shipped_date, v.order_items, v.products,
                   v.customer, v.employee, v.shipper, v.shipment);
    END CASE;
    GET DIAGNOSTICS written = ROW_COUNT;
    RETURN written;
END
$$;

-- Write these orders, which should have no outbox row. Returns those that have one: others gave it to them meanwhile, or some of
-- them are gone.
CREATE OR REPLACE FUNCTION datalake.outbox_insert(ids INTEGER[]) RETURNS INTEGER[]
LANGUAGE plpgsql
AS $$
DECLARE
    inserted INTEGER;
BEGIN
    INSERT INTO datalake.cdc_events
    SELECT v.*, clock_timestamp() FROM datalake.current_order_events v WHERE v.order_id = ANY (ids)
    ON CONFLICT (order_id) DO NOTHING;
    GET DIAGNOSTICS inserted = ROW_COUNT;
    IF inserted = cardinality(ids) THEN
        RETURN NULL;
    END IF;
    RETURN (SELECT array_agg(o.order_id) FROM datalake.orders o WHERE o.order_id = ANY (ids));
END
$$;

-- Bring parts of these orders' outbox rows up to date (two arrays in parallel). Rows are locked first, in order, in a
-- statement of their own: the statements after it then see what the lock's previous holder committed, and two
-- transactions that share orders wait for each other in turn.
CREATE OR REPLACE FUNCTION datalake.outbox_write(order_ids INTEGER[], order_parts INTEGER[]) RETURNS VOID
LANGUAGE plpgsql
AS $$
DECLARE
    present INTEGER[];
    absent  INTEGER[];
    ids     INTEGER[];
    parts   INTEGER;
BEGIN
    -- New orders have no row: to look for it first would cost a sale more than the rare second try.
    IF 7 = ALL (order_parts) THEN
        order_ids := datalake.outbox_insert(order_ids);
        IF order_ids IS NULL THEN
            RETURN;
        END IF;
        order_parts := array_fill(15, ARRAY[cardinality(order_ids)]);
    END IF;
    LOOP
        SELECT array_agg(locked.order_id) INTO present
        FROM (
            SELECT e.order_id FROM datalake.cdc_events e
            WHERE e.order_id = ANY (order_ids) ORDER BY e.order_id FOR UPDATE
        ) AS locked;
        IF present IS NULL THEN
            absent := order_ids;
        ELSIF cardinality(present) = cardinality(order_ids) AND order_parts[1] = ALL (order_parts) THEN
            PERFORM datalake.outbox_write_parts(order_ids, order_parts[1]);
            RETURN;
        ELSE
            absent := NULL;
            FOR parts, ids IN
                SELECT CASE WHEN e.order_id IS NULL THEN 0 ELSE changed.parts END, array_agg(changed.order_id)
                FROM unnest(order_ids, order_parts) AS changed(order_id, parts)
                LEFT JOIN unnest(present) AS e(order_id) ON e.order_id = changed.order_id
                GROUP BY 1
            LOOP
                IF parts = 0 THEN
                    absent := ids;
                ELSE
                    PERFORM datalake.outbox_write_parts(ids, parts);
                END IF;
            END LOOP;
        END IF;
        order_ids := datalake.outbox_insert(absent);
        EXIT WHEN order_ids IS NULL;
        order_parts := array_fill(15, ARRAY[cardinality(order_ids)]);
    END LOOP;
END
$$;

-- At commit: write what this transaction changed. The trigger is queued once per pending row; the first takes all.
-- Without enable_seqscan = off PostgreSQL would read small tables whole, also the pending rows' with all that are dead.
CREATE OR REPLACE FUNCTION datalake.outbox_flush() RETURNS TRIGGER
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
AS $$
DECLARE
    written     INTEGER;
    changes     datalake.outbox_pending[];
    all_parts   INTEGER;
    edits       BOOLEAN;
    many        BOOLEAN;
    only_id     INTEGER;
    order_ids   INTEGER[];
    order_parts INTEGER[];
BEGIN
    WITH taken AS (
        DELETE FROM datalake.outbox_pending p WHERE p.transaction_id = pg_current_xact_id() RETURNING p.*
    )
    SELECT array_agg(t), bit_or(t.parts), bool_or(t.entity <> 'order') INTO changes, all_parts, edits FROM taken t;
    IF changes IS NULL THEN
        RETURN NULL;
    END IF;
    -- A head embeds nothing, and a transaction that changed one order's head holds its row in orders: to write it needs neither
    -- the gate nor to lock first. A row that seems to say the same already is locked below: the queue may be writing an older head.
    IF all_parts = 1 AND NOT edits AND cardinality(changes) = 1 AND cardinality(changes[1].keys) = 1 THEN
        only_id := changes[1].keys[1];
        UPDATE datalake.cdc_events e
        SET customer_id = head.customer_id, order_date = head.order_date, required_date = head.required_date,
            shipped_date = head.shipped_date, shipment = head.shipment, updated_at = clock_timestamp()
        FROM (SELECT * FROM datalake.current_order_heads c WHERE c.order_id = only_id OFFSET 0) AS head
        WHERE e.order_id = only_id
          AND (e.customer_id, e.order_date, e.required_date, e.shipped_date, e.shipment)
              IS DISTINCT FROM (head.customer_id, head.order_date, head.required_date, head.shipped_date, head.shipment);
        GET DIAGNOSTICS written = ROW_COUNT;
        IF written = 1 THEN
            RETURN NULL;
        END IF;
    END IF;
    IF NOT datalake.outbox_readable() THEN
        INSERT INTO datalake.outbox_queue (entity, keys, parts) SELECT c.entity, c.keys, c.parts FROM unnest(changes) AS c;
        RETURN NULL;
    END IF;
    PERFORM datalake.outbox_enter(alone => edits);
    -- Only now look for the orders: others may have come while we waited.
    IF cardinality(changes) = 1 AND NOT edits THEN
        order_ids := changes[1].keys;
        order_parts := array_fill(all_parts, ARRAY[cardinality(order_ids)]);
    ELSE
        IF edits THEN
            -- Not distinct: the limit cuts lines, and few orders may have that many.
            SELECT count(*) > s.inline_orders INTO many
            FROM datalake.outbox_settings s
            LEFT JOIN LATERAL (
                SELECT datalake.outbox_orders_of(c.entity, c.keys, s.inline_orders + 1)
                FROM unnest(changes) AS c WHERE c.entity <> 'order'
            ) AS embedding ON TRUE
            GROUP BY s.inline_orders;
            IF many THEN
                INSERT INTO datalake.outbox_queue (entity, keys, parts, cut)
                SELECT DISTINCT c.entity, c.keys, c.parts, TRUE FROM unnest(changes) AS c WHERE c.entity <> 'order';
            END IF;
        END IF;
        SELECT array_agg(a.order_id), array_agg(a.parts) INTO order_ids, order_parts
        FROM (
            SELECT embedding.order_id, bit_or(c.parts) AS parts
            FROM unnest(changes) AS c
            CROSS JOIN LATERAL (
                SELECT unnest(c.keys)::INTEGER AS order_id WHERE c.entity = 'order'
                UNION ALL
                SELECT datalake.outbox_orders_of(c.entity, c.keys, NULL) WHERE c.entity <> 'order' AND NOT many
            ) AS embedding
            GROUP BY embedding.order_id
        ) AS a;
    END IF;
    IF order_ids IS NOT NULL THEN
        PERFORM datalake.outbox_write(order_ids, order_parts);
    END IF;
    RETURN NULL;
END
$$;

-- A constraint trigger can't be replaced, and to drop it would wait for those who only read the table, such as a dump.
DO $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM pg_trigger WHERE tgrelid = 'datalake.outbox_pending'::REGCLASS AND tgname = 'outbox_flush'
    ) THEN
        CREATE CONSTRAINT TRIGGER outbox_flush AFTER INSERT ON datalake.outbox_pending
            DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION datalake.outbox_flush();
    END IF;
END
$$;

-- Bring all of the outbox up to date: at load, and after a time without triggers. Others may write meanwhile; only rows that
-- differ are locked.
CREATE OR REPLACE PROCEDURE datalake.usp_init_order_events()
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    different INTEGER[];
BEGIN
    PERFORM datalake.outbox_refuse_frozen();
    PERFORM datalake.outbox_enter(alone => FALSE);
    SELECT array_agg(d.order_id) INTO different
    FROM (
        SELECT o.order_id FROM datalake.orders o
        WHERE NOT EXISTS (SELECT FROM datalake.cdc_events e WHERE e.order_id = o.order_id)
        UNION ALL
        SELECT e.order_id FROM datalake.cdc_events e
        WHERE NOT EXISTS (SELECT FROM datalake.orders o WHERE o.order_id = e.order_id)
        UNION ALL
        SELECT e.order_id FROM datalake.cdc_events e
        JOIN datalake.current_order_events v ON v.order_id = e.order_id
        WHERE (e.customer_id, e.order_date, e.required_date, e.shipped_date, e.order_items, e.products,
               e.customer, e.employee, e.shipper, e.shipment)
              IS DISTINCT FROM
              (v.customer_id, v.order_date, v.required_date, v.shipped_date, v.order_items, v.products,
               v.customer, v.employee, v.shipper, v.shipment)
    ) AS d;
    IF different IS NOT NULL THEN
        PERFORM datalake.outbox_write(different, array_fill(15, ARRAY[cardinality(different)]));
    END IF;
END
$$;
