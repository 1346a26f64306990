-- A database with what a catalogue may hold: each object is there for a question that inspection has to answer.
CREATE SCHEMA "Sales Dept";
CREATE SCHEMA archive;

CREATE TYPE public.mood AS ENUM ('sad', 'so-so', 'happy');
CREATE DOMAIN public.email_address AS TEXT CHECK (VALUE ~ '@');
CREATE TYPE public.full_name AS (given TEXT, family VARCHAR(40));
CREATE DOMAIN public.tags AS TEXT[];

CREATE TABLE public.everything (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    price NUMERIC(10, 2) NOT NULL,
    ratio NUMERIC,
    mood public.mood,
    email public.email_address,
    name public.full_name,
    tags public.tags,
    moods public.mood[],
    prices NUMERIC(6, 3)[],
    during TSTZRANGE,
    blob BYTEA,
    picture OID,
    price_with_tax NUMERIC GENERATED ALWAYS AS (price * 1.2) STORED
);

CREATE TABLE public.no_key (at TIMESTAMPTZ NOT NULL DEFAULT now(), what TEXT);
CREATE TABLE public.unique_key (code CHAR(3) NOT NULL, label TEXT, CONSTRAINT unique_key_code UNIQUE (code));
CREATE TABLE public.unique_nullable (code CHAR(3) UNIQUE, label TEXT);
CREATE TABLE public.unique_deferred (code INT NOT NULL UNIQUE DEFERRABLE, label TEXT);
CREATE TABLE public.identity_nothing (id INT PRIMARY KEY, note TEXT);
ALTER TABLE public.identity_nothing REPLICA IDENTITY NOTHING;
CREATE TABLE public.identity_index (id INT PRIMARY KEY, code INT NOT NULL UNIQUE);
ALTER TABLE public.identity_index REPLICA IDENTITY USING INDEX identity_index_code_key;
CREATE TABLE public.identity_full (id INT PRIMARY KEY, note TEXT);
ALTER TABLE public.identity_full REPLICA IDENTITY FULL;

CREATE TABLE "Sales Dept"."Order Details" (
    "Order ID" INT, "lineNo" INT, "select" TEXT, "größe" INT, "E-Mail" TEXT, PRIMARY KEY ("lineNo", "Order ID")
);
CREATE TABLE "Sales Dept"."order_details" (id INT PRIMARY KEY, password_hash TEXT);
CREATE TABLE archive.no_key_of_old (a INT);
CREATE TABLE archive.cased ("Id" INT PRIMARY KEY, "ID" INT);
CREATE TABLE archive."a.b" ("Id" INT PRIMARY KEY, "id-" INT, "__op" TEXT, good INT);

CREATE TABLE public.measured (at DATE NOT NULL, id INT NOT NULL, value REAL, PRIMARY KEY (at, id)) PARTITION BY RANGE (at);
CREATE TABLE public.measured_2025 PARTITION OF public.measured
    FOR VALUES FROM ('2025-01-01') TO ('2026-01-01') PARTITION BY RANGE (at);
CREATE TABLE archive.measured_2025_h1 PARTITION OF public.measured_2025 FOR VALUES FROM ('2025-01-01') TO ('2025-07-01');
CREATE TABLE public.measured_later PARTITION OF public.measured DEFAULT;
CREATE TABLE public.logged (at DATE NOT NULL, line TEXT) PARTITION BY LIST (at);
CREATE TABLE public.logged_rest PARTITION OF public.logged DEFAULT;

CREATE TABLE public.animal (id INT PRIMARY KEY, name TEXT);
CREATE TABLE public.cat (whiskers INT) INHERITS (public.animal);

CREATE UNLOGGED TABLE public.cache (id INT PRIMARY KEY);
CREATE VIEW public.happy AS SELECT id FROM public.everything WHERE mood = 'happy';
CREATE MATERIALIZED VIEW public.counted AS SELECT count(*) FROM public.everything;
CREATE FOREIGN DATA WRAPPER elsewhere;
CREATE SERVER far_away FOREIGN DATA WRAPPER elsewhere;
CREATE FOREIGN TABLE public.remote (id INT) SERVER far_away;
CREATE TABLE public.guarded (id INT PRIMARY KEY, owner TEXT);
ALTER TABLE public.guarded ENABLE ROW LEVEL SECURITY;
CREATE TABLE public.nothing_in_it ();
CREATE SEQUENCE public.invoice_numbers;
CREATE TABLE public.dropped_column (id INT PRIMARY KEY, gone INT, kept INT);
ALTER TABLE public.dropped_column DROP COLUMN gone;
SELECT lo_create(0);
