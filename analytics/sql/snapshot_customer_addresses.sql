-- Snapshot of customers with address, city and country: adds today's rows (UTC), unless they are there already.
-- CREATE TABLE AS would need a place of its own each day, which a workgroup that says where results go refuses.
INSERT INTO datalake.customer_address_snapshots
SELECT
    k.customer_id,
    k.first_name,
    k.last_name,
    k.email,
    a.address_id,
    a.address,
    a.address2,
    c.city,
    a.district AS state_province,
    a.postal_code,
    n.country,
    current_date AS snapshot_date
FROM datalake.pagila_customer AS k
LEFT JOIN datalake.pagila_address AS a ON a.address_id = k.address_id
LEFT JOIN datalake.pagila_city AS c ON c.city_id = a.city_id
LEFT JOIN datalake.pagila_country AS n ON n.country_id = c.country_id
WHERE NOT EXISTS (
    SELECT s.snapshot_date
    FROM datalake.customer_address_snapshots AS s
    WHERE s.snapshot_date = current_date
)
