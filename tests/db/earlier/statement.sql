-- Mode `statement`, after transaction.sql: each statement writes the orders that it touched.
CREATE OR REPLACE FUNCTION datalake.outbox_changed(changed_entity TEXT, changed_keys TEXT[], changed_parts INTEGER) RETURNS BOOLEAN
LANGUAGE plpgsql
AS $$
DECLARE
    order_ids INTEGER[] := changed_keys;
BEGIN
    IF changed_entity <> 'order' THEN
        order_ids := ARRAY(SELECT DISTINCT datalake.outbox_orders_of(changed_entity, changed_keys, NULL));
    END IF;
    INSERT INTO datalake.outbox_pending (transaction_id, entity, keys, parts, edits_seen)
    SELECT pg_current_xact_id(), changed_entity, changed_keys, changed_parts, g.commits
    FROM datalake.outbox_gate g WHERE g.slot = 0;
    PERFORM datalake.outbox_write(order_ids, array_fill(changed_parts, ARRAY[cardinality(order_ids)]));
    RETURN TRUE;
END
$$;
UPDATE datalake.outbox_versions SET mode = 'statement';
