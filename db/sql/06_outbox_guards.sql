-- What must not get into the outbox's log. ALWAYS: session_replication_role = replica doesn't get round it.

-- TRUNCATE isn't published: the lake would keep all rows, and nothing would say so.
CREATE OR REPLACE FUNCTION datalake.outbox_refuse_truncate() RETURNS TRIGGER
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION 'TRUNCATE of %.% is refused: the lake would never hear of it', TG_TABLE_SCHEMA, TG_TABLE_NAME
        USING ERRCODE = 'feature_not_supported',
              HINT = 'To write the outbox again: CALL datalake.usp_init_order_events() writes what differs, '
                     'DELETE FROM datalake.cdc_events before it also what doesn''t.';
END
$$;

-- An event that is larger than the topic takes would stop the pipeline for good. Only rows with large documents are measured: JSON
-- inside JSON has at most 7 times what jsonb takes. A WHEN of the trigger would cost more: it is read and compiled for each statement.
CREATE OR REPLACE FUNCTION datalake.outbox_refuse_huge() RETURNS TRIGGER
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    bytes BIGINT;
    most  INTEGER;
BEGIN
    IF coalesce(pg_column_size(NEW.order_items), 0) + coalesce(pg_column_size(NEW.products), 0)
       + coalesce(pg_column_size(NEW.customer), 0) + coalesce(pg_column_size(NEW.employee), 0)
       + coalesce(pg_column_size(NEW.shipper), 0) + coalesce(pg_column_size(NEW.shipment), 0) <= 131072 THEN
        RETURN NEW;
    END IF;
    SELECT sum(octet_length(to_json(d.document::TEXT)::TEXT)) INTO bytes
    FROM (VALUES (NEW.order_items), (NEW.products), (NEW.customer), (NEW.employee), (NEW.shipper), (NEW.shipment)) AS d (document);
    SELECT s.max_event_bytes INTO most FROM datalake.outbox_settings s;
    IF bytes > most THEN
        RAISE EXCEPTION 'the event of order % would have % bytes, more than the % that may leave this database',
            NEW.order_id, bytes, most
            USING ERRCODE = 'program_limit_exceeded',
                  HINT = 'Split the order, or shorten what it embeds. The limit is datalake.outbox_settings.max_event_bytes; '
                         'raise it only after the topic''s.';
    END IF;
    RETURN NEW;
END
$$;

DO $$
DECLARE
    kept TEXT;
BEGIN
    FOREACH kept IN ARRAY '{cdc_events,outbox_queue}'::TEXT[] LOOP
        EXECUTE format('CREATE OR REPLACE TRIGGER outbox_refuse_truncate BEFORE TRUNCATE ON datalake.%I
                        FOR EACH STATEMENT EXECUTE FUNCTION datalake.outbox_refuse_truncate()', kept);
        EXECUTE format('ALTER TABLE datalake.%I ENABLE ALWAYS TRIGGER outbox_refuse_truncate', kept);
    END LOOP;
END
$$;
CREATE OR REPLACE TRIGGER outbox_refuse_huge BEFORE INSERT OR UPDATE ON datalake.cdc_events FOR EACH ROW
    EXECUTE FUNCTION datalake.outbox_refuse_huge();
ALTER TABLE datalake.cdc_events ENABLE ALWAYS TRIGGER outbox_refuse_huge;
