"""Caches a frame behind a plan of one node: what is asked of it is planned without the plan that made it."""

from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from spark_jobs.inner_side import quicker


@dataclass(frozen=True)
class Cached:
    """A cached frame, and the plan that Spark knows its rows by."""

    frame: DataFrame
    _planned: DataFrame

    def release(self) -> None:
        """Free the memory; what is still asked of the frame is computed anew."""
        self._planned.unpersist()


def cached(planned: DataFrame) -> Cached:
    """Cache a frame, on disk too where memory lacks, once something is asked of it.

    `persist` alone leaves the plan as it was: each query of a batch then analyses, compares and prints the decoding
    of all columns again, only to find in the end that its rows are cached.
    """
    planned.persist()
    try:
        return Cached(quicker("caching", lambda: _one_node(planned), lambda: planned), planned)
    except Exception:
        planned.unpersist()
        raise


def _one_node(planned: DataFrame) -> DataFrame:
    spark: Any = planned.sparkSession
    relation = planned._jdf.queryExecution().withCachedData()
    return DataFrame(spark._jvm.org.apache.spark.sql.Dataset.ofRows(spark._jsparkSession, relation), spark)
