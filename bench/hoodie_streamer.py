"""HoodieStreamer with what it needs to make the job's table from the job's landed events, for bench.against_others.

JsonDFSSource reads them with the job's schema file; the ordering field decides which is a key's newest, and a query
makes dates, times and `_hoodie_is_deleted` of what Debezium sends, or the tables couldn't be equal.

Hudi's bundle with HoodieStreamer isn't on the registry, but its classes are, and the bundle for Spark 3.4. In it, some
libraries have names of Hudi's own, so jarjar gives the classes those names, as the bundle's build does.
"""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from local.services.spark import s3a_settings, spark_submit
from local.setup.jars import fetch, jar_folder
from local.setup.java import java_binary, spark_home
from spark_jobs.decoding import schema
from spark_jobs.decoding.schema import IS_DELETED, Encoding
from spark_jobs.options import command_line, keys, properties
from spark_jobs.options.jdbc_settings import DRIVER
from spark_jobs.runtime.session import DEFAULTS, FIXED

JARS = "hoodie-streamer"
_RENAMED = ("com.beust.jcommander", "com.codahale.metrics", "org.apache.spark.sql.avro")
_CLIENTS = ("hadoop-aws-", "aws-java-sdk-bundle-", "postgresql-")
_LOGICAL_TYPES = {
    Encoding.DAYS: {"type": "int", "logicalType": "date"},
    Encoding.ISO_TIMESTAMP: {"type": "long", "logicalType": "timestamp-micros"},
}
# What no default could know of the table.
_OF_THE_TABLE = (keys.RECORD_KEY, keys.PARTITION_PATH, keys.KEY_GENERATOR)
_ALONE = {"spark.master": "local[2]", "spark.driver.memory": "1g", "spark.ui.enabled": "false"}
_NEWEST = ("--payload-class", "org.apache.hudi.common.model.DefaultHoodieRecordPayload")
_WITH_QUERY = ("--transformer-class", "org.apache.hudi.utilities.transform.SqlQueryBasedTransformer")


def install(home: Path) -> Path:
    """Download the jars, and make a home of Spark 3.4 with HoodieStreamer among its own. Raises JarsError."""
    fetch([JARS])
    jars = home / "jars"
    jars.mkdir(parents=True)
    (home / "bin").symlink_to(spark_home() / "bin")
    own = [*jar_folder(JARS).iterdir()]
    # What it reads S3 and PostgreSQL with: as the job, whose Hadoop is the same.
    clients = [path for name in ("spark", "postgresql") for path in jar_folder(name).iterdir()]
    for path in [*own, *(one for one in clients if one.name.startswith(_CLIENTS))]:
        if path.name.startswith("hudi-utilities"):
            classes = path
        elif path.name.startswith("jarjar"):
            jarjar = path
        else:
            (jars / path.name).symlink_to(path)
    rules = home / "rules"
    rules.write_text("".join(f"rule {name}.** org.apache.hudi.{name}.@1\n" for name in _RENAMED))
    subprocess.run([java_binary(), "-jar", jarjar, "process", rules, classes, jars / classes.name], check=True)
    return home


def command(
    arguments: Sequence[str],
    home: Path,
    folder: Path,
    *,
    own: bool,
    s3_endpoint: str | None = None,
    java_options: Sequence[str] = (),
) -> tuple[list[str], dict[str, str]]:
    """Return command line and environment; `own`: without the settings and options of JVM and Spark that the job has.

    Even then it has the job's cores, memory and short log, and no web page.
    """
    submitted, environment = spark_submit(
        [], work_folder=folder, log_file=folder / "spark.log", s3_endpoint=s3_endpoint, java_options=java_options
    )
    _, *file, _ = submitted
    jars = {"spark.driver.extraClassPath": f"{home}/jars/*"}
    log = f"-Dlog4j2.configurationFile={folder / 'conf' / 'log4j2.properties'}"
    alone = _ALONE | {"spark.local.dir": str(folder / "scratch"), "spark.driver.extraJavaOptions": log}
    chosen = (alone if own else jars | DEFAULTS | FIXED) | (s3a_settings(s3_endpoint) if s3_endpoint else {})
    given = [part for setting in chosen.items() for part in ("--conf", "=".join(setting))]
    name = "org.apache.hudi.utilities.streamer.HoodieStreamer"
    submit = [str(home / "bin" / "spark-submit"), *(() if own else file), *given]
    kept = {key: value for key, value in environment.items() if not (own and key == "SPARK_LAUNCHER_OPTS")}
    return [*submit, "--class", name, "spark-internal", *arguments], kept | {"SPARK_HOME": str(home)}


def arguments(
    of_job: Sequence[str], options: Mapping[str, str], columns: Sequence[str], target_schema: Path, *, own: bool
) -> list[str]:
    """Return HoodieStreamer's arguments for the table that the job makes with `of_job`.

    `options`: the job's for its table; `own`: without those that Hudi has a default for. `columns`: SQL of each of the
    table's columns. `target_schema`: the file with its schema.
    """
    file = of_job.index("--props")
    kept = [*of_job[:file], *of_job[file + 2 :]]
    given = {key: value for key, value in options.items() if not own or key in _OF_THE_TABLE} | {
        keys.TRANSFORMER_SQL: f"SELECT {', '.join(columns)} FROM <SRC>",  # noqa: S608
        keys.TARGET_SCHEMA_FILE: str(target_schema),
    }
    return [*kept, *(() if own else _NEWEST), *_WITH_QUERY, *_configured(given)]


def polling(of_job: Sequence[str], options: Mapping[str, str], column: str, poll_seconds: float) -> list[str]:
    """Return the arguments for its own JdbcSource, which polls by a `column`, and the table of the job `of_job`."""
    given = command_line.parse(of_job)
    every = dict(properties.parse_overrides(given.hoodie_conf))
    login = {key: every[key] for key in (keys.JDBC_URL, keys.JDBC_USER, keys.JDBC_PASSWORD_FILE, keys.JDBC_TABLE)}
    source = {
        f"{keys.JDBC_PREFIX}driver.class": DRIVER,
        keys.JDBC_INCREMENTAL: "true",
        keys.JDBC_COLUMN: column,
        # Without it PostgreSQL's driver holds all rows at once.
        f"{keys.JDBC_EXTRA}fetchsize": "10000",
    }
    return [
        *("--table-type", given.table_type, "--op", "UPSERT", "--continuous"),
        *("--source-class", "org.apache.hudi.utilities.sources.JdbcSource", "--source-ordering-field", column),
        *("--target-base-path", given.target_base_path, "--target-table", given.target_table),
        *("--min-sync-interval-seconds", str(round(poll_seconds)), *_NEWEST),
        *_configured({**options, **login, **source}),
    ]


def _configured(options: Mapping[str, str]) -> list[str]:
    return [part for pair in options.items() for part in ("--hoodie-conf", "=".join(pair))]


def target_schema(source: str) -> str:
    """Return the Avro schema of the table whose events have the schema `source`."""
    record: dict[str, Any] = json.loads(source)
    for field, column in zip(record["fields"], schema.parse(source, "its schema"), strict=True):
        if column.encoding in _LOGICAL_TYPES:
            field["type"] = ["null", _LOGICAL_TYPES[column.encoding]]
    record["fields"].append({"name": IS_DELETED, "type": ["null", "boolean"], "default": None})
    return json.dumps(record)
