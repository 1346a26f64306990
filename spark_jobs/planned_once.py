"""Asks one query of one frame after another; it is analysed, optimised and planned for the first of them alone."""

from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.inner_side import quicker

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
        return quicker("planning", lambda: self._planned(frame), lambda: self._query(frame))

    def _planned(self, frame: DataFrame) -> DataFrame:
        spark = frame.sparkSession
        jvm: Any = spark._jvm
        # Each step of a plan is one of the session that is active in its thread as it is made.
        jvm.SparkSession.setActiveSession(spark._jsparkSession)
        below, columns = frame._jdf.queryExecution().executedPlan(), frame._jdf.schema()
        rows = below.execute()
        kind = (columns.json(), *(spark.conf.get(key) for key in _COMPILED))
        if kind not in self._plans:
            made = self._query(DataFrame(_of_rows(spark, rows, columns), spark))._jdf
            plan = made.queryExecution().executedPlan()
            answer = _of_rows(spark, plan.execute(), made.schema()).queryExecution().logical()
            self._plans[kind] = plan, answer
        plan, answer = self._plans[kind]
        # What is in one task needs no shuffle later on.
        is_one_task = below.outputPartitioning().toString() == "SinglePartition"
        parts = below.outputPartitioning() if is_one_task else answer.outputPartitioning()
        return _answered(spark, answer, _above(spark, plan, rows).execute(), parts)


def _of_rows(spark: SparkSession, rows: Any, columns: Any) -> Any:
    return spark._jsparkSession.internalCreateDataFrame(rows, columns, False)


def _answered(spark: SparkSession, like: Any, rows: Any, parts: Any) -> DataFrame:
    """Return rows as a frame, partitioned by `parts`; all else is `like` another one's logical plan."""
    jvm: Any = spark._jvm
    none, session = jvm.scala.Option.empty(), spark._jsparkSession
    plan = like.copy(like.output(), rows, parts, like.outputOrdering(), False, session, none, none)
    return DataFrame(jvm.org.apache.spark.sql.Dataset.ofRows(session, plan), spark)


def _above(spark: SparkSession, plan: Any, rows: Any) -> Any:
    """Return a plan, steps one above the other, above other rows than it was made for."""
    jvm: Any = spark._jvm
    children = plan.children()
    if children.isEmpty():
        scan = jvm.org.apache.spark.sql.execution.RDDScanExec
        return scan(plan.output(), rows, plan.name(), plan.outputPartitioning(), plan.outputOrdering())
    return plan.withNewChildren(jvm.PythonUtils.toSeq([_above(spark, children.head(), rows)]))
