-- Mode `statement`: every statement writes the orders that it touched; an order may be seen half done.
-- What it wrote may embed rows that are edited before this transaction commits, and what it edited may be embedded by more
-- orders then. So it is noted as well, with the count of edits so far, and looked at again at commit.
CREATE OR REPLACE FUNCTION datalake.outbox_changed(changed_entity TEXT, changed_keys TEXT[], changed_parts INTEGER) RETURNS VOID
LANGUAGE plpgsql
AS $$
DECLARE
    at_most   INTEGER;
    order_ids INTEGER[];
BEGIN
    -- As outbox_frozen(), without a call: this is in every sale.
    IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable')
       -- A head embeds nothing.
       OR (changed_parts <> 1 AND NOT datalake.outbox_readable()) THEN
        INSERT INTO datalake.outbox_queue (entity, keys, parts) VALUES (changed_entity, changed_keys, changed_parts);
        RETURN;
    END IF;
    IF changed_entity = 'order' THEN
        order_ids := changed_keys;
    ELSE
        SELECT s.inline_orders INTO at_most FROM datalake.outbox_settings s;
        order_ids := ARRAY(SELECT DISTINCT datalake.outbox_orders_of(changed_entity, changed_keys, at_most + 1));
        -- Too many to write here; the commit queues them.
        IF cardinality(order_ids) > at_most THEN
            order_ids := '{}';
        END IF;
    END IF;
    -- A head embeds nothing.
    IF changed_parts <> 1 THEN
        INSERT INTO datalake.outbox_pending (transaction_id, entity, keys, parts, edits_seen)
        SELECT pg_current_xact_id(), changed_entity, changed_keys, changed_parts, g.commits
        FROM datalake.outbox_gate g
        WHERE g.slot = 0 AND NOT EXISTS (
            SELECT FROM datalake.outbox_pending p
            WHERE p.transaction_id = pg_current_xact_id() AND p.entity = changed_entity AND p.keys = changed_keys
              AND p.parts & changed_parts = changed_parts AND p.edits_seen = g.commits
        );
    END IF;
    PERFORM datalake.outbox_write(order_ids, array_fill(changed_parts, ARRAY[cardinality(order_ids)]), touch => TRUE);
END
$$;
