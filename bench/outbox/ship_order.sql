-- An order leaves the house.
\set order_id random(10248, 11074)
\set days random(1, 10000)
UPDATE datalake.orders SET shipped_date = DATE '1998-05-07' + CAST(:days AS INTEGER) WHERE order_id = :order_id;
