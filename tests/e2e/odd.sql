-- A database of somebody who uses all that PostgreSQL has: types, keys, names and values, the hostile ones left in.
CREATE SCHEMA "Größe.n";
CREATE SCHEMA odd;
CREATE TYPE odd.mood AS ENUM ('', 'so so', 'it''s "great"', '{a,b}');
CREATE TYPE odd.place AS (street text, "no" int);
CREATE DOMAIN odd.positive AS int CHECK (VALUE > 0);

CREATE TABLE odd.numbers (
    id int PRIMARY KEY, small smallint, big bigint, real_ real, double_ double precision, exact numeric(10, 2), any_ numeric, money_ money, positive odd.positive
);
INSERT INTO odd.numbers VALUES
    (1, -32768, -9223372036854775808, '-Infinity', 437793390013810900, 99999999.99, 1e1000, '-92233720368547758.08', 1),
    (2, 32767, 9223372036854775807, 'NaN', 1e23, 'NaN', 'NaN', '92233720368547758.07', 2147483647),
    (3, 0, 0, 1e-45, 5e-324, -0.01, 'Infinity', 0, NULL),
    (4, NULL, NULL, 3.4028235e38, '-0', 0, 0.1e-500, NULL, NULL);
CREATE TABLE odd.texts (id int PRIMARY KEY, t text, v varchar(5), c char(5), n name, one "char", b bytea, u uuid);
INSERT INTO odd.texts VALUES
    (1, '', '', '', '', '', '', '00000000-0000-0000-0000-000000000000'),
    (2, E'ä€😀\n\r\t\x01 "quoted" \\ {} [] \u2028', 'NULL', 'null', 'name', 'ä', '\x00ff0a', gen_random_uuid()),
    (3, repeat('12 MB ', 2000000), '  x  ', 'x', repeat('n', 63), 'x', decode(repeat('00ff', 500000), 'hex'), NULL),
    (4, 'true', '1e5', 'NaN', NULL, NULL, NULL, NULL);
CREATE TABLE odd.times (
    id int PRIMARY KEY, d date, t time, tz timetz, at timestamp, at0 timestamp(0), with_zone timestamptz, during interval
);
INSERT INTO odd.times VALUES
    (1, 'infinity', '24:00', '24:00+15:59', 'infinity', 'infinity', '-infinity', '178000000 years'),
    (2, '4713-01-01 BC', '00:00', '00:00-15:59', '4713-01-01 BC', '4713-01-01 BC', '4713-01-02 BC', '-178000000 years'),
    (3, '294246-12-31', '23:59:59.999999', '12:00:00.000001+05:45', '1582-10-10 12:00', '1883-11-18', '0001-01-01', '1 mon -1 day 00:00:00.000001'),
    (4, '1969-12-31', '04:05', '04:05+00', '200000-01-01', '32768-01-01', '2026-11-23 12:00:00.123456+01', '0');
CREATE TABLE odd.documents (id int PRIMARY KEY, j json, b jsonb, path jsonpath, vector tsvector, query tsquery);
INSERT INTO odd.documents VALUES
    (1, '{"a": 1, "a": 2}', '{"a": 1e400, "ä": [null, "\u0001"]}', '$.a[*] ? (@ > 1)', 'a:1 b', 'a & b'),
    (2, 'null', 'null', NULL, '', ''), (3, ' [1, 2] ', '[]', '$', NULL, NULL);
CREATE TABLE odd.nets (id int PRIMARY KEY, i inet, c cidr, m macaddr, m8 macaddr8, bits bit(3), varying_ bit varying, lsn pg_lsn, o oid, r regclass);
INSERT INTO odd.nets VALUES
    (1, '::1/64', '10.0.0.0/8', '08:00:2b:01:02:03', '08:00:2b:01:02:03:04:05', B'101', B'', '0/0', 4294967295, 'odd.texts'),
    (2, '127.0.0.1', '::/0', NULL, NULL, B'000', B'1', 'FFFFFFFF/FFFFFFFF', 0, NULL);
CREATE TABLE odd.shapes (id int PRIMARY KEY, p point, l line, s lseg, b box, path path, polygon polygon, circle circle);
INSERT INTO odd.shapes VALUES
    (1, '(1e300,-1e-300)', '{1,2,3}', '[(0,0),(1,1)]', '(1,1),(0,0)', '[(0,0),(1,1)]', '((0,0),(1,1),(1,0))', '<(0,0),1>'),
    (2, '(0,0)', NULL, NULL, NULL, '((0,0),(1,1))', '((0,0),(1,1),(1,0),(0,0))', NULL);
