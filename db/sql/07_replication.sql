-- What leaves the database: the outbox, and the heartbeat. What somebody else has added to the publication stays in it.
DO $$
DECLARE
    source TEXT;
BEGIN
    FOREACH source IN ARRAY '{cdc_events,cdc_heartbeat}'::TEXT[] LOOP
        IF NOT EXISTS (
            SELECT FROM pg_publication_tables
            WHERE pubname = 'cdc_publication' AND schemaname = 'datalake' AND tablename = source
        ) THEN
            EXECUTE format('ALTER PUBLICATION cdc_publication ADD TABLE datalake.%I', source);
        END IF;
    END LOOP;
END
$$;
ALTER PUBLICATION cdc_publication SET (publish = 'insert, update, delete');
