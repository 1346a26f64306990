-- The database that docs/your-database/capture.md shows.
CREATE TABLE customers (
    id BIGINT PRIMARY KEY,
    email TEXT NOT NULL,
    password_hash TEXT,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE TABLE "Orders" (
    "orderId" BIGINT PRIMARY KEY,
    "customerId" BIGINT NOT NULL REFERENCES customers,
    net NUMERIC(12, 2) NOT NULL,
    gross NUMERIC(12, 2) GENERATED ALWAYS AS (round(net * 1.19, 2)) STORED
);
CREATE TABLE visits (at TIMESTAMPTZ NOT NULL, page TEXT);
CREATE VIEW open_orders AS SELECT "orderId" FROM "Orders";
