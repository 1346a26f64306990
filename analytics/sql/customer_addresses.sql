-- Customers with address, city and country, a row for each customer as she is now.
-- The tables come each at its own pace: a customer who is there before her address shows without one.
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
    n.country
FROM datalake.pagila_customer AS k
LEFT JOIN datalake.pagila_address AS a ON a.address_id = k.address_id
LEFT JOIN datalake.pagila_city AS c ON c.city_id = a.city_id
LEFT JOIN datalake.pagila_country AS n ON n.country_id = c.country_id
