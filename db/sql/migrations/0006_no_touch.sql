-- Only db/rewriting.py writes rows that say the same already, and without the queue.
ALTER TABLE datalake.outbox_queue DROP COLUMN touch;
