"""A derived table's query means in Spark what it means in Athena, or is refused in one line."""

import pytest

from analytics.alike.parts import TranslationError
from analytics.derived import derived_query
from analytics.queries import SQL_FOLDER


def test_names_are_those_of_the_pipelines_tables_without_the_database_and_in_lower_case() -> None:
    found = derived_query('SELECT A.Id, "Sum" AS total FROM datalake.Shop_Items AS A JOIN shop_sums ON a.id = key')
    assert found.tables == ("shop_items", "shop_sums")
    assert found.columns == ("id", "total")
    assert "datalake" not in found.sql
    assert found.sql == found.sql.lower().replace(" as ", " AS ").replace("select", "SELECT").replace(
        " from ", " FROM "
    ).replace(" join ", " JOIN ").replace(" on ", " ON ")


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


def test_columns_behind_a_star_are_the_jobs_to_tell() -> None:
    assert derived_query("SELECT * FROM t").columns is None


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
