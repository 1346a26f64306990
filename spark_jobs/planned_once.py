"""Asks one query of one frame after another; it is analysed, optimised and planned for the first of them alone."""

from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession

# What decides about a plan, besides query and columns: whether it is compiled (session.py).
_COMPILED = ("spark.sql.codegen.wholeStage", "spark.sql.codegen.factoryMode")


class PlannedOnce:
    """A query that treats each row by itself: its plan is kept, and each frame's rows are put below it.

    To plan 1,600 columns takes seconds, and so does each frame on the way there that has them.
    """

    def __init__(self, query: Callable[[DataFrame], DataFrame]) -> None:
        self._query = query
        self._plans: dict[tuple[object, ...], tuple[Any, Any]] = {}

    def __call__(self, frame: DataFrame) -> DataFrame:
        """Return what the query makes of a frame."""
        spark = frame.sparkSession
        rows, columns = frame._jdf.queryExecution().executedPlan().execute(), frame._jdf.schema()
        kind = (columns.json(), *(spark.conf.get(key) for key in _COMPILED))
        if kind not in self._plans:
            made = self._query(_frame(spark, rows, columns))._jdf
            self._plans[kind] = made.queryExecution().executedPlan(), made.schema()
        plan, columns = self._plans[kind]
        return _frame(spark, _above(spark, plan, rows).execute(), columns)


def _frame(spark: SparkSession, rows: Any, columns: Any) -> DataFrame:
    return DataFrame(spark._jsparkSession.internalCreateDataFrame(rows, columns, False), spark)


def _above(spark: SparkSession, plan: Any, rows: Any) -> Any:
    """Return a plan, steps one above the other, above other rows than it was made for."""
    jvm: Any = spark._jvm
    children = plan.children()
    if children.isEmpty():
        scan = jvm.org.apache.spark.sql.execution.RDDScanExec
        return scan(plan.output(), rows, plan.name(), plan.outputPartitioning(), plan.outputOrdering())
    return plan.withNewChildren(jvm.PythonUtils.toSeq([_above(spark, children.head(), rows)]))
