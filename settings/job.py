"""From a pipeline's table to the streaming job that keeps it, locally and on AWS: options, layout and locations.

What a table's own entry in its pipeline decides, `TableJob.configuration` carries: no layout has a properties file.
`submit.job_arguments` or the job of many tables takes the result.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from contract import history
from contract.events import READ_MS
from contract.history import COMMIT, VERSION
from contract.table_names import lake_name, table_text
from settings.pipeline import CapturedTableSettings, DerivedTableSettings, Pipeline
from spark_jobs.options import keys
from spark_jobs.options.submit import TableJob

# Seconds between two polls for a commit of a history's table.
HISTORY_S = 10
_GENERATORS = "org.apache.hudi.keygen."
_BUCKETS = {
    keys.INDEX_TYPE: "BUCKET",
    "hoodie.storage.layout.type": "BUCKET",
    "hoodie.storage.layout.partitioner.class": "org.apache.hudi.table.action.commit.SparkBucketIndexPartitioner",
}


@dataclass(frozen=True, kw_only=True)
class JobPlaces:
    """Where a pipeline's jobs read and write. Paths are local or have a scheme, without trailing slashes.

    `landing`: where the sink's objects are, above the topics' folders; `lake`: above the tables' folders; `schemas`:
    the folder of pipelines, or its copy; `shared_properties`: the file of properties common to all tables. `database`
    is Glue's. `source`: the properties with which the job reaches the source's database, for queried tables and for the
    types of other tables' new columns.
    """

    landing: str
    lake: str
    schemas: str
    shared_properties: str
    database: str
    source: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class JobPace:
    """The minimum interval between a job's commits, and further properties, the same for each table.

    `derived_seconds`: the maximum interval between checks of derived tables, regardless of their entries.
    """

    sync_interval_seconds: int = 5
    derived_seconds: int | None = None
    configuration: Mapping[str, str] = field(default_factory=dict)


def layout(table: CapturedTableSettings) -> dict[str, str]:
    return {
        **({keys.APPEND_ONLY: "true"} if table.append_only else {keys.RECORD_KEY: _lake_names(table.key)}),
        keys.PARTITION_PATH: _lake_names(table.partition_by),
        **(_folders(table) if table.partition_by else _buckets(table.buckets)),
        **_retention(table.retention_hours),
        **({keys.NEW_COLUMNS_LIMIT: "0"} if table.evolution == "fixed" else {}),
        **({keys.TRUNCATE: table.truncate} if table.handles_truncate else {}),
    }


def _lake_names(columns: Iterable[str]) -> str:
    """Return the lake's names: the file has PostgreSQL's, but the job's table, like its Avro schema, has the lake's."""
    return ",".join(map(lake_name, columns))


def _buckets(number: int) -> dict[str, str]:
    return {
        keys.KEY_GENERATOR: f"{_GENERATORS}NonpartitionedKeyGenerator",
        **_BUCKETS,
        "hoodie.bucket.index.num.buckets": str(number),
    }


def _folders(table: CapturedTableSettings) -> dict[str, str]:
    return {
        keys.KEY_GENERATOR: f"{_GENERATORS}ComplexKeyGenerator",
        keys.HIVE_STYLE: "true",
        keys.SYNC_PARTITIONS: _lake_names(table.partition_by),
        "hoodie.datasource.hive_sync.partition_extractor_class": "org.apache.hudi.hive.MultiPartKeysValueExtractor",
        # A row that moves to another folder must leave its old one.
        keys.INDEX_TYPE: "GLOBAL_SIMPLE",
        "hoodie.simple.index.update.partition.path": "true",
    }


def _retention(hours: int | None) -> dict[str, str]:
    """Keep the files of younger versions; Hudi's archive keeps the commits that its cleaner needs."""
    if hours is None:
        return {}
    return {"hoodie.cleaner.policy": "KEEP_LATEST_BY_HOURS", "hoodie.cleaner.hours.retained": str(hours)}


def queried(table: CapturedTableSettings) -> dict[str, str]:
    name = table_text(table.schema_name, table.table_name)
    rows = {keys.JDBC_TABLE: name} if table.query is None else {keys.JDBC_QUERY: table.query}
    return {
        **rows,
        keys.JDBC_DETECTION: table.detect,
        **({keys.JDBC_COLUMN: table.column} if table.column else {}),
        **({keys.JDBC_LEFT_OUT: ",".join(table.leave_out)} if table.leave_out else {}),
        keys.JDBC_DELETES_PERCENT: f"{table.deletes_max_percent:g}",
        keys.JDBC_SWEEP: f"{table.sweep_seconds:g}",
    }


