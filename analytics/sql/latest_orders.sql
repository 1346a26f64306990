-- Latest orders: the hundred newest by their date, with the customer's name and when the lake got them.
SELECT
    o.order_id,
    o.order_date,
    o.customer_id,
    json_extract_scalar(o.customer, '$.company_name') AS customer,
    o.shipped_date,
    o.updated_at,
    o._hoodie_commit_time AS commit_time
FROM datalake.cdc_events AS o
ORDER BY o.order_date DESC NULLS LAST, o.order_id DESC
LIMIT 100
