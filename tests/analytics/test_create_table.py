"""CREATE TABLE AS means what it means in Athena, or is refused in one line."""

import pytest

from analytics.alike.parts import TranslationError
from analytics.create_table import MOST_PARTITIONS, check_columns, check_partitions, created_table
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
    assert created_table(sql) is None


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
    ],
)
def test_what_has_no_meaning_is_refused_in_one_line(sql: str, said: str) -> None:
    with pytest.raises(TranslationError) as refused:
        created_table(sql)
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


def test_columns_and_partitions_that_athena_takes_pass() -> None:
    created = created_table(with_("partitioned_by=ARRAY['Country']"))
    assert created is not None
    check_columns(created, ["a", "COUNTRY"])
    check_partitions(created, MOST_PARTITIONS)


def test_more_partitions_than_athena_writes_are_counted_with_the_way_out() -> None:
    created = created_table(with_("partitioned_by=ARRAY['country']"))
    assert created is not None
    with pytest.raises(TranslationError, match=r"t would have 101 partitions by country.* take fewer by WHERE"):
        check_partitions(created, MOST_PARTITIONS + 1)
