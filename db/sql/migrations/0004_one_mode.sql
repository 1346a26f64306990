-- The outbox is written at commit only; there was a second mode, `statement`, which wrote it after each statement, too.
-- Whoever writes is locked out while this runs, so no note of that mode waits for its commit.
ALTER TABLE datalake.outbox_pending DROP COLUMN edits_seen;
DROP TABLE datalake.outbox_gate;
-- An earlier checkout reads this column before it sees that the database is too new for it.
ALTER TABLE datalake.outbox_versions ALTER COLUMN mode SET DEFAULT 'transaction';
