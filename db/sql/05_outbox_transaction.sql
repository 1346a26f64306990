-- Mode `transaction`: one event per order and transaction, written at commit. Never half an order.
CREATE FUNCTION datalake.outbox_changed(entity TEXT, keys TEXT[]) RETURNS VOID
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM datalake.outbox_note(entity, keys);
END
$$;
