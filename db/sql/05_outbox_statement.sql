-- Mode `statement`: every statement writes the orders that it touched, as in the text; an order may be seen half done.
-- The pass at commit stays, and writes what is still different: an order that another transaction added meanwhile.
CREATE FUNCTION datalake.outbox_changed(entity TEXT, keys TEXT[]) RETURNS VOID
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM datalake.outbox_note(entity, keys);
    PERFORM datalake.outbox_refresh(
        ARRAY(SELECT DISTINCT affected FROM datalake.outbox_orders_of(entity, keys) AS affected), touch => TRUE);
END
$$;
