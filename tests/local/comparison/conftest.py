"""The Spark session that writes real Hudi tables, as the job's own tests have it."""

from tests.spark_jobs.conftest import glue_endpoint, pytest_collection_modifyitems, spark

__all__ = ["glue_endpoint", "pytest_collection_modifyitems", "spark"]
