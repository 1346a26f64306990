"""A Spark session in this process, configured as the job's, for measuring or filling without spark-submit."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from local.services.spark import job_class_path, spark_flags
from local.setup.java import java_home
from spark_jobs.runtime import session


@contextmanager
def spark_session(scratch: Path) -> Iterator[SparkSession]:
    """Start a session on two cores; it ends with the block."""
    submit = {
        "spark.driver.extraClassPath": job_class_path(),
        "spark.driver.extraJavaOptions": " ".join([*spark_flags(), f"-Dderby.system.home={scratch}"]),
        "spark.driver.memory": "4g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    quoted = " ".join(f'--conf "{key}={value}"' for key, value in submit.items())
    os.environ |= {
        "JAVA_HOME": str(java_home()),
        "PYSPARK_SUBMIT_ARGS": f"{quoted} pyspark-shell",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    spark = session.start("bench", "local[2]")
    spark.sparkContext.setLogLevel("OFF")
    try:
        yield spark
    finally:
        spark.stop()
