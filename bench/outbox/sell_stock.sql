-- A sale as in new_order.sql that also takes what it sells from the stock.
\set first random(1, 25)
\set employee random(1, 9)
\set shipper random(1, 3)
BEGIN;
INSERT INTO datalake.orders
VALUES (nextval('datalake.bench_order_ids'), 'VINET', :employee, '1998-05-07', '1998-06-04', NULL, :shipper, 12.5, 'Bench',
        'Street 1', 'Reims', NULL, '51100', 'France');
INSERT INTO datalake.order_details VALUES (currval('datalake.bench_order_ids'), :first, 10, 1, 0);
INSERT INTO datalake.order_details VALUES (currval('datalake.bench_order_ids'), :first + 25, 20, 2, 0);
INSERT INTO datalake.order_details VALUES (currval('datalake.bench_order_ids'), :first + 50, 30, 3, 0.1);
UPDATE datalake.products SET units_in_stock = units_in_stock % 100 + 1 WHERE product_id = :first;
UPDATE datalake.products SET units_in_stock = units_in_stock % 100 + 1 WHERE product_id = :first + 25;
UPDATE datalake.products SET units_in_stock = units_in_stock % 100 + 1 WHERE product_id = :first + 50;
COMMIT;
