-- The outbox: one row per order with all that belongs to it, kept up to date by triggers.
-- docs/decisions/0010 and 0011 say why it is built this way; 04_outbox_<mode>.sql says when a change is written.

CREATE TABLE datalake.cdc_events (
    order_id      INTEGER NOT NULL PRIMARY KEY,
    customer_id   BPCHAR,
    order_date    DATE,
    required_date DATE,
    shipped_date  DATE,
    order_items   JSONB,
    products      JSONB,
    customer      JSONB,
    employee      JSONB,
    shipper       JSONB,
    shipment      JSONB,
    updated_at    TIMESTAMPTZ
);

-- Every event carries the whole row: no placeholder for an unchanged TOAST value, no delete that has only its key.
ALTER TABLE datalake.cdc_events REPLICA IDENTITY FULL;

-- What the outbox should say. Lateral, so that `WHERE order_id = ANY (...)` reads only what those orders need.
CREATE VIEW datalake.current_order_events AS
SELECT
    o.order_id,
    o.customer_id::BPCHAR AS customer_id,
    o.order_date,
    o.required_date,
    o.shipped_date,
    line.order_items,
    line.products,
    (SELECT to_jsonb(c) FROM datalake.customers c WHERE c.customer_id = o.customer_id) AS customer,
    worker.employee,
    (SELECT to_jsonb(s) FROM datalake.shippers s WHERE s.shipper_id = o.ship_via) AS shipper,
    jsonb_build_object(
        'freight', o.freight,
        'ship_name', o.ship_name,
        'ship_address', o.ship_address,
        'ship_city', o.ship_city,
        'ship_region', o.ship_region,
        'ship_postal_code', o.ship_postal_code,
        'ship_country', o.ship_country
    ) AS shipment
FROM datalake.orders o
LEFT JOIN LATERAL (
    SELECT
        jsonb_agg(to_jsonb(d) - 'order_id' ORDER BY d.product_id) AS order_items,
        jsonb_agg(article.details ORDER BY d.product_id) AS products
    FROM datalake.order_details d
    LEFT JOIN LATERAL (
        SELECT to_jsonb(p) || coalesce(to_jsonb(s), '{}') || coalesce(to_jsonb(c), '{}') AS details
        FROM datalake.products p
        LEFT JOIN datalake.suppliers s ON s.supplier_id = p.supplier_id
        LEFT JOIN datalake.categories c ON c.category_id = p.category_id
        WHERE p.product_id = d.product_id
        OFFSET 0 -- keeps this a unit, so that a pass over all orders builds each product once (Memoize)
    ) AS article ON TRUE
    WHERE d.order_id = o.order_id
) AS line ON TRUE
LEFT JOIN LATERAL (
    SELECT to_jsonb(e) || jsonb_build_object('territories', coalesce(place.territories, '[]')) AS employee
    FROM datalake.employees e
    LEFT JOIN LATERAL (
        SELECT jsonb_agg(to_jsonb(t) || to_jsonb(r) ORDER BY t.territory_id) AS territories
        FROM datalake.employee_territories et
        JOIN datalake.territories t ON t.territory_id = et.territory_id
        JOIN datalake.region r ON r.region_id = t.region_id
        WHERE et.employee_id = e.employee_id
    ) AS place ON TRUE
    WHERE e.employee_id = o.employee_id
    OFFSET 0
) AS worker ON TRUE;
