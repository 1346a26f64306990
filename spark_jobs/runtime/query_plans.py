"""Saves Spark planning: a cached frame as one node, and a query's plan reused for one frame after another.

Both use Spark's internal API, and fall back to the ordinary way where EMR's build of Spark differs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.errors import log

Made = TypeVar("Made")
_strange: set[str] = set()


def with_fallback(what: str, inner: Callable[[], Made], ordinary: Callable[[], Made]) -> Made:
    """Return the result of `inner`; once a class or method is missing, that of `ordinary`, for good.

    The first time a line reports it. Other failures in Java are raised: the ordinary way would fail, too.
    """
    if what not in _strange:
        try:
            return inner()
        except (Py4JJavaError, Py4JNetworkError):
            raise
        except (Py4JError, TypeError) as error:  # py4j: no such method; a missing class can't be called
            _strange.add(what)
            said = " ".join(str(error).split())  # py4j names the method in a second line
            log(f"{what} is slower: this Spark lacks an internal API: {said:.300}")
    return ordinary()


@dataclass(frozen=True)
class CachedFrame:
    """A cached frame, and the plan by which Spark knows its rows."""

    frame: DataFrame
    _planned: DataFrame

    def with_more(self, rows: DataFrame) -> "CachedFrame":
        """Add rows that aren't cached."""
        return CachedFrame(self.frame.unionByName(rows), self._planned)

    def release(self) -> None:
        """Free the memory. Later queries recompute the rows."""
        self._planned.unpersist()


def cached(planned: DataFrame, *, small: bool = False) -> CachedFrame:
    """Cache a frame, on disk too if memory is short, at its first use.

    `persist` alone leaves the plan unchanged: each query of a batch then analyses, compares and prints the decoding of
    all columns again, only to find in the end that its rows are cached. After that first use the tasks on a `small`
    frame don't carry what made it: in one JVM none has to compute lost rows again, as for an executor that is gone.
    """
    planned.persist()
    try:
        return CachedFrame(with_fallback("caching", lambda: _one_node(planned, small), lambda: planned), planned)
    except Exception:
        planned.unpersist()
        raise


def _one_node(planned: DataFrame, small: bool) -> DataFrame:
    spark: Any = planned.sparkSession
    relation = planned._jdf.queryExecution().withCachedData()
    if small and spark.sparkContext._jsc.sc().isLocal():
        relation.cacheBuilder().cachedColumnBuffers().localCheckpoint()
    return DataFrame(spark._jvm.org.apache.spark.sql.Dataset.ofRows(spark._jsparkSession, relation), spark)


# A plan depends on query, columns, and whether it is compiled (session.py).
_COMPILED = ("spark.sql.codegen.wholeStage", "spark.sql.codegen.factoryMode")


class ReusedPlan:
    """A query that treats each row separately: its plan is kept, and each frame's rows are put below it.

    Planning 1,600 columns takes seconds, and so does each intermediate frame that has them.
    """

    def __init__(self, query: Callable[[DataFrame], DataFrame]) -> None:
        self._query = query
        self._plans: dict[tuple[object, ...], tuple[Any, Any]] = {}

    def __call__(self, frame: DataFrame) -> DataFrame:
        """Return the query's result for a frame."""
        return with_fallback("planning", lambda: self._planned(frame), lambda: self._query(frame))

    def _planned(self, frame: DataFrame) -> DataFrame:
        spark = frame.sparkSession
        jvm: Any = spark._jvm
        # Each step of a plan belongs to the session that is active in its thread at creation.
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
        # Rows in one task need no later shuffle.
        is_one_task = below.outputPartitioning().toString() == "SinglePartition"
        parts = below.outputPartitioning() if is_one_task else answer.outputPartitioning()
        return _answered(spark, answer, _above(spark, plan, rows).execute(), parts)


def _of_rows(spark: SparkSession, rows: Any, columns: Any) -> Any:
    return spark._jsparkSession.internalCreateDataFrame(rows, columns, False)


def _answered(spark: SparkSession, like: Any, rows: Any, parts: Any) -> DataFrame:
    """Return rows as a frame, partitioned by `parts`; the rest as in the logical plan `like`."""
    jvm: Any = spark._jvm
    none, session = jvm.scala.Option.empty(), spark._jsparkSession
    plan = like.copy(like.output(), rows, parts, like.outputOrdering(), False, session, none, none)
    return DataFrame(jvm.org.apache.spark.sql.Dataset.ofRows(session, plan), spark)


def _above(spark: SparkSession, plan: Any, rows: Any) -> Any:
    """Return a plan, steps one above the other, above other rows than its original ones."""
    jvm: Any = spark._jvm
    children = plan.children()
    if children.isEmpty():
        scan = jvm.org.apache.spark.sql.execution.RDDScanExec
        return scan(plan.output(), rows, plan.name(), plan.outputPartitioning(), plan.outputOrdering())
    return plan.withNewChildren(jvm.PythonUtils.toSeq([_above(spark, children.head(), rows)]))
