-- How a change reaches the outbox. The order of locks at commit is: gate, session's slot, outbox rows by order id; nothing
-- else is waited for from there on, so writers of the outbox can't deadlock with one another.

-- What this transaction has changed and the outbox doesn't show yet. A row's lifetime is its transaction.
CREATE UNLOGGED TABLE datalake.outbox_pending (
    transaction_id XID8   NOT NULL,
    entity         TEXT   NOT NULL,
    keys           TEXT[] NOT NULL
);
CREATE INDEX outbox_pending_transaction_id ON datalake.outbox_pending (transaction_id);

-- Traces of commits that a transaction with an older snapshot can't see: slot 0 is written by whoever edited what orders
-- embed, the others (one per session, by its process id) by whoever changed orders. Locking a slot that changed since the
-- snapshot is a serialization failure: what REPEATABLE READ needs in place of a stale outbox row.
CREATE TABLE datalake.outbox_gate (
    slot    INTEGER PRIMARY KEY,
    commits BIGINT NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
INSERT INTO datalake.outbox_gate (slot) SELECT generate_series(0, 256);

-- The orders that embed the given rows, by the kind of row.
CREATE FUNCTION datalake.outbox_orders_of(entity TEXT, keys TEXT[]) RETURNS SETOF INTEGER
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    CASE entity
        WHEN 'order' THEN
            RETURN QUERY SELECT unnest(keys)::INTEGER;
        WHEN 'customer' THEN
            RETURN QUERY SELECT o.order_id FROM datalake.orders o WHERE o.customer_id = ANY (keys);
        WHEN 'employee' THEN
            RETURN QUERY SELECT o.order_id FROM datalake.orders o WHERE o.employee_id = ANY (keys::SMALLINT[]);
        WHEN 'territory' THEN
            RETURN QUERY SELECT o.order_id FROM datalake.orders o
                JOIN datalake.employee_territories et ON et.employee_id = o.employee_id
                WHERE et.territory_id = ANY (keys);
        WHEN 'region' THEN
            RETURN QUERY SELECT o.order_id FROM datalake.orders o
                JOIN datalake.employee_territories et ON et.employee_id = o.employee_id
                JOIN datalake.territories t ON t.territory_id = et.territory_id
                WHERE t.region_id = ANY (keys::SMALLINT[]);
        WHEN 'shipper' THEN
            RETURN QUERY SELECT o.order_id FROM datalake.orders o WHERE o.ship_via = ANY (keys::SMALLINT[]);
        WHEN 'product' THEN
            RETURN QUERY SELECT d.order_id FROM datalake.order_details d WHERE d.product_id = ANY (keys::SMALLINT[]);
        WHEN 'supplier' THEN
            RETURN QUERY SELECT d.order_id FROM datalake.order_details d
                JOIN datalake.products p ON p.product_id = d.product_id
                WHERE p.supplier_id = ANY (keys::SMALLINT[]);
        WHEN 'category' THEN
            RETURN QUERY SELECT d.order_id FROM datalake.order_details d
                JOIN datalake.products p ON p.product_id = d.product_id
                WHERE p.category_id = ANY (keys::SMALLINT[]);
        WHEN 'everything' THEN
            RETURN QUERY SELECT o.order_id FROM datalake.orders o
                UNION SELECT e.order_id FROM datalake.cdc_events e;
    END CASE;
END
$$;

-- Keep writers of the outbox apart until they have committed. Whoever changed orders only shares; whoever edited what
-- orders embed is alone, because an order that starts to embed the edited row may be on its way in another transaction.
CREATE FUNCTION datalake.outbox_enter(alone BOOLEAN) RETURNS VOID
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    class  CONSTANT INTEGER := 'pg_class'::REGCLASS::OID::INTEGER;
    object CONSTANT INTEGER := 'datalake.cdc_events'::REGCLASS::OID::INTEGER;
    frozen_snapshot CONSTANT BOOLEAN := current_setting('transaction_isolation') IN ('repeatable read', 'serializable');
BEGIN
    IF alone THEN
        PERFORM pg_advisory_xact_lock(class, object);
        UPDATE datalake.outbox_gate SET commits = commits + 1 WHERE slot = 0;
        IF frozen_snapshot THEN
            PERFORM FROM datalake.outbox_gate WHERE slot > 0 FOR SHARE;
        END IF;
    ELSE
        PERFORM pg_advisory_xact_lock_shared(class, object);
        UPDATE datalake.outbox_gate SET commits = commits + 1 WHERE slot = 1 + pg_backend_pid() % 256;
        IF frozen_snapshot THEN
            PERFORM FROM datalake.outbox_gate WHERE slot = 0 FOR SHARE;
        END IF;
    END IF;
END
$$;

-- Bring the outbox rows of these orders up to date. `touch` writes a row even when it already says the same.
-- Rows are locked first, in order, in a statement of their own: the statements after it then see whatever the lock's
-- previous holder committed, and two transactions that share orders wait for each other rather than deadlock.
CREATE FUNCTION datalake.outbox_refresh(ids INTEGER[], touch BOOLEAN) RETURNS VOID
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    missing INTEGER[] := ids;
    present INTEGER[];
    added   INTEGER[];
BEGIN
    WHILE cardinality(missing) > 0 LOOP
        SELECT array_agg(locked.order_id) INTO present
        FROM (
            SELECT e.order_id FROM datalake.cdc_events e
            WHERE e.order_id = ANY (missing) ORDER BY e.order_id FOR UPDATE
        ) AS locked;

        IF present IS NOT NULL THEN
            DELETE FROM datalake.cdc_events e
            WHERE e.order_id = ANY (present)
              AND NOT EXISTS (SELECT FROM datalake.orders o WHERE o.order_id = e.order_id);

            UPDATE datalake.cdc_events e
            SET customer_id = v.customer_id, order_date = v.order_date, required_date = v.required_date,
                shipped_date = v.shipped_date, order_items = v.order_items, products = v.products,
                customer = v.customer, employee = v.employee, shipper = v.shipper, shipment = v.shipment,
                updated_at = clock_timestamp()
            FROM datalake.current_order_events v
            WHERE v.order_id = e.order_id
              AND v.order_id = ANY (present)
              AND (touch
                   OR (e.customer_id, e.order_date, e.required_date, e.shipped_date, e.order_items, e.products,
                       e.customer, e.employee, e.shipper, e.shipment)
                      IS DISTINCT FROM
                      (v.customer_id, v.order_date, v.required_date, v.shipped_date, v.order_items, v.products,
                       v.customer, v.employee, v.shipper, v.shipment));
            SELECT array_agg(id) INTO missing FROM unnest(missing) AS id WHERE id <> ALL (present);
        END IF;

        EXIT WHEN missing IS NULL;
        WITH inserted AS (
            INSERT INTO datalake.cdc_events
            SELECT v.*, clock_timestamp() FROM datalake.current_order_events v WHERE v.order_id = ANY (missing)
            ON CONFLICT (order_id) DO NOTHING
            RETURNING order_id
        )
        SELECT array_agg(order_id) INTO added FROM inserted;
        -- An order whose row somebody else has just inserted goes round again; one that is gone needs no row.
        SELECT array_agg(o.order_id) INTO missing
        FROM datalake.orders o
        WHERE o.order_id = ANY (missing) AND o.order_id <> ALL (coalesce(added, '{}'));
    END LOOP;
END
$$;

-- At commit: write everything this transaction changed. The trigger is queued once per pending row; the first takes all.
CREATE FUNCTION datalake.outbox_flush() RETURNS TRIGGER
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    edits_embedded BOOLEAN;
    ids INTEGER[];
BEGIN
    SELECT bool_or(p.entity <> 'order') INTO edits_embedded
    FROM datalake.outbox_pending p WHERE p.transaction_id = pg_current_xact_id();
    IF edits_embedded IS NULL THEN
        RETURN NULL;
    END IF;
    PERFORM datalake.outbox_enter(alone => edits_embedded);
    WITH taken AS (
        DELETE FROM datalake.outbox_pending p WHERE p.transaction_id = pg_current_xact_id() RETURNING p.entity, p.keys
    )
    SELECT array_agg(DISTINCT affected.order_id) INTO ids
    FROM taken CROSS JOIN LATERAL datalake.outbox_orders_of(taken.entity, taken.keys) AS affected(order_id);
    PERFORM datalake.outbox_refresh(ids, touch => FALSE);
    RETURN NULL;
END
$$;

CREATE CONSTRAINT TRIGGER outbox_flush AFTER INSERT ON datalake.outbox_pending
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION datalake.outbox_flush();

-- Note what changed; the same note twice in one transaction would be work for nothing.
CREATE FUNCTION datalake.outbox_note(changed_entity TEXT, changed_keys TEXT[]) RETURNS VOID
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO datalake.outbox_pending (transaction_id, entity, keys)
    SELECT pg_current_xact_id(), changed_entity, changed_keys
    WHERE NOT EXISTS (
        SELECT FROM datalake.outbox_pending p
        WHERE p.transaction_id = pg_current_xact_id() AND p.entity = changed_entity AND p.keys = changed_keys
    );
END
$$;

-- Bring all of the outbox up to date: at load, and after a time without triggers.
CREATE PROCEDURE datalake.usp_init_order_events()
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    present INTEGER[];
BEGIN
    PERFORM datalake.outbox_enter(alone => TRUE);
    SELECT array_agg(e.order_id ORDER BY e.order_id) INTO present FROM datalake.cdc_events e;
    INSERT INTO datalake.cdc_events
    SELECT v.*, clock_timestamp() FROM datalake.current_order_events v
    WHERE NOT EXISTS (SELECT FROM datalake.cdc_events e WHERE e.order_id = v.order_id);
    PERFORM datalake.outbox_refresh(present, touch => FALSE);
END
$$;
