-- The tables as an application has them: without our triggers.
DO $$
DECLARE
    ours RECORD;
BEGIN
    FOR ours IN
        SELECT tgname, tgrelid::REGCLASS AS table_name FROM pg_trigger
        WHERE tgname LIKE 'outbox\_%'
    LOOP
        EXECUTE format('DROP TRIGGER %I ON %s', ours.tgname, ours.table_name);
    END LOOP;
END
$$;
