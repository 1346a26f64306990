"""Builds the spark-submit command of the streaming job for this machine; EMR runs the same job."""

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from contract.text import UTF_8_LOCALE
from local.files import write_private
from local.services.aws import ENVIRONMENT as AWS_ENVIRONMENT
from local.services.aws import REGION
from local.services.jvm import write_properties
from local.setup.jars import jar_folder
from local.setup.java import java_home, jvm_flags, spark_home
from spark_jobs.options.submit import JOL_FLAGS

ROOT = Path(__file__).resolve().parents[2]
JOB = ROOT / "spark_jobs" / "streamer.py"
MULTI_TABLE_JOB = JOB.with_name("multi_table_streamer.py")
# Spark puts PySpark's archive on Python's path, and each start would compile what it imports from there.
_PYTHON = Path(__file__).with_name("driver_python")
# More tasks than cores: two large batches have two each, and a small one's start at once (0072).
_MANY_TABLES = {"spark.master": "local[6]", "spark.default.parallelism": "2"}
# S3's client looks for one in every jar, twice for each list that it reads: Java's own is what it finds.
_XML_READER = "com.sun.org.apache.xerces.internal.parsers.SAXParser"
_LOG4J = {
    "status": "error",
    "rootLogger.level": "warn",
    "rootLogger.appenderRef.file.ref": "file",
    "appender.file.type": "File",
    "appender.file.name": "file",
    "appender.file.layout.type": "PatternLayout",
    "appender.file.layout.pattern": "%d{ISO8601} %p %c: %m%n%ex",
}


def spark_submit(
    arguments: Sequence[str],
    *,
    work_folder: Path,
    log_file: Path,
    s3_endpoint: str | None = None,
    glue_endpoint: str | None = None,
    driver_memory: str = "1g",
    program: Path = JOB,
    java_options: Sequence[str] = (),
) -> tuple[list[str], dict[str, str]]:
    """Return command line and environment that run the job, or another `program` of it, with `arguments`.

    Writes Spark's settings into `work_folder`, also the place for scratch files; Spark's own log (warnings) goes to
    `log_file`, the job's lines to its standard output and error. Both endpoints are URLs on loopback; without one the
    job uses AWS's own. `java_options` are added to ours. Raises JarsError or JavaNotFoundError when something is
    missing.
    """
    configuration = work_folder / "conf"
    log_file.parent.mkdir(parents=True, exist_ok=True)
    log_settings = configuration / "log4j2.properties"
    write_properties(log_settings, _LOG4J | {"appender.file.fileName": str(log_file.absolute())})
    flags = [*java_options, f"-Dlog4j2.configurationFile={log_settings.absolute()}"]
    settings = job_settings(work_folder, flags, driver_memory)
    if program == MULTI_TABLE_JOB:
        settings |= _MANY_TABLES
    if s3_endpoint:
        settings |= s3a_settings(s3_endpoint)
    lines = [f"{key} {value}\n" for key, value in sorted(settings.items())]
    properties = configuration.absolute() / "spark.properties"
    write_private(properties, "".join(lines))
    home = spark_home()
    # Not SPARK_CONF_DIR, which would be on the class path: a class archive allows no folders there.
    command = [str(home / "bin" / "spark-submit"), "--properties-file", str(properties), str(program)]
    return [*command, *arguments], _environment(home, s3_endpoint, glue_endpoint)


def job_class_path() -> str:
    """Return the class path of everything that Spark lacks: Hudi, the clients of S3 and Kafka, PostgreSQL's driver."""
    return ":".join(f"{jar_folder(name)}/*" for name in ("spark", "postgresql"))


def spark_flags() -> list[str]:
    """Return the flags for a JVM that writes Hudi tables."""
    return [*jvm_flags(), *JOL_FLAGS, f"-Dorg.xml.sax.driver={_XML_READER}"]


def job_settings(work_folder: Path, flags: Sequence[str], driver_memory: str) -> dict[str, str]:
    """Return Spark's settings for a job that writes Hudi tables on two cores."""
    scratch = work_folder.absolute() / "scratch"
    options = [*spark_flags(), *flags, f"-Dderby.system.home={scratch}"]
    return {
        "spark.master": "local[2]",
        "spark.driver.memory": driver_memory,
        "spark.driver.extraJavaOptions": shlex.join(options),
        # Not --jars: that would copy 400 MB into the scratch folder at each start.
        "spark.driver.extraClassPath": job_class_path(),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.ui.enabled": "false",
        # Each query's plan is formatted for the UI even when it is off, by default with each step's details.
        "spark.sql.ui.explainMode": "simple",
        "spark.ui.showConsoleProgress": "false",
        # How often running tasks report their rows, for a load's progress: a person waits here.
        "spark.executor.heartbeatInterval": "5s",
    }


def s3a_settings(endpoint: str) -> dict[str, str]:
    """Return Spark's settings for an S3 endpoint on loopback, under `s3://` as well as `s3a://`."""
    return {
        "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "spark.hadoop.fs.s3a.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "spark.hadoop.fs.s3a.endpoint": endpoint,
        "spark.hadoop.fs.s3a.endpoint.region": REGION,
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
        "spark.hadoop.fs.s3a.aws.credentials.provider": "com.amazonaws.auth.EnvironmentVariableCredentialsProvider",
        # A server on loopback answers at once or is gone: don't hide its absence behind minutes of attempts.
        "spark.hadoop.fs.s3a.attempts.maximum": "3",
        "spark.hadoop.fs.s3a.retry.limit": "3",
        # Keeping folder markers saves a request for each parent folder of each object written.
        "spark.hadoop.fs.s3a.directory.marker.retention": "keep",
    }


def _environment(home: Path, s3_endpoint: str | None, glue_endpoint: str | None) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_", "PYTHONPATH"))}
    environment = (
        kept
        | UTF_8_LOCALE
        | {
            "JAVA_HOME": str(java_home()),
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            # For the JVM before the job's, which only prints the job's command line.
            "SPARK_LAUNCHER_OPTS": " ".join(jvm_flags()),
            # Ignore a proxy in the caller's environment between the job and a server on loopback.
            "NO_PROXY": ",".join(filter(None, [os.environ.get("NO_PROXY"), "127.0.0.1", "localhost"])),
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": str(_PYTHON),
        }
    )
    endpoints = {"AWS_ENDPOINT_URL_S3": s3_endpoint, "AWS_ENDPOINT_URL_GLUE": glue_endpoint}
    if here := {name: endpoint for name, endpoint in endpoints.items() if endpoint}:
        # The servers on loopback check no credentials, but the clients require some.
        environment |= here | AWS_ENVIRONMENT | {"AWS_DEFAULT_REGION": REGION, "AWS_EC2_METADATA_DISABLED": "true"}
    return environment
