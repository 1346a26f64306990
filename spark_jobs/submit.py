"""Builds the job's command lines, here and on EMR, from typed values: the one place that knows its options by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from contract.events import ORDERING
from spark_jobs import keys

_HUDI = "org.apache.hudi.utilities"


@dataclass(frozen=True, kw_only=True)
class TableJob:
    """What one table's job reads and writes; paths are local or have a scheme.

    `configuration` holds further properties: they win over those of `properties_file`.
    """

    landing: str
    table_path: str
    database: str
    table: str
    schema_file: str
    properties_file: str
    table_type: str = "COPY_ON_WRITE"
    operation: str = "UPSERT"
    ordering_field: str = ORDERING
    sync_interval_seconds: int = 5
    configuration: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class YarnSubmission:
    """How EMR runs the job: where its files are, and what it gets; memory as Spark writes it, such as
    `2g`; the `python` is a version that EMR has, such as `3.11`.
    """

    application: str
    archive: str
    driver_memory: str
    executor_memory: str
    executors: int
    python: str
    jars: tuple[str, ...] = ("/usr/lib/hudi/hudi-spark-bundle.jar", "/usr/lib/hudi/hudi-aws-bundle.jar")
    settings: Mapping[str, str] = field(default_factory=dict)


def job_arguments(job: TableJob) -> list[str]:
    """Return the job's options, in HoodieStreamer's words, for a run that goes on until it is told to stop."""
    properties = {
        keys.FILES_ROOT: job.landing,
        keys.SCHEMA_FILE: job.schema_file,
        **job.configuration,
    }
    return [
        *("--table-type", job.table_type, "--op", job.operation),
        *("--source-class", f"{_HUDI}.sources.JsonDFSSource"),
        *("--source-ordering-field", job.ordering_field),
        *("--schemaprovider-class", f"{_HUDI}.schema.FilebasedSchemaProvider"),
        *("--target-base-path", job.table_path),
        *("--target-table", f"{job.database}.{job.table}"),
        *("--props", job.properties_file),
        *(part for name, value in properties.items() for part in ("--hoodie-conf", f"{name}={value}")),
        *("--enable-sync", "--min-sync-interval-seconds", str(job.sync_interval_seconds), "--continuous"),
    ]


def yarn_command(submission: YarnSubmission, arguments: Sequence[str]) -> list[str]:
    """Return the spark-submit command for YARN in client mode (docs/decisions/0054-emr-step.md)."""
    settings = {
        "spark.pyspark.python": f"python{submission.python}",
        "spark.executor.instances": str(submission.executors),
        # A job that never ends keeps its executors: giving them back between two commits only makes commits wait.
        "spark.dynamicAllocation.enabled": "false",
        "spark.shuffle.service.enabled": "false",
        # AES between driver and executors, with a secret that YARN hands out.
        "spark.authenticate": "true",
        "spark.network.crypto.enabled": "true",
        **submission.settings,
    }
    return [
        *("spark-submit", "--master", "yarn", "--deploy-mode", "client"),
        *("--jars", ",".join(submission.jars), "--py-files", submission.archive),
        *("--driver-memory", submission.driver_memory, "--executor-memory", submission.executor_memory),
        *(part for name, value in settings.items() for part in ("--conf", f"{name}={value}")),
        submission.application,
        *arguments,
    ]
