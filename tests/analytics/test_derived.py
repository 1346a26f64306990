"""A derived table's query means in Spark what it means in Athena, or is refused in one line."""

import pytest

from analytics.derived import derived_query
from analytics.queries import SQL_FOLDER
from analytics.translate import TranslationError


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
        ("json_extract_scalar(j, '$.a')", "GET_JSON_OBJECT(j, '$.a')"),
        ("CAST(i AS varchar)", "CAST(i AS STRING)"),
        ("CAST(i AS bigint) / CAST(k AS bigint)", "CAST(i AS BIGINT) DIV CAST(k AS BIGINT)"),
        ("i / CAST(k AS double)", "i / CAST(k AS DOUBLE)"),
        ("7 / 2", "7 DIV 2"),
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
