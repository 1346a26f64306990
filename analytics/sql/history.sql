-- History: every version of a row that landed, from when until when it held; a delete ends one, and so does a TRUNCATE.
-- In the topic's order, which is that of the objects' names, then by time and position: Athena knows no lines of a file.
WITH events AS (
    SELECT
        json_extract_scalar(e.event, '$["order_id"]') AS row_key,
        json_extract_scalar(e.event, '$["__op"]') AS op,
        coalesce(CAST(json_extract_scalar(e.event, '$["__lsn"]') AS bigint), 0) AS lsn,
        from_unixtime(CAST(json_extract_scalar(e.event, '$["__source_ts_ms"]') AS double) / 1000) AS happened_at,
        e."$path" AS place,
        e.event
    FROM datalake.cdc_landed AS e
    WHERE e.topic = 'demo.datalake.cdc_events'
),
changes AS (
    SELECT v.row_key, v.op, v.lsn, v.happened_at, min(v.place) AS place, min(v.event) AS event
    FROM events AS v
    WHERE v.op IN ('r', 'c', 'u', 'd') AND v.row_key IS NOT NULL
    GROUP BY v.row_key, v.op, v.lsn, v.happened_at
),
emptied AS (
    SELECT v.row_key, v.op, v.lsn, v.happened_at, min(t.happened_at) AS emptied_at
    FROM changes AS v
    INNER JOIN events AS t
        ON t.happened_at > v.happened_at OR (t.happened_at = v.happened_at AND t.lsn > v.lsn)
    WHERE t.op = 't'
    GROUP BY v.row_key, v.op, v.lsn, v.happened_at
),
versions AS (
    SELECT
        c.*,
        lead(c.happened_at) OVER (PARTITION BY c.row_key ORDER BY c.place, c.happened_at, c.lsn) AS next_at
    FROM changes AS c
)
SELECT
    v.row_key,
    v.happened_at AS valid_from,
    CASE WHEN v.next_at <= m.emptied_at OR m.emptied_at IS NULL THEN v.next_at ELSE m.emptied_at END AS valid_to,
    v.op,
    v.event
FROM versions AS v
LEFT JOIN emptied AS m
    ON m.row_key = v.row_key AND m.op = v.op AND m.lsn = v.lsn AND m.happened_at = v.happened_at
WHERE v.op <> 'd'
ORDER BY v.row_key, v.happened_at, v.place, v.lsn
