-- The usual outbox, for comparison: row triggers on orders and their lines, each of which assembles all
-- products and all employees for its one order, and an upsert that leaves the employee as it was.
CREATE FUNCTION datalake.bench_row_triggers() RETURNS TRIGGER
LANGUAGE plpgsql SET search_path = datalake
AS $$
BEGIN
    WITH all_products AS (
        SELECT detailed.product_id, row_to_json(detailed)::JSONB AS product
        FROM (
            SELECT p.*, s.company_name, s.contact_name, s.contact_title, s.address, s.city, s.region, s.postal_code,
                   s.country, s.phone, s.fax, s.homepage, c.category_name, c.description, c.picture
            FROM products p
            JOIN suppliers s ON s.supplier_id = p.supplier_id
            JOIN categories c ON c.category_id = p.category_id
        ) AS detailed
    ), lines AS (
        SELECT d.order_id,
               jsonb_agg(row_to_json(d)::JSONB - 'order_id') AS order_items,
               jsonb_agg(a.product) AS products
        FROM order_details d
        JOIN all_products a ON a.product_id = d.product_id
        WHERE d.order_id = NEW.order_id
        GROUP BY d.order_id
    ), all_employees AS (
        SELECT e.employee_id, row_to_json(e)::JSONB AS employee FROM employees e
    ), all_territories AS (
        SELECT et.employee_id, jsonb_agg(row_to_json(place)) AS territories
        FROM employee_territories et
        JOIN (
            SELECT t.territory_id, t.territory_description, t.region_id, r.region_description
            FROM territories t JOIN region r ON r.region_id = t.region_id
        ) AS place ON place.territory_id = et.territory_id
        GROUP BY et.employee_id
    ), staff AS (
        SELECT e.employee_id, e.employee || jsonb_build_object('territories', t.territories) AS employee
        FROM all_employees e JOIN all_territories t ON t.employee_id = e.employee_id
    )
    INSERT INTO cdc_events
    SELECT o.order_id, o.customer_id, o.order_date, o.required_date, o.shipped_date, l.order_items, l.products,
           row_to_json(c)::JSONB, staff.employee, row_to_json(s)::JSONB,
           jsonb_build_object(
               'freight', o.freight, 'ship_name', o.ship_name, 'ship_address', o.ship_address, 'ship_city', o.ship_city,
               'ship_region', o.ship_region, 'ship_postal_code', o.ship_postal_code, 'ship_country', o.ship_country),
           now()
    FROM orders o
    LEFT JOIN lines l ON l.order_id = o.order_id
    JOIN customers c ON c.customer_id = o.customer_id
    JOIN staff ON staff.employee_id = o.employee_id
    JOIN shippers s ON s.shipper_id = o.ship_via
    WHERE o.order_id = NEW.order_id
    ON CONFLICT (order_id) DO UPDATE
    SET customer_id = excluded.customer_id, order_date = excluded.order_date, required_date = excluded.required_date,
        shipped_date = excluded.shipped_date, order_items = excluded.order_items, products = excluded.products,
        customer = excluded.customer, shipper = excluded.shipper, shipment = excluded.shipment,
        updated_at = excluded.updated_at;
    RETURN NULL;
END
$$;

-- Only ours needs whole old rows in the WAL.
ALTER TABLE datalake.cdc_events REPLICA IDENTITY DEFAULT;

CREATE TRIGGER bench_row_triggers AFTER INSERT OR UPDATE ON datalake.orders
    FOR EACH ROW EXECUTE FUNCTION datalake.bench_row_triggers();
CREATE TRIGGER bench_row_triggers AFTER INSERT OR UPDATE ON datalake.order_details
    FOR EACH ROW EXECUTE FUNCTION datalake.bench_row_triggers();
