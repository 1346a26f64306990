-- Rows changed since a commit: what was inserted or updated after it, oldest change first. Deletes don't show.
-- A deleted row is in the table no more, and Athena has no incremental queries on Hudi's tables.
SELECT r.*
FROM datalake.cdc_events AS r
WHERE r._hoodie_commit_time > ?
ORDER BY r._hoodie_commit_time
