"""Athena's SQL means the same in DuckDB, case by case, or is refused in one line."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
import pytest
import sqlglot
from sqlglot import exp

from analytics.alike.parts import TranslationError
from analytics.translate import ASKED, DERIVED, FLEETING, TableName, first_word, name, parsed, translate
from local.query.engine import Engine
from tests.analytics import alike


def test_a_column_without_a_name_has_athenas() -> None:
    assert translate("SELECT 1, 2 AS two, count(*)").sql == "SELECT 1 AS _col0, 2 AS two, COUNT(*) AS _col2"
    assert translate("SELECT 1 UNION ALL SELECT 2").sql.startswith("SELECT 1 AS _col0 UNION")


def test_what_a_statement_names_is_known() -> None:
    statement = translate(
        "WITH mine AS (SELECT A.x FROM AwsDataCatalog.Lake.Things AS A) SELECT count(*) FROM mine JOIN other ON y = x"
    )
    assert set(statement.tables) == {
        TableName(database="lake", table="things"),
        TableName(database=None, table="other"),
    }
    assert statement.columns is not None
    assert {"x", "y"} <= statement.columns
    assert "awsdatacatalog" not in statement.sql.lower()


@pytest.mark.parametrize("sql", ["SELECT * FROM a", "SELECT a.* FROM a", "SELECT x FROM a NATURAL JOIN b"])
def test_all_columns_may_be_wanted(sql: str) -> None:
    assert translate(sql).columns is None


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("", "there is no statement"),
        ("-- nothing", "there is no statement"),
        ("SELECT 1; SELECT 2", "one statement, please: these are 2"),
        ("SELECT 1; DROP TABLE x", "one statement, please: these are 2"),
        ("COPY (SELECT 1) TO 'x'", "COPY isn't a query"),
        ("DROP TABLE x", "DROP isn't a query"),
        ("INSTALL httpfs", "INSTALL isn't a query"),
        ("LOAD httpfs", "LOAD isn't a query"),
        ("ATTACH 'x.db'", "can't be read"),
        ("SET threads = 1", "SET isn't a query"),
        ("PRAGMA version", "PRAGMA isn't a query"),
        ("USE x", "USE isn't a query"),
        ("EXPLAIN SELECT 1", "EXPLAIN isn't a query"),
        ("CREATE TABLE x AS SELECT 1", "CREATE isn't a query"),
        ("INSERT INTO x VALUES (1)", "INSERT isn't a query"),
        ("DELETE FROM x", "DELETE isn't a query"),
        ("UNLOAD (SELECT 1) TO 's3://x'", "UNLOAD isn't a query"),
        ("WITH x AS (DELETE FROM y RETURNING 1) SELECT 1", "DELETE within the query would change something"),
        ("SELECT 1 INTO x", "INTO within the query would change something"),
        ("SELECT * FROM read_csv('/etc/passwd')", "READ_CSV('/etc/passwd') is no table"),
        ("SELECT * FROM duckdb_settings()", "DUCKDB_SETTINGS() is no table"),
        ("SELECT (SELECT 1 FROM read_text('x'))", "is no table"),
        ("SELECT * FROM other.lake.x", "there is no catalogue other"),
        ("SELECT * FROM x WHERE a = ?", "? is a parameter without a value"),
        ("SELECT FROM WHERE", "Expected table name but got WHERE, line 1, column 17, near 'WHERE'"),
        ("SELECT 1 +", "something is missing, line 1, column 10"),
        ("SELECT 'open", "can't be read"),
    ],
)
def test_what_is_no_question_is_refused_in_a_line(sql: str, said: str) -> None:
    with pytest.raises(TranslationError) as refused:
        translate(sql)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("text", "word"), [("-- a\nselect 1", "SELECT"), ("", ""), ("SELECT 'open", "")])
def test_the_first_word_tells_the_statement(text: str, word: str) -> None:
    assert first_word(text) == word


DOCS = Path(__file__).resolve().parents[2] / "docs"
DATABASE = "datalake"


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """The two tables as in the lake: timestamps with a zone."""
    with duckdb.connect() as connection:
        made = Engine(connection, DATABASE)
        for table, query in alike.TABLES.items():
            (sql,) = sqlglot.transpile(query, read="athena", write="duckdb")
            instants = " REPLACE (t::TIMESTAMPTZ AS t, u::TIMESTAMPTZ AS u)" if table == "v" else ""
            made.run(f"CREATE TABLE {DATABASE}.{table} AS SELECT *{instants} FROM ({sql})")
        made.run(f"SET schema = '{DATABASE}'")
        yield made


def test_duckdb_answers_as_trino(engine: Engine) -> None:
    found = {case.text: _answer(engine, case.statement) for case in alike.cases()}
    assert not (wrong := alike.problems("duckdb", found)), "\n".join(wrong)


def test_rows_of_a_map_are_one_column(engine: Engine) -> None:
    """As the seed's query has them; tests/local/query runs the named ones."""
    items = """'[{"discount": 0.05}, {"discount": 0.15}]'"""
    statement = (
        f"WITH raw AS (SELECT transform(CAST(json_parse({items}) AS ARRAY(MAP(varchar, varchar))),"
        " x -> CAST(ROW(x['discount']) AS ROW(discount decimal(6,2)))) AS items)"
        " SELECT item.discount FROM raw CROSS JOIN UNNEST(items) AS t(item) ORDER BY 1"
    )
    assert _answer(engine, statement) == "DECIMAL '0.05'; DECIMAL '0.15'"


def test_each_difference_is_in_the_documents() -> None:
    pages = {
        "duckdb": (DOCS / "query" / "query.md").read_text(),
        "spark": (DOCS / "reference" / "pipeline-file.md").read_text(),
    }
    for case in alike.cases():
        for engine, page in pages.items():
            if getattr(case, engine) not in ("", alike.REFUSED):
                assert case.why, case.text
                assert case.why in page, f"{case.text} differs in {engine}, and no document says {case.why!r}"


@pytest.mark.parametrize(("engine", "known"), [("duckdb", ASKED - FLEETING), ("spark", DERIVED)])
def test_what_is_allowed_has_a_case(engine: str, known: frozenset[str]) -> None:
    proven: set[str] = set()
    for case in alike.cases():
        if not getattr(case, engine) and case.trino != alike.FAILS:
            proven |= {name(node) for node in parsed(case.statement).find_all(exp.Expression)}
    assert known - proven == set()


def _answer(engine: Engine, text: str) -> str:
    try:
        found = engine._asked(translate(text).sql).to_arrow_table()
    except TranslationError:
        return alike.REFUSED
    except duckdb.Error:
        return alike.FAILS
    return alike.shown([_value(column[row]) for column in found.columns] for row in range(found.num_rows))


def _value(scalar: Any) -> Any:
    """Return a value as Python has it: a row as a tuple, and only a map as a dictionary."""
    kind = scalar.type
    if not scalar.is_valid:
        return None
    if pyarrow.types.is_map(kind):
        return dict(scalar.as_py())
    if pyarrow.types.is_struct(kind):
        return tuple(_value(scalar[position]) for position in range(len(kind)))
    if pyarrow.types.is_list(kind):
        return [_value(each) for each in scalar.values]
    return scalar.as_py()
