"""Builds the job's command lines, local and on EMR, from typed values: the one place that knows its options by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from contract.events import ORDERING, READ_MS
from contract.text import UTF_8_FLAG, UTF_8_LOCALE
from spark_jobs.options import keys

# To estimate the size of rows, Hudi's JOL tries to attach a debugger to its own JVM: several seconds and nine more JVMs
# later it fails, and estimates without.
JOL_FLAGS = ("-Djol.skipDynamicAttach=true", "-Djol.skipHotspotSAAttach=true")
# The application master's heap, and for each container the memory that Spark adds to the heap: a share, with a minimum.
MASTER_MB, OVERHEAD_FACTOR, LEAST_OVERHEAD_MB = 512, 0.1, 384
# YARN rounds containers up (yarn.scheduler.minimum-allocation-mb on EMR).
_CONTAINER_STEP_MB = 32
_JARS = ("/usr/lib/hudi/hudi-spark-bundle.jar", "/usr/lib/hudi/hudi-aws-bundle.jar")
_HUDI = "org.apache.hudi.utilities"


@dataclass(frozen=True, kw_only=True)
class TableJob:
    """What one table's job reads and writes; paths are local or have a scheme.

    `landing` None: its rows are queried by JdbcSource, as `configuration` says, or derived from other tables, which
    allows neither `schema_file` nor the job of many tables. `configuration` holds further properties: they win over
    those of `properties_file`.
    """

    landing: str | None
    table_path: str
    database: str
    table: str
    schema_file: str | None
    properties_file: str
    table_type: str = "COPY_ON_WRITE"
    ordering_field: str = ORDERING
    sync_interval_seconds: int = 5
    configuration: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """`database.table`, its name in log, metrics and status."""
        return f"{self.database}.{self.table}"


def container_mb(heap_mb: int) -> int:
    """Return the memory that YARN allocates for a container with this heap, both in MB."""
    asked = heap_mb + max(LEAST_OVERHEAD_MB, int(heap_mb * OVERHEAD_FACTOR))
    return -(-asked // _CONTAINER_STEP_MB) * _CONTAINER_STEP_MB


def job_arguments(job: TableJob) -> list[str]:
    """Return the job's options, in HoodieStreamer's words, for a continuous run."""
    properties = {**_files(job), **job.configuration}
    return [
        *("--table-type", job.table_type, "--op", "UPSERT"),
        *("--source-class", _source(queried=job.landing is None)),
        *("--source-ordering-field", job.ordering_field),
        *("--schemaprovider-class", f"{_HUDI}.schema.FilebasedSchemaProvider"),
        *("--target-base-path", job.table_path),
        *("--target-table", f"{job.database}.{job.table}"),
        *("--props", job.properties_file),
        *(part for name, value in properties.items() for part in ("--hoodie-conf", f"{name}={value}")),
        *("--enable-sync", "--min-sync-interval-seconds", str(job.sync_interval_seconds), "--continuous"),
    ]


def _files(job: TableJob) -> dict[str, str]:
    given = {keys.FILES_ROOT: job.landing, keys.SCHEMA_FILE: job.schema_file}
    return {key: path for key, path in given.items() if path is not None}


def _source(*, queried: bool) -> str:
    return f"{_HUDI}.sources.{'JdbcSource' if queried else 'JsonDFSSource'}"


def table_properties(job: TableJob) -> str:
    """Return the text of one table's own .properties file, for `multi_table_arguments`."""
    pairs = {
        "include": job.properties_file,
        keys.TARGET_BASE_PATH: job.table_path,
        **_files(job),
        keys.MIN_SYNC_INTERVAL: str(job.sync_interval_seconds),
        "hoodie.datasource.write.table.type": job.table_type,
        "hoodie.datasource.write.precombine.field": job.ordering_field,
        **job.configuration,
    }
    return _properties(pairs)


def own_properties(job: TableJob) -> str:
    """Return the text of a .properties file with the job's own, which `job_arguments` can name instead."""
    return _properties({"include": job.properties_file, **job.configuration})


