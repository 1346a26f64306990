"""DuckDB answers each case as Trino does, refuses it, or differs as docs/query/query.md says."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
import pytest
import sqlglot
from sqlglot import exp

from analytics.alike.parts import TranslationError
from analytics.translate import ASKED, DERIVED, FLEETING, name, parsed, translate
from local.query.engine import Engine
from tests.analytics import alike

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
