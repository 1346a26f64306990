"""CREATE TABLE AS and INSERT INTO mean what they mean in Athena, or are refused in one line."""

from dataclasses import replace

import pytest

from analytics.alike.parts import TranslationError
from analytics.create_table import (
    MOST_PARTITIONS,
    check_columns,
    check_partitions,
    check_types,
    created_table,
    inserted_rows,
)
from analytics.derived import derived_query
from analytics.queries import SQL_FOLDER
from analytics.tables import CUSTOMER_ADDRESSES
from analytics.translate import TableName

# From the seed: latest rows per key as a table by country.
SEED = """
CREATE TABLE pagila_kafka_connect.pagila_query_processed
WITH (
format='PARQUET',
parquet_compression='SNAPPY',
partitioned_by=ARRAY['country'],
external_location='s3://your-s3-bucket/processed/pagila_query'
) AS
SELECT address_id, last_update, address, address2, city,
state_province, postal_code, country
FROM (SELECT *, ROW_NUMBER() OVER (
PARTITION BY address_id
ORDER BY last_update DESC) AS row_num
FROM "pagila_kafka_connect"."pagila_query") AS x
WHERE x.row_num = 1 AND address_id BETWEEN 0 and 100
ORDER BY address_id;
"""


def with_(properties: str, rows: str = "SELECT 1 AS a, 'x' AS country") -> str:
    return f"CREATE TABLE t WITH ({properties}) AS {rows}"


def test_a_table_is_taken_apart() -> None:
    created = created_table(SEED)
    assert created is not None
    assert created.name == TableName(database="pagila_kafka_connect", table="pagila_query_processed")
    assert (created.compression, created.partitioned_by) == ("snappy", ("country",))
    assert [str(table) for table in created.rows.tables] == ["pagila_kafka_connect.pagila_query"]
    assert created.rows.sql.startswith("SELECT address_id")


def test_without_properties_it_is_what_athena_does() -> None:
    created = created_table("-- a comment first\nCREATE TABLE AwsDataCatalog.Lake.T AS SELECT 1 AS a")
    assert created is not None
    assert created.name == TableName(database="lake", table="t")
    assert (created.compression, created.partitioned_by) == ("gzip", ())


