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

from local.services.spark import spark_submit
from local.setup.jars import jar_folder
from local.setup.java import java_binary, spark_home
from spark_jobs.decoding import schema
from spark_jobs.decoding.schema import IS_DELETED, Encoding
from spark_jobs.options import keys
from spark_jobs.runtime.session import DEFAULTS, FIXED

JARS = "hoodie-streamer"
_RENAMED = ("com.beust.jcommander", "com.codahale.metrics", "org.apache.spark.sql.avro")
_LOGICAL_TYPES = {
    Encoding.DAYS: {"type": "int", "logicalType": "date"},
    Encoding.ISO_TIMESTAMP: {"type": "long", "logicalType": "timestamp-micros"},
}
# What no default could know of the table.
_OF_THE_TABLE = (keys.RECORD_KEY, keys.PARTITION_PATH, keys.KEY_GENERATOR)
_ALONE = {"spark.master": "local[2]", "spark.driver.memory": "1g", "spark.ui.enabled": "false"}
_NEWEST = ("--payload-class", "org.apache.hudi.common.model.DefaultHoodieRecordPayload")
_WITH_QUERY = ("--transformer-class", "org.apache.hudi.utilities.transform.SqlQueryBasedTransformer")


def install(home: Path) -> None:
    """Make a home of Spark 3.4 with HoodieStreamer among its jars. Raises JarsError when they are missing."""
    jars = home / "jars"
    jars.mkdir(parents=True)
    (home / "bin").symlink_to(spark_home() / "bin")
    for path in jar_folder(JARS).iterdir():
        if path.name.startswith("hudi-utilities"):
            classes = path
        elif path.name.startswith("jarjar"):
            jarjar = path
        else:
            (jars / path.name).symlink_to(path)
    rules = home / "rules"
    rules.write_text("".join(f"rule {name}.** org.apache.hudi.{name}.@1\n" for name in _RENAMED))
    subprocess.run([java_binary(), "-jar", jarjar, "process", rules, classes, jars / classes.name], check=True)


def command(arguments: Sequence[str], *, home: Path, folder: Path, own: bool) -> tuple[list[str], dict[str, str]]:
    """Return command line and environment; `own`: without the settings of JVM and Spark that the job has.

    Even then it has the job's cores, memory and short log, and no web page.
    """
    (_, *file, _, _, _), environment = spark_submit([], work_folder=folder, log_file=folder / "spark.log")
    jars = {"spark.driver.extraClassPath": f"{home}/jars/*"}
    log = f"-Dlog4j2.configurationFile={folder / 'conf' / 'log4j2.properties'}"
    alone = _ALONE | {"spark.local.dir": str(folder / "scratch"), "spark.driver.extraJavaOptions": log}
    settings = alone if own else jars | DEFAULTS | FIXED
    given = [part for setting in settings.items() for part in ("--conf", "=".join(setting))]
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
    configured = [part for pair in given.items() for part in ("--hoodie-conf", "=".join(pair))]
    return [*kept, *(() if own else _NEWEST), *_WITH_QUERY, *configured]


def target_schema(source: str) -> str:
    """Return the Avro schema of the table whose events have the schema `source`."""
    record: dict[str, Any] = json.loads(source)
    for field, column in zip(record["fields"], schema.parse(source, "its schema"), strict=True):
        if column.encoding in _LOGICAL_TYPES:
            field["type"] = ["null", _LOGICAL_TYPES[column.encoding]]
    record["fields"].append({"name": IS_DELETED, "type": ["null", "boolean"], "default": None})
    return json.dumps(record)
