-- Makes a loaded outbox what it was before migrations/0004_one_mode.sql: with the column and the count of edits that mode
-- `statement` needed, and the views of another text.
ALTER TABLE datalake.outbox_pending ADD COLUMN edits_seen BIGINT;
CREATE TABLE datalake.outbox_gate (slot INTEGER PRIMARY KEY, commits BIGINT NOT NULL DEFAULT 0);
INSERT INTO datalake.outbox_gate VALUES (0);
CREATE OR REPLACE FUNCTION datalake.outbox_enter(alone BOOLEAN) RETURNS VOID
LANGUAGE plpgsql
AS $$
BEGIN
    IF alone THEN
        PERFORM pg_advisory_xact_lock('pg_class'::REGCLASS::OID::INTEGER, 'datalake.cdc_events'::REGCLASS::OID::INTEGER);
        UPDATE datalake.outbox_gate SET commits = commits + 1 WHERE slot = 0;
    ELSE
        PERFORM pg_advisory_xact_lock_shared('pg_class'::REGCLASS::OID::INTEGER, 'datalake.cdc_events'::REGCLASS::OID::INTEGER);
    END IF;
END
$$;
ALTER TABLE datalake.cdc_events RESET (toast_tuple_target);
ALTER TABLE datalake.outbox_queue ADD COLUMN touch BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE datalake.outbox_versions
SET sql_hash = 'earlier', mode = 'transaction', steps = steps[:3], views = '';
