-- Mode `statement`: every statement writes the orders that it touched, as in the text; an order may be seen half done.
-- It is noted as well: what orders embed may be edited before this transaction commits, and the orders that embed what it
-- edited may become more.
CREATE FUNCTION datalake.outbox_changed(changed_entity TEXT, changed_keys TEXT[], changed_parts INTEGER) RETURNS VOID
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    order_ids INTEGER[];
BEGIN
    INSERT INTO datalake.outbox_pending (transaction_id, entity, keys, parts, edits_seen)
    SELECT pg_current_xact_id(), changed_entity, changed_keys, changed_parts, g.commits
    FROM datalake.outbox_gate g WHERE g.slot = 0;
    IF changed_entity = 'order' THEN
        order_ids := changed_keys;
    ELSE
        order_ids := ARRAY(SELECT DISTINCT datalake.outbox_orders_of(changed_entity, changed_keys));
    END IF;
    PERFORM datalake.outbox_write(order_ids, array_fill(changed_parts, ARRAY[cardinality(order_ids)]), touch => TRUE);
END
$$;