CREATE TABLE odd.ranges (id int PRIMARY KEY, i int4range, n numrange, d daterange, ts tsrange, tz tstzrange, m int4multirange);
INSERT INTO odd.ranges VALUES
    (1, 'empty', '(,)', '[infinity,)', '["2026-01-01 00:00",)', '(-infinity,infinity)', '{}'),
    (2, '[1,2)', '[1e400,)', '[0001-01-01,9999-12-31]', NULL, NULL, '{[1,2),[5,9)}');
CREATE TABLE odd.arrays (
    id int PRIMARY KEY, ints int[], texts text[], doubles double precision[], numerics numeric[], dates date[],
    stamps timestamptz[], moods odd.mood[], places odd.place[], bools bool[], blobs bytea[], docs jsonb[], uuids uuid[]
);
INSERT INTO odd.arrays VALUES
    (1, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}'),
    (2, '{1,NULL}', '{"",NULL,"NULL","a,b","\"",ä}', '{1e23,5e-324,-0}', '{1e50,0.001}', '{1970-01-01,NULL,0001-01-01}',
        '{1970-01-01 00:00+00,NULL}', '{"",NULL,"so so"}', ARRAY[ROW('a "b", (c)', 1), NULL]::odd.place[], '{t,NULL}', '{"\\x00",NULL}',
        ARRAY['{"a": null}', 'null', NULL]::jsonb[], '{00000000-0000-0000-0000-000000000000,NULL}'),
    (3, '[0:2]={7,8,9}', '{}', '{NaN,Infinity,-Infinity}', '{NaN}', '{300000-01-01,infinity}', '{infinity}', NULL, NULL, NULL, NULL, NULL, NULL);
CREATE DOMAIN odd.short AS varchar(10);
CREATE TABLE odd.hashed (id int PRIMARY KEY, t text, v varchar(10), c char(6), mood odd.mood, short odd.short);
INSERT INTO odd.hashed VALUES
    (1, '', '', '', '', ''), (2, E'ä€😀\n\\', ' v ', 'c', 'it''s "great"', 's'), (3, repeat('x', 1000), NULL, NULL, NULL, NULL);
CREATE TABLE odd.matrices (id int PRIMARY KEY, ints int[], texts text[]);
INSERT INTO odd.matrices VALUES (1, '{1}', '{a}'), (2, '{2}', '{b}'), (3, '{{1,2},{3,4}}', '{{a,b},{c,d}}');
CREATE TABLE odd.own_types (id int PRIMARY KEY, mood odd.mood, place odd.place);
INSERT INTO odd.own_types VALUES (1, '', '("",)'), (2, 'it''s "great"', ROW('a "b", (c)', NULL)), (3, '{a,b}', NULL);
CREATE TABLE odd.gregorian (id int PRIMARY KEY, d date);
INSERT INTO odd.gregorian VALUES (1, '1582-10-04'), (2, '1582-10-10'), (3, '1582-10-15');
CREATE TABLE odd.late (id int PRIMARY KEY, at timestamp, with_zone timestamptz);
INSERT INTO odd.late VALUES (1, now(), now()), (2, '294276-12-31 23:59:59.999999', '294276-12-31 23:59:59.999999');
CREATE TABLE odd.unchanged (id int PRIMARY KEY, t text);
INSERT INTO odd.unchanged VALUES (2, '__debezium_unavailable_value'), (3, 'x');
CREATE TABLE odd.long (id int PRIMARY KEY, during interval);
INSERT INTO odd.long VALUES (1, '2147483648 hours');
CREATE TABLE odd.large (id int PRIMARY KEY, t text);
INSERT INTO odd.large VALUES (1, repeat('x', 19000000));

