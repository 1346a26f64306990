-- Versions: every version of a row that its history table has, from when until when it held.
-- In the order of the table's commits, by which a version ends where the next one begins, and a deleted row at its end.
SELECT v.*
FROM (
    SELECT h.*, lead(h.valid_from) OVER (PARTITION BY h.order_id ORDER BY h.__commit, h.__version) AS valid_to
    FROM datalake.cdc_events_history AS h
) AS v
WHERE NOT v.ended
