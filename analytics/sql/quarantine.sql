-- Quarantine: events that didn't fit their table, newest first, each with the reason and the line as it came.
SELECT
    q.quarantined_at,
    q.lake_table,
    q.reason,
    q.origin,
    q.line,
    q."offset",
    q."text",
    q.file
FROM datalake.cdc_quarantine AS q
ORDER BY q.quarantined_at DESC, q.lake_table, q.origin, q.line, q."offset"