CREATE TABLE odd.key_of_two (a text, b int, touched int, PRIMARY KEY (b, a));
INSERT INTO odd.key_of_two VALUES ('', 1, 0), ('a:b,c', 1, 0), ('ä€😀', 2, 0), (' ', 3, 0);
CREATE TABLE odd.key_of_text (k text PRIMARY KEY, touched int);
INSERT INTO odd.key_of_text VALUES ('NULL', 0), ('null', 0), (E'a\nb', 0), ('__null__', 0), ('a/b?c=d', 0), (' ', 0);
CREATE TABLE odd.empty_text (k text PRIMARY KEY, touched int);
INSERT INTO odd.empty_text VALUES ('', 0), ('a', 0);
CREATE TABLE odd.empty_bytes (k bytea PRIMARY KEY, touched int);
INSERT INTO odd.empty_bytes VALUES ('', 0), ('\x00', 0);
CREATE TABLE odd.key_of_nan (k numeric(10, 2) PRIMARY KEY, touched int);
INSERT INTO odd.key_of_nan VALUES ('NaN', 0), (1, 0);
CREATE TABLE odd.key_of_uuid (k uuid PRIMARY KEY, touched int);
INSERT INTO odd.key_of_uuid VALUES ('00000000-0000-0000-0000-000000000000', 0);
CREATE TABLE odd.key_of_time (k timestamptz, d date, touched int, PRIMARY KEY (k, d));
INSERT INTO odd.key_of_time VALUES ('0001-01-01', '0001-01-01', 0), ('2026-11-23 12:00:00.000001', '9999-12-31', 0);
CREATE TABLE odd.key_of_number (k numeric(30, 10) PRIMARY KEY, touched int);
INSERT INTO odd.key_of_number VALUES (0.0000000001, 0), (-99999999999999999999.9999999999, 0);
CREATE TABLE odd.no_key (what text);
INSERT INTO odd.no_key VALUES ('twice'), ('twice'), (NULL);
CREATE TABLE odd.unique_key (code char(3) NOT NULL UNIQUE, label text);
INSERT INTO odd.unique_key VALUES ('a', 'x'), ('', 'y');
CREATE TABLE odd.whole_rows (id int PRIMARY KEY, note text);
ALTER TABLE odd.whole_rows REPLICA IDENTITY FULL;
INSERT INTO odd.whole_rows VALUES (1, repeat('x', 100000)), (2, NULL);
CREATE TABLE odd.no_identity (id int PRIMARY KEY, note text);
ALTER TABLE odd.no_identity REPLICA IDENTITY NOTHING;
INSERT INTO odd.no_identity VALUES (1, 'only inserts');

CREATE TABLE "Größe.n"."Tabelle ""x"".y Ünï" ("Schlüssel" int PRIMARY KEY, "a ""b"".c" text, "select" text);
INSERT INTO "Größe.n"."Tabelle ""x"".y Ünï" VALUES (1, 'ä', 'b'), (2, NULL, '');
CREATE TABLE odd."select" ("from" int PRIMARY KEY, "Group" int, "$1" text);
INSERT INTO odd."select" VALUES (1, 1, 'x');
CREATE TABLE odd."two words" ("a b" int PRIMARY KEY, "c-d" text);
INSERT INTO odd."two words" VALUES (1, 'x');
CREATE TABLE odd.a_name_that_is_as_long_as_a_name_can_be_in_postgresql_63_or_x1 (id int PRIMARY KEY);
CREATE TABLE odd.a_name_that_is_as_long_as_a_name_can_be_in_postgresql_63_or_x2 (id int PRIMARY KEY);
INSERT INTO odd.a_name_that_is_as_long_as_a_name_can_be_in_postgresql_63_or_x1 VALUES (1);
CREATE TABLE odd.cased (id int PRIMARY KEY, val int, "Val" int);
CREATE TABLE odd.cased_in_part (id int PRIMARY KEY, val int, "Val" bit varying);
CREATE TABLE odd.empty (id int PRIMARY KEY, b bytea);

CREATE TABLE odd.parts (at date NOT NULL, id int NOT NULL, note text, PRIMARY KEY (at, id)) PARTITION BY RANGE (at);
CREATE TABLE odd.parts_old PARTITION OF odd.parts FOR VALUES FROM (MINVALUE) TO ('2026-01-01');
CREATE TABLE odd.parts_new PARTITION OF odd.parts FOR VALUES FROM ('2026-01-01') TO (MAXVALUE);
INSERT INTO odd.parts VALUES ('2025-12-31', 1, 'old'), ('2026-01-01', 1, 'new');
CREATE TABLE odd.guarded (id int PRIMARY KEY, owner text);
ALTER TABLE odd.guarded ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON odd.guarded USING (owner = current_user);
INSERT INTO odd.guarded VALUES (1, 'somebody'), (2, 'postgres');
CREATE TABLE odd.computed (id int PRIMARY KEY, net numeric, gross numeric GENERATED ALWAYS AS (net * 1.19) STORED);
INSERT INTO odd.computed VALUES (1, 1), (2, NULL);
