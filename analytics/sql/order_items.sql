-- Order items: a row for each item of each order, with discount, quantity and unit price as decimals.
-- Revenue is the data set's calculated field. Written so that Athena, Trino and DuckDB agree: each item stays JSON,
-- which is one column in all of them, where a row or map would become several in some.
SELECT
    o.customer_id,
    o.order_id,
    CAST(json_extract_scalar(t.item, '$.discount') AS decimal(6, 2)) AS discount,
    CAST(json_extract_scalar(t.item, '$.quantity') AS decimal(12, 2)) AS quantity,
    CAST(json_extract_scalar(t.item, '$.unit_price') AS decimal(12, 2)) AS unit_price
FROM datalake.cdc_events AS o
CROSS JOIN UNNEST(CAST(json_parse(o.order_items) AS ARRAY(JSON))) AS t(item)
