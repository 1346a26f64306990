-- Latest row per address by ROW_NUMBER, as one asks files of changes; the lake's tables hold that row and no other.
SELECT
    x.address_id,
    x.address,
    x.address2,
    x.district AS state_province,
    x.postal_code,
    x.last_update
FROM (
    SELECT
        a.*,
        row_number() OVER (PARTITION BY a.address_id ORDER BY a._hoodie_commit_time DESC) AS row_num
    FROM datalake.pagila_address AS a
) AS x
WHERE x.row_num = 1
