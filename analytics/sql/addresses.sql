-- Addresses with city and country, a row for each address as it is now.
-- The tables come each at its own pace: an address that is there before its city shows without one.
SELECT
    a.address_id,
    a.address,
    a.address2,
    c.city,
    a.district AS state_province,
    a.postal_code,
    n.country,
    a.last_update
FROM datalake.pagila_address AS a
LEFT JOIN datalake.pagila_city AS c ON c.city_id = a.city_id
LEFT JOIN datalake.pagila_country AS n ON n.country_id = c.country_id
