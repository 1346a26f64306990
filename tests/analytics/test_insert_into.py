"""INSERT INTO adds rows to a declared table, or is refused in one line."""

import pytest

from analytics.alike.parts import TranslationError
from analytics.create_table import check_types, inserted_rows
from analytics.silver_table import CUSTOMER_ADDRESSES, SilverTable
from analytics.translate import TableName

TABLE = SilverTable(name="t", description="Two columns", columns=(("id", "int"), ("day", "date")))


def test_rows_and_their_table_are_taken_apart() -> None:
    inserted = inserted_rows("-- today\nINSERT INTO Lake.T SELECT x.id FROM lake.x AS x")
    assert inserted is not None
    assert inserted.name == TableName(database="lake", table="t")
    assert [str(table) for table in inserted.rows.tables] == ["lake.x"]


@pytest.mark.parametrize("sql", ["SELECT 1", "", "CREATE TABLE x AS SELECT 1 AS a", "SHOW TABLES"])
def test_another_statement_isnt_judged(sql: str) -> None:
    assert inserted_rows(sql) is None


@pytest.mark.parametrize(
    ("sql", "said"),
    [
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
        inserted_rows(sql)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_rows_columns_are_the_tables() -> None:
    check_types(TABLE, ["int", "date"])
    with pytest.raises(TranslationError, match="t has 2 columns, the statement selects 1"):
        check_types(TABLE, ["int"])
    with pytest.raises(TranslationError, match=r"t\.day is date, the statement selects string: CAST it"):
        check_types(TABLE, ["int", "string"])


def test_a_table_is_below_the_lake_by_its_name() -> None:
    table = CUSTOMER_ADDRESSES.called("mine")
    assert table.location("s3://bucket") == "s3://bucket/_silver/mine"
    assert table.columns == CUSTOMER_ADDRESSES.columns
