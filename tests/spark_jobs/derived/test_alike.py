"""Spark answers each case as Trino does, or the pipeline file is refused."""

from collections.abc import Sequence
from typing import Any

import pytest
import sqlglot
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from analytics.alike.parts import TranslationError
from analytics.derived import derived_query
from spark_jobs.runtime.session import CodegenSwitch, as_in_athena
from tests.analytics import alike
from tests.analytics.alike import Case
from tests.cases import long

pytestmark = pytest.mark.integration
AT_ONCE = 60
ONE_PARTITION = {"spark.sql.shuffle.partitions": "1", "spark.sql.leafNodeDefaultParallelism": "1"}


# Compiling each query takes longer than its five rows.
@pytest.mark.parametrize("small", [True, long(False)])
def test_spark_answers_as_trino(spark: SparkSession, *, small: bool) -> None:
    session = spark.newSession()
    for key, value in ONE_PARTITION.items():
        session.conf.set(key, value)
    for table, query in alike.TABLES.items():
        session.sql(sqlglot.transpile(query, read="athena", write="spark")[0]).createOrReplaceTempView(table)
    with CodegenSwitch(session).unless(small), as_in_athena(session):
        found = _answers(session)
    assert not (wrong := alike.problems("spark", found)), "\n".join(wrong)


def _answers(session: SparkSession) -> dict[str, str]:
    found: dict[str, str] = {}
    together: list[Case] = []
    for case in alike.cases():
        try:
            derived_query(case.statement)
        except TranslationError:
            found[case.text] = alike.REFUSED
            continue
        if case.is_statement or {alike.FAILS, alike.REFUSED} & {case.trino, case.spark}:
            found[case.text] = _answer(session, case)
        else:
            together.append(case)
    for start in range(0, len(together), AT_ONCE):
        found |= _of_one_row(session, together[start : start + AT_ONCE])
    return found


def _of_one_row(session: SparkSession, cases: Sequence[Case]) -> dict[str, str]:
    """Query many expressions at once, and one by one where an unexpected one fails."""
    columns = ", ".join(f"{case.text} AS c{number}" for number, case in enumerate(cases))
    try:
        (row,) = session.sql(derived_query(f"SELECT {columns} FROM v").sql).collect()
    except (PySparkException, Py4JJavaError):
        return {case.text: _answer(session, case) for case in cases}
    return {case.text: alike.shown([[_plain(value)]]) for case, value in zip(cases, row, strict=True)}


def _answer(session: SparkSession, case: Case) -> str:
    try:
        rows = session.sql(derived_query(case.statement).sql).collect()
    except (PySparkException, Py4JJavaError):
        return alike.FAILS
    return alike.shown([_plain(value) for value in row] for row in rows)


def _plain(value: Any) -> Any:
    if isinstance(value, Row):
        return tuple(map(_plain, value))
    return list(map(_plain, value)) if isinstance(value, list) else value
