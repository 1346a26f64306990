-- Primary keys, foreign keys, and the indexes that lead from an edited row to the orders that embed it.
ALTER TABLE datalake.categories             ADD CONSTRAINT pk_categories PRIMARY KEY (category_id);
ALTER TABLE datalake.customer_demographics  ADD CONSTRAINT pk_customer_demographics PRIMARY KEY (customer_type_id);
ALTER TABLE datalake.customers              ADD CONSTRAINT pk_customers PRIMARY KEY (customer_id);
ALTER TABLE datalake.customer_customer_demo ADD CONSTRAINT pk_customer_customer_demo PRIMARY KEY (customer_id, customer_type_id);
ALTER TABLE datalake.employees              ADD CONSTRAINT pk_employees PRIMARY KEY (employee_id);
ALTER TABLE datalake.region                 ADD CONSTRAINT pk_region PRIMARY KEY (region_id);
ALTER TABLE datalake.territories            ADD CONSTRAINT pk_territories PRIMARY KEY (territory_id);
ALTER TABLE datalake.employee_territories   ADD CONSTRAINT pk_employee_territories PRIMARY KEY (employee_id, territory_id);
ALTER TABLE datalake.shippers               ADD CONSTRAINT pk_shippers PRIMARY KEY (shipper_id);
ALTER TABLE datalake.suppliers              ADD CONSTRAINT pk_suppliers PRIMARY KEY (supplier_id);
ALTER TABLE datalake.products               ADD CONSTRAINT pk_products PRIMARY KEY (product_id);
ALTER TABLE datalake.orders                 ADD CONSTRAINT pk_orders PRIMARY KEY (order_id);
ALTER TABLE datalake.order_details          ADD CONSTRAINT pk_order_details PRIMARY KEY (order_id, product_id);
ALTER TABLE datalake.us_states              ADD CONSTRAINT pk_us_states PRIMARY KEY (state_id);

ALTER TABLE datalake.customer_customer_demo
    ADD CONSTRAINT fk_customer_customer_demo_customers FOREIGN KEY (customer_id) REFERENCES datalake.customers,
    ADD CONSTRAINT fk_customer_customer_demo_customer_demographics
        FOREIGN KEY (customer_type_id) REFERENCES datalake.customer_demographics;
ALTER TABLE datalake.employees
    ADD CONSTRAINT fk_employees_employees FOREIGN KEY (reports_to) REFERENCES datalake.employees;
ALTER TABLE datalake.territories
    ADD CONSTRAINT fk_territories_region FOREIGN KEY (region_id) REFERENCES datalake.region;
ALTER TABLE datalake.employee_territories
    ADD CONSTRAINT fk_employee_territories_employees FOREIGN KEY (employee_id) REFERENCES datalake.employees,
    ADD CONSTRAINT fk_employee_territories_territories FOREIGN KEY (territory_id) REFERENCES datalake.territories;
ALTER TABLE datalake.products
    ADD CONSTRAINT fk_products_suppliers FOREIGN KEY (supplier_id) REFERENCES datalake.suppliers,
    ADD CONSTRAINT fk_products_categories FOREIGN KEY (category_id) REFERENCES datalake.categories;
ALTER TABLE datalake.orders
    ADD CONSTRAINT fk_orders_customers FOREIGN KEY (customer_id) REFERENCES datalake.customers,
    ADD CONSTRAINT fk_orders_employees FOREIGN KEY (employee_id) REFERENCES datalake.employees,
    ADD CONSTRAINT fk_orders_shippers FOREIGN KEY (ship_via) REFERENCES datalake.shippers;
ALTER TABLE datalake.order_details
    ADD CONSTRAINT fk_order_details_orders FOREIGN KEY (order_id) REFERENCES datalake.orders,
    ADD CONSTRAINT fk_order_details_products FOREIGN KEY (product_id) REFERENCES datalake.products;

CREATE INDEX orders_customer_id ON datalake.orders (customer_id);
CREATE INDEX orders_employee_id ON datalake.orders (employee_id);
CREATE INDEX orders_ship_via ON datalake.orders (ship_via);
CREATE INDEX order_details_product_id ON datalake.order_details (product_id);
CREATE INDEX products_supplier_id ON datalake.products (supplier_id);
CREATE INDEX products_category_id ON datalake.products (category_id);
CREATE INDEX employee_territories_territory_id ON datalake.employee_territories (territory_id);
CREATE INDEX territories_region_id ON datalake.territories (region_id);