def list_properties(config_files: Mapping[str, str], configuration: Mapping[str, str]) -> str:
    """Return the text of the .properties file that names the tables, for `multi_table_arguments`.

    `config_files`: by `database.table`, where the results of `table_properties` are stored; `configuration` applies to
    all tables (the stop file and the metrics' namespace only here).
    """
    files = {f"{keys.INGESTION_PREFIX}{name}{keys.CONFIG_FILE_SUFFIX}": path for name, path in config_files.items()}
    return _properties({keys.TABLES: ",".join(config_files), **files, **configuration})


def multi_table_arguments(
    *,
    properties_file: str,
    config_folder: str,
    base_path_prefix: str,
    configuration: Mapping[str, str] | None = None,
    queried: bool = False,
) -> list[str]:
    """Return multi_table_streamer.py's options, in HoodieMultiTableStreamer's words, for a continuous run.

    The caller stores `table_properties` of each table where the job can read them, then `list_properties` of those
    addresses at `properties_file`. So the command line is as short with 100 tables as with one: EMR accepts 10,280
    characters. `config_folder` and `base_path_prefix` apply to tables whose file isn't named, or sets no base path.
    `queried`: the tables' rows come from JdbcSource.
    """
    return [
        *("--table-type", "COPY_ON_WRITE", "--op", "UPSERT"),
        *("--source-class", _source(queried=queried), "--source-ordering-field", READ_MS if queried else ORDERING),
        *("--schemaprovider-class", f"{_HUDI}.schema.FilebasedSchemaProvider"),
        *("--base-path-prefix", base_path_prefix, "--config-folder", config_folder, "--props", properties_file),
        *(part for name, value in (configuration or {}).items() for part in ("--hoodie-conf", f"{name}={value}")),
        *("--enable-sync", "--continuous"),
    ]


def _properties(pairs: Mapping[str, str]) -> str:
    marks = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t"} | {mark: f"\\{mark}" for mark in "\\=:#! "})
    return "".join(f"{key.translate(marks)}={value.translate(marks)}\n" for key, value in pairs.items())


def yarn_command(
    arguments: Sequence[str],
    *,
    application: str,
    archive: str,
    log_settings: str,
    driver_memory: str,
    executor_memory: str,
    executors: int,
    python: str,
    more_jars: Sequence[str] = (),
) -> list[str]:
    """Return EMR's spark-submit command for YARN in client mode (docs/decisions/0054-emr-step.md).

    Memory in Spark's notation, such as `2g`; `python` is a version that EMR has, such as `3.11`; `log_settings` are the
    containers', for Log4j 2.
    """
    settings = {
        "spark.pyspark.python": f"python{python}",
        "spark.executor.instances": str(executors),
        # A continuous job keeps its executors: releasing them between two commits only delays commits.
        "spark.dynamicAllocation.enabled": "false",
        "spark.shuffle.service.enabled": "false",
        # AES between driver and executors, with a secret that YARN distributes.
        "spark.authenticate": "true",
        "spark.network.crypto.enabled": "true",
        # settings/rules/processing.py assumes this factor: EMR's own is 0.1875.
        "spark.yarn.am.memory": f"{MASTER_MB}m",
        "spark.driver.memoryOverheadFactor": str(OVERHEAD_FACTOR),
        "spark.executor.memoryOverheadFactor": str(OVERHEAD_FACTOR),
        "spark.yarn.executor.memoryOverheadFactor": str(OVERHEAD_FACTOR),
        # A continuous job survives any number of failures, unless many occur within an hour.
        "spark.executor.failuresValidityInterval": "1h",
        "spark.yarn.am.attemptFailuresValidityInterval": "1h",
        # Both would grow without limit: 320 KB of events and 36 KB of the driver's log for each small commit.
        "spark.eventLog.enabled": "false",
        "spark.log.level": "WARN",
        **{f"spark.{which}.extraJavaOptions": " ".join((UTF_8_FLAG, *JOL_FLAGS)) for which in ("driver", "executor")},
        **{f"spark.executorEnv.{name}": value for name, value in UTF_8_LOCALE.items()},
    }
    return [
        *("spark-submit", "--master", "yarn", "--deploy-mode", "client"),
        *("--jars", ",".join((*_JARS, *more_jars)), "--py-files", archive),
        # Log4j finds it under this name in a container's folder.
        *("--files", f"{log_settings}#log4j2.properties"),
        *("--driver-memory", driver_memory, "--executor-memory", executor_memory),
        *(part for name, value in settings.items() for part in ("--conf", f"{name}={value}")),
        application,
        *arguments,
    ]