@pytest.mark.parametrize(
    "sql",
    ["SELECT 1", "", "CREATE VIEW x AS SELECT 1", "DROP TABLE x", "SHOW TABLES", "SELECT 'open", "EXPLAIN SELECT 1"],
)
def test_another_statement_isnt_judged(sql: str) -> None:
    assert (created_table(sql), inserted_rows(sql)) == (None, None)


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        (
            with_("bucketed_by=ARRAY['a'], bucket_count=3"),
            "bucketed_by means nothing here: leave it out, or use external",
        ),
        (with_("table_type='ICEBERG'"), "table_type means nothing here"),
        (with_("compression_level=3"), "compression_level means nothing here"),
        (with_("format='ORC'"), "format = 'ORC': only 'PARQUET' is written"),
        (with_("parquet_compression='LZO'"), "parquet_compression = 'LZO' isn't one of GZIP, SNAPPY"),
        (with_("write_compression='ZSTD', parquet_compression='GZIP'"), "say the same"),
        (with_("format='PARQUET', format='PARQUET'"), "format is given twice"),
        (with_("parquet_compression=SNAPPY"), "is a text in single quotes"),
        (with_("partitioned_by=ARRAY['country', 'COUNTRY']"), "has a column twice"),
        (with_("partitioned_by='country'"), "is an array of columns"),
        (with_("partitioned_by=ARRAY[]"), "is an array of columns"),
        (with_("external_location='/tmp/x'"), "is no folder of S3"),
        ("CREATE TABLE t AS SELECT 1 AS a WITH NO DATA", "WITH NO DATA leaves nothing"),
        ("CREATE OR REPLACE TABLE t AS SELECT 1 AS a", "OR REPLACE isn't Athena's"),
        ("CREATE TABLE IF NOT EXISTS t AS SELECT 1 AS a", "IF NOT EXISTS isn't Athena's"),
        ("CREATE TABLE t (a) AS SELECT 1", "columns are named by the statement"),
        ("CREATE TEMPORARY TABLE t AS SELECT 1 AS a", "TEMPORARY means nothing here"),
        ("CREATE TABLE t AS SELECT 1", "each column of a table needs a name"),
        ("CREATE TABLE t AS SELECT 1 AS a; SELECT 2", "one statement, please"),
        ("CREATE TABLE other.lake.t AS SELECT 1 AS a", "there is no catalogue other"),
        ('CREATE TABLE "../t" AS SELECT 1 AS a', "can't be a table's name"),
        ('CREATE TABLE "a/b" AS SELECT 1 AS a', "can't be a table's name"),
        ("CREATE TABLE t AS SELECT * FROM read_csv('/etc/passwd')", "is no table"),
        ("CREATE TABLE t AS WITH x AS (DELETE FROM y RETURNING 1) SELECT 1 AS a", "would change something"),
        ("INSERT OVERWRITE t SELECT 1", "Athena has no other INSERT"),
        ("INSERT INTO t (id) SELECT 1", "takes all its columns"),
        ("INSERT INTO t VALUES (1)", "takes a SELECT"),
        ("INSERT INTO t SELECT * FROM read_csv('/etc/passwd')", "is no table"),
        ("INSERT INTO t SELECT 1; SELECT 2", "one statement, please"),
        ("INSERT INTO other.lake.t SELECT 1", "there is no catalogue other"),
    ],
)
def test_what_has_no_meaning_is_refused_in_one_line(sql: str, said: str) -> None:
    with pytest.raises(TranslationError) as refused:
        created_table(sql) or inserted_rows(sql)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("keys", "columns", "said"),
    [
        ("'country'", ["country", "a"], "partitioned_by is country, but the last selected is a: Athena wants"),
        ("'a', 'b'", ["x", "b", "a"], "partitioned_by is a, b, but the last selected is b, a"),
        ("'c'", ["a", "b"], "partitioned_by names c, which the statement doesn't select"),
        ("'a'", ["a"], "a table needs a column that it isn't partitioned by"),
        ("'a'", ["A", "a"], "a is there more than once"),
    ],
)
def test_partitions_are_by_the_last_columns(keys: str, columns: list[str], said: str) -> None:
    created = created_table(with_(f"partitioned_by=ARRAY[{keys}]"))
    assert created is not None
    with pytest.raises(TranslationError, match=said):
        check_columns(created, columns)


def test_more_partitions_than_athena_writes_are_counted_with_the_way_out() -> None:
    created = created_table(with_("partitioned_by=ARRAY['Country']"))
    assert created is not None
    check_columns(created, ["a", "COUNTRY"])
    check_partitions(created, MOST_PARTITIONS)
    with pytest.raises(TranslationError, match=r"t would have 101 partitions by country.* take fewer by WHERE"):
        check_partitions(created, MOST_PARTITIONS + 1)


TABLE = replace(CUSTOMER_ADDRESSES, name="t", columns=(("id", "int"), ("day", "date")))


def test_rows_and_their_table_are_taken_apart() -> None:
    inserted = inserted_rows("-- today\nINSERT INTO Lake.T SELECT x.id FROM lake.x AS x")
    assert inserted is not None
    assert inserted.name == TableName(database="lake", table="t")
    assert [str(table) for table in inserted.rows.tables] == ["lake.x"]


def test_the_rows_columns_are_the_tables() -> None:
    check_types(TABLE, ["int", "date"])
    with pytest.raises(TranslationError, match="t has 2 columns, the statement selects 1"):
        check_types(TABLE, ["int"])
    with pytest.raises(TranslationError, match=r"t\.day is date, the statement selects string: CAST it"):
        check_types(TABLE, ["int", "string"])


def test_names_are_those_of_the_pipelines_tables_without_the_database_and_in_lower_case() -> None:
    found = derived_query('SELECT A.Id, "Sum" AS total FROM datalake.Shop_Items AS A JOIN shop_sums ON a.id = key')
    assert found.tables == ("shop_items", "shop_sums")
    assert found.columns == ("id", "total")
    assert found.sql == "SELECT a.id, `sum` AS total FROM shop_items AS a JOIN shop_sums ON a.id = key"
    # Behind a star they are the job's to tell.
    assert derived_query("SELECT * FROM t").columns is None


