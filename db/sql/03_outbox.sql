-- What the outbox should say, as views. They are dropped and created again when this file or the tables below them change
-- (docs/your-database/outbox.md). docs/decisions/0010 says why the outbox is built this way.

-- What the outbox should say of an order itself. A view of its own, because most changes are of this part alone and each
-- relation that a query names costs, even one that it needn't read.
CREATE VIEW datalake.current_order_heads AS
SELECT
    o.order_id,
    o.customer_id::BPCHAR AS customer_id,
    o.order_date,
    o.required_date,
    o.shipped_date,
    jsonb_build_object(
        'freight', o.freight,
        'ship_name', o.ship_name,
        'ship_address', o.ship_address,
        'ship_city', o.ship_city,
        'ship_region', o.ship_region,
        'ship_postal_code', o.ship_postal_code,
        'ship_country', o.ship_country
    ) AS shipment,
    o.customer_id AS customer_key,
    o.employee_id,
    o.ship_via
FROM datalake.orders o;

-- What events show of these tables: each column but those named here. A sale lowers the stock, and would touch each order that
-- ever had the product; a picture would be in an event once per line.
DO $$
DECLARE
    source RECORD;
BEGIN
    FOR source IN
        SELECT h.table_name, string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) AS shown
        FROM (VALUES
            ('products', '{units_in_stock,units_on_order,reorder_level}'::TEXT[]),
            ('categories', '{picture}'),
            ('employees', '{photo}')
        ) AS h (table_name, hidden)
        JOIN pg_attribute a ON a.attrelid = format('datalake.%I', h.table_name)::REGCLASS AND a.attnum > 0
        WHERE NOT a.attisdropped AND a.attname <> ALL (h.hidden)
        GROUP BY h.table_name
    LOOP
        EXECUTE format('CREATE VIEW datalake.current_order_%s AS SELECT %s FROM datalake.%I',
                       source.table_name, source.shown, source.table_name);
    END LOOP;
END
$$;

-- What the outbox should say. Each document is a look-up of its own, so that a reader of one order's row, or of only one
-- part of it, pays for that alone. Outer joins throughout: an order never vanishes because a partner is missing.
CREATE VIEW datalake.current_order_events AS
SELECT
    h.order_id,
    h.customer_id,
    h.order_date,
    h.required_date,
    h.shipped_date,
    (
        SELECT jsonb_agg(item ORDER BY item.product_id)
        FROM (
            SELECT d.product_id, d.unit_price, d.quantity, d.discount
            FROM datalake.order_details d
            WHERE d.order_id = h.order_id
        ) AS item
    ) AS order_items,
    (
        SELECT jsonb_agg(product ORDER BY product.product_id)
        FROM (
            SELECT p.*, s.company_name, s.contact_name, s.contact_title, s.address, s.city, s.region, s.postal_code,
                   s.country, s.phone, s.fax, s.homepage, c.category_name, c.description
            FROM datalake.order_details d
            JOIN datalake.current_order_products p ON p.product_id = d.product_id
            LEFT JOIN datalake.suppliers s ON s.supplier_id = p.supplier_id
            LEFT JOIN datalake.current_order_categories c ON c.category_id = p.category_id
            WHERE d.order_id = h.order_id
        ) AS product
    ) AS products,
    (SELECT to_jsonb(c) FROM datalake.customers c WHERE c.customer_id = h.customer_key) AS customer,
    (
        SELECT to_jsonb(employee)
        FROM (
            SELECT
                e.*,
                coalesce((
                    SELECT jsonb_agg(place ORDER BY place.territory_id)
                    FROM (
                        SELECT t.territory_id, t.territory_description, t.region_id, r.region_description
                        FROM datalake.employee_territories et
                        JOIN datalake.territories t ON t.territory_id = et.territory_id
                        JOIN datalake.region r ON r.region_id = t.region_id
                        WHERE et.employee_id = e.employee_id
                    ) AS place
                ), '[]') AS territories
            FROM datalake.current_order_employees e
            WHERE e.employee_id = h.employee_id
        ) AS employee
    ) AS employee,
    (SELECT to_jsonb(s) FROM datalake.shippers s WHERE s.shipper_id = h.ship_via) AS shipper,
    h.shipment
FROM datalake.current_order_heads h;
