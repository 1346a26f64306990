-- The Northwind tables, with the columns and types of the PostgreSQL port. One difference: order ids are INTEGER, because
-- SMALLINT ends at 32,767 and `--scale` goes beyond. Keys follow in 02_keys.sql, once the rows are in.
CREATE SCHEMA datalake;

CREATE TABLE datalake.categories (
    category_id   SMALLINT    NOT NULL,
    category_name VARCHAR(15) NOT NULL,
    description   TEXT,
    picture       BYTEA
);

CREATE TABLE datalake.customer_demographics (
    customer_type_id VARCHAR(5) NOT NULL,
    customer_desc    TEXT
);

CREATE TABLE datalake.customers (
    customer_id   VARCHAR(5)  NOT NULL,
    company_name  VARCHAR(40) NOT NULL,
    contact_name  VARCHAR(30),
    contact_title VARCHAR(30),
    address       VARCHAR(60),
    city          VARCHAR(15),
    region        VARCHAR(15),
    postal_code   VARCHAR(10),
    country       VARCHAR(15),
    phone         VARCHAR(24),
    fax           VARCHAR(24)
);

CREATE TABLE datalake.customer_customer_demo (
    customer_id      VARCHAR(5) NOT NULL,
    customer_type_id VARCHAR(5) NOT NULL
);

CREATE TABLE datalake.employees (
    employee_id       SMALLINT    NOT NULL,
    last_name         VARCHAR(20) NOT NULL,
    first_name        VARCHAR(10) NOT NULL,
    title             VARCHAR(30),
    title_of_courtesy VARCHAR(25),
    birth_date        DATE,
    hire_date         DATE,
    address           VARCHAR(60),
    city              VARCHAR(15),
    region            VARCHAR(15),
    postal_code       VARCHAR(10),
    country           VARCHAR(15),
    home_phone        VARCHAR(24),
    extension         VARCHAR(4),
    photo             BYTEA,
    notes             TEXT,
    reports_to        SMALLINT,
    photo_path        VARCHAR(255)
);

CREATE TABLE datalake.region (
    region_id          SMALLINT    NOT NULL,
    region_description VARCHAR(60) NOT NULL
);

CREATE TABLE datalake.territories (
    territory_id          VARCHAR(20) NOT NULL,
    territory_description VARCHAR(60) NOT NULL,
    region_id             SMALLINT    NOT NULL
);

CREATE TABLE datalake.employee_territories (
    employee_id  SMALLINT    NOT NULL,
    territory_id VARCHAR(20) NOT NULL
);

CREATE TABLE datalake.shippers (
    shipper_id   SMALLINT    NOT NULL,
    company_name VARCHAR(40) NOT NULL,
    phone        VARCHAR(24)
);

CREATE TABLE datalake.suppliers (
    supplier_id   SMALLINT    NOT NULL,
    company_name  VARCHAR(40) NOT NULL,
    contact_name  VARCHAR(30),
    contact_title VARCHAR(30),
    address       VARCHAR(60),
    city          VARCHAR(15),
    region        VARCHAR(15),
    postal_code   VARCHAR(10),
    country       VARCHAR(15),
    phone         VARCHAR(24),
    fax           VARCHAR(24),
    homepage      TEXT
);

CREATE TABLE datalake.products (
    product_id        SMALLINT    NOT NULL,
    product_name      VARCHAR(40) NOT NULL,
    supplier_id       SMALLINT,
    category_id       SMALLINT,
    quantity_per_unit VARCHAR(20),
    unit_price        REAL,
    units_in_stock    SMALLINT,
    units_on_order    SMALLINT,
    reorder_level     SMALLINT,
    discontinued      INTEGER     NOT NULL
);

CREATE TABLE datalake.orders (
    order_id         INTEGER NOT NULL,
    customer_id      VARCHAR(5),
    employee_id      SMALLINT,
    order_date       DATE,
    required_date    DATE,
    shipped_date     DATE,
    ship_via         SMALLINT,
    freight          REAL,
    ship_name        VARCHAR(40),
    ship_address     VARCHAR(60),
    ship_city        VARCHAR(15),
    ship_region      VARCHAR(15),
    ship_postal_code VARCHAR(10),
    ship_country     VARCHAR(15)
);

CREATE TABLE datalake.order_details (
    order_id   INTEGER  NOT NULL,
    product_id SMALLINT NOT NULL,
    unit_price REAL     NOT NULL,
    quantity   SMALLINT NOT NULL,
    discount   REAL     NOT NULL
);

CREATE TABLE datalake.us_states (
    state_id     SMALLINT NOT NULL,
    state_name   VARCHAR(100),
    state_abbr   VARCHAR(2),
    state_region VARCHAR(50)
);
