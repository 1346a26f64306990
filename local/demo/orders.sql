-- The walk-through of orders: each change is one transaction. After its statements, it says which lake rows it affects:
-- their name, the columns (or paths into JSON columns) to show, and a query for their keys in the same transaction.

-- change: ship order 11077
UPDATE datalake.orders SET shipped_date = '1998-06-15' WHERE order_id = 11077;
-- order: shipped_date
SELECT 11077;

-- change: insert order 11075 with three lines
INSERT INTO datalake.orders VALUES (11075, 'RICSU', 8, '1998-05-06', '1998-06-03', NULL, 2, 6.19,
    'Richter Supermarkt', 'Starenweg 5', 'Genève', NULL, '1204', 'Switzerland');
INSERT INTO datalake.order_details VALUES (11075, 2, 19, 10, 0.15);
INSERT INTO datalake.order_details VALUES (11075, 46, 12, 30, 0.15);
INSERT INTO datalake.order_details VALUES (11075, 76, 18, 2, 0.15);
-- order: order_items
SELECT 11075;

-- change: edit a line of order 10248
UPDATE datalake.order_details SET quantity = 15 WHERE order_id = 10248 AND product_id = 11;
-- order: order_items
SELECT 10248;

-- change: delete a line of order 10248
DELETE FROM datalake.order_details WHERE order_id = 10248 AND product_id = 72;
-- order: order_items
SELECT 10248;

-- change: rename customer VINET
UPDATE datalake.customers SET company_name = 'Vins Chevalier SA' WHERE customer_id = 'VINET';
-- order: customer.company_name
SELECT order_id FROM datalake.orders WHERE customer_id = 'VINET' ORDER BY order_id;

-- change: delete order 11075
DELETE FROM datalake.order_details WHERE order_id = 11075;
DELETE FROM datalake.orders WHERE order_id = 11075;
-- order: order_items
SELECT 11075;