def test_the_saved_queries_file_is_one_as_it_stands() -> None:
    found = derived_query((SQL_FOLDER / "customer_addresses.sql").read_text())
    assert found.tables == ("pagila_customer", "pagila_address", "pagila_city", "pagila_country")
    assert found.columns is not None
    assert "customer_id" in found.columns


@pytest.mark.parametrize(
    ("athena", "spark"),
    [
        ("CAST('1' AS bigint) / CAST('2' AS bigint)", "CAST('1' AS BIGINT) DIV CAST('2' AS BIGINT)"),
        ("i / CAST(k AS double)", "i / CAST(k AS DOUBLE)"),
        ("7 / 2", "7 DIV 2"),
        ("greatest(i, k)", "CASE WHEN NOT i IS NULL AND NOT k IS NULL THEN GREATEST(i, k) END"),
        ("day_of_week(d)", "(WEEKDAY(d) + 1)"),
        ("date_format(d, '%Y')", "DATE_FORMAT(d, 'yyyy')"),
    ],
)
def test_what_the_two_spell_differently_is_sparks(athena: str, spark: str) -> None:
    assert derived_query(f"SELECT {athena} AS x FROM t").sql == f"SELECT {spark} AS x FROM t"


@pytest.mark.parametrize(
    ("sql", "line"),
    [
        ("SELECT a / b AS x FROM t", "a / b: Athena divides whole numbers to whole ones"),
        ("SELECT a / 2.0 AS x FROM t", "a / 2.0: Athena divides whole numbers"),
        ("SELECT word_stem(a) AS x FROM t", r"WORD_STEM\(a\): not known to be the same in Spark as in Athena"),
        ("SELECT array_agg(a) AS x FROM t", r"ARRAY_AGG\(a\): not known to be the same in Spark"),
        ("SELECT avg(a) AS x FROM t", "the average of decimals is a decimal in Athena"),
        ("SELECT round(a, 2) AS x FROM t", "a double is rounded otherwise in Spark: CAST to decimal"),
        ("SELECT date_trunc('day', a) AS x FROM t", "Spark makes a timestamp of a date: CAST to timestamp"),
        ("SELECT date_diff('month', a, b) AS x FROM t", "Spark counts months at their ends otherwise"),
        ("SELECT CAST(a AS json) AS x FROM t", "a column of the lake has no such type"),
        ("SELECT max(a, 2) AS x FROM t", "only one value is the same in Spark"),
        ("SELECT a FROM t WHERE (a, b) = (1, 2)", "compare column by column"),
        ("SELECT a IN (SELECT b FROM t) AS x FROM t", "Spark gives false instead of NULL here"),
        ("SELECT a FROM t WHERE a = 1 OR b IN (SELECT b FROM t)", "Spark gives false instead of NULL here"),
        ("SELECT u.x FROM t LEFT JOIN UNNEST(split(a, ',')) AS u (x) ON true", r"only CROSS JOIN UNNEST\(one array\)"),
        ("SELECT a FROM t ORDER BY a FETCH FIRST 1 ROW WITH TIES", "WITH TIES: not known to be the same in Spark"),
        ("SELECT json_extract_scalar(a, '$.b.*') AS x FROM t", r"a path with \* or \.\.: not known"),
        ("SELECT now() AS x FROM t", "CURRENT_TIMESTAMP is another value each time"),
        ("SELECT rand() AS x FROM t", r"RAND\(\) is another value each time"),
        ("SELECT a FROM t TABLESAMPLE BERNOULLI (10)", "is another value each time"),
        ("SELECT a + 1 FROM t", "a column of the query has no name"),
        ("SELECT a FROM other.t", r"other.t: a derived table is made of the pipeline's own tables, datalake\.<table>"),
        ("INSERT INTO t SELECT 1 AS a", "INSERT isn't a query"),
        ("SELECT a FROM t WHERE b = ?", "is a parameter without a value"),
        ("SELECT FROM", "the SQL can't be read"),
    ],
)
def test_what_would_not_be_the_same_is_refused_in_a_line(sql: str, line: str) -> None:
    with pytest.raises(TranslationError, match=line) as raised:
        derived_query(sql)
    assert "\n" not in str(raised.value)