def server(
    *,
    host: str,
    port: int | str,
    database: str,
    user: str | None = None,
    password: Mapping[str, str],
    sslmode: str | None = None,
    authority: str | None = None,
) -> dict[str, str]:
    """Return the properties with which JdbcSource reaches a database.

    `password`: the property that locates the password, such as a secret's, which may also contain the user.
    `authority`: the file with the CA certificate; the job then verifies the server in full.
    """
    return {
        keys.JDBC_URL: f"jdbc:postgresql://{host}:{port}/{database}",
        **({keys.JDBC_USER: user} if user else {}),
        **password,
        **({f"{keys.JDBC_EXTRA}sslmode": sslmode} if sslmode else {}),
        **({keys.JDBC_CA_FILE: authority} if authority else {}),
    }


def table_job(pipeline: Pipeline, table: CapturedTableSettings, places: JobPlaces, pace: JobPace) -> TableJob:
    source = {**queried(table), **places.source} if table.is_queried else _of_log(pipeline, table, places.source)
    # An outbox's objects are all of the landing: folders by its fields (PARTITIONBY) don't name the topic.
    topic = "" if table.how == "outbox" else f"/{table.captured.topic(pipeline.source.topic_prefix)}"
    return TableJob(
        landing=None if table.is_queried else f"{places.landing}{topic}",
        table_path=f"{places.lake}/{pipeline.lake_table(table)}",
        database=places.database,
        table=pipeline.lake_table(table),
        schema_file=f"{places.schemas}/{pipeline.schema_file(table)}",
        properties_file=places.shared_properties,
        table_type=table.table_type,
        ordering_field=lake_name(table.ordering),
        sync_interval_seconds=pace.sync_interval_seconds,
        configuration={**layout(table), **source, **pace.configuration},
    )


def _of_log(pipeline: Pipeline, table: CapturedTableSettings, source: Mapping[str, str]) -> dict[str, str]:
    """Return a table's own properties: only a log has changes between commits, and it lacks new columns' types."""
    found = {keys.HISTORY_KEPT: "true"} if table.history else {}
    if table.how == "log" and table.evolution == "add":
        found[keys.NEW_COLUMN_TYPES] = keys.TYPES_OF_SOURCE
    if table.first_load == "direct":
        found[keys.FIRST_LOAD_SLOT] = pipeline.source.slot
        found[keys.FIRST_LOAD_PUBLICATION] = pipeline.source.publication
        if any(each.first_load == "connector" for each in pipeline.tables):
            found[keys.FIRST_LOAD_AFTER] = "true"
        lists = {keys.JDBC_LEFT_OUT: table.leave_out, keys.FIRST_LOAD_HASHED: table.hash}
        found |= {key: ",".join(columns) for key, columns in lists.items() if columns}
    asks = keys.NEW_COLUMN_TYPES in found or keys.FIRST_LOAD_SLOT in found
    name = table_text(table.schema_name, table.table_name)
    return {**found, keys.JDBC_TABLE: name, **source} if asks and source else found


def derived_job(pipeline: Pipeline, table: DerivedTableSettings, places: JobPlaces, pace: JobPace) -> TableJob:
    query = table.query
    seconds = table.every_seconds if pace.derived_seconds is None else min(table.every_seconds, pace.derived_seconds)
    configuration = {
        keys.RECORD_KEY: _lake_names(table.key),
        keys.PARTITION_PATH: "",
        **_buckets(table.buckets),
        **_retention(table.retention_hours),
        keys.SQL_QUERY: query.sql,
        keys.SQL_TABLES: ",".join(f"{name}={places.lake}/{name}" for name in query.tables),
        **pace.configuration,
    }
    return _of_lake(pipeline.lake_table(table), places, READ_MS, seconds, configuration)


def history_job(pipeline: Pipeline, table: CapturedTableSettings, places: JobPlaces, pace: JobPace) -> TableJob:
    configuration = {
        keys.RECORD_KEY: ",".join((*(history.column(lake_name(name)) for name in table.key), COMMIT, VERSION)),
        keys.PARTITION_PATH: "",
        **_buckets(table.buckets),
        keys.HISTORY_OF: f"{places.lake}/{pipeline.lake_table(table)}",
        **pace.configuration,
        # Each commit has a round of its own, without waiting; the interval applies to polls that find nothing.
        keys.POLL_INTERVAL: str(min(HISTORY_S, pace.derived_seconds or HISTORY_S)),
    }
    return _of_lake(pipeline.history_table(table), places, COMMIT, 0, configuration)


def _of_lake(table: str, places: JobPlaces, ordering: str, seconds: int, configuration: dict[str, str]) -> TableJob:
    """Return the job of a table derived from others in the lake: it reads no files, and its rows carry their types."""
    return TableJob(
        landing=None,
        table_path=f"{places.lake}/{table}",
        database=places.database,
        table=table,
        schema_file=None,
        properties_file=places.shared_properties,
        ordering_field=ordering,
        sync_interval_seconds=seconds,
        configuration=configuration,
    )


def derived_jobs(pipeline: Pipeline, places: JobPlaces, pace: JobPace) -> list[TableJob]:
    histories = [history_job(pipeline, table, places, pace) for table in pipeline.with_history]
    return [derived_job(pipeline, table, places, pace) for table in pipeline.derived] + histories
