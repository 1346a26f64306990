"""The property keys this job knows, each with its meaning, its default and how it is treated."""

from dataclasses import dataclass

from contract.lake import QUARANTINE_FOLDER
from contract.sizes import HEADROOM_BYTES, LARGEST_SETTING_BYTES
from spark_jobs.number import DAY_S, Number

RECORD_KEY = "hoodie.datasource.write.recordkey.field"
PARTITION_PATH = "hoodie.datasource.write.partitionpath.field"
KEY_GENERATOR = "hoodie.datasource.write.keygenerator.class"
KEY_GENERATOR_TYPE = "hoodie.datasource.write.keygenerator.type"
HIVE_STYLE = "hoodie.datasource.write.hive_style_partitioning"
INDEX_TYPE = "hoodie.index.type"
URL_ENCODE = "hoodie.datasource.write.partitionpath.urlencode"
# By these a row is found in whichever partition it is.
GLOBAL_INDEXES = ("GLOBAL_SIMPLE", "GLOBAL_BLOOM", "RECORD_INDEX", "HBASE")
SYNC_PREFIXES = ("hoodie.datasource.hive_sync.", "hoodie.datasource.meta.sync.", "hoodie.meta.sync.")
SYNC_DATABASE = "hoodie.datasource.hive_sync.database"
SYNC_TABLE = "hoodie.datasource.hive_sync.table"
SYNC_PARTITIONS = "hoodie.datasource.hive_sync.partition_fields"
SYNC_ENABLE = ("hoodie.datasource.hive_sync.enable", "hoodie.datasource.meta.sync.enable")

# In a commit's metadata: how far the job has read, under HoodieStreamer's own key (docs/decisions/0020).
PROGRESS_PREFIX = "deltastreamer.checkpoint"
PROGRESS = f"{PROGRESS_PREFIX}.key"
# Beside it: the columns that came with events or after the first commit (contract/added_columns.py).
ADDED_COLUMNS = f"{PROGRESS_PREFIX}.columns"
# How the table's index spreads keys over files (index_layout.py).
INDEX_LAYOUT = f"{PROGRESS_PREFIX}.index"
# The position of a TRUNCATE whose rows have stayed, while they have (docs/decisions/0021).
IGNORED_TRUNCATE = f"{PROGRESS_PREFIX}.truncate.ignored"
FILES_ROOT = "hoodie.streamer.source.dfs.root"
FILES_REMEMBERED = "hoodie.streamer.source.dfs.remembered.files"
FILES_SWEEP = "hoodie.streamer.source.dfs.sweep.interval.seconds"
KAFKA_TOPIC = "hoodie.streamer.source.kafka.topic"
KAFKA_NATIVE_RESET = "auto.offset.reset"
KAFKA_RESET = "hoodie.streamer.source.kafka.auto.reset.offsets"
KAFKA_MAX_EVENTS = "hoodie.streamer.kafka.source.maxEvents"
KAFKA_FAIL_ON_LOSS = "hoodie.streamer.source.kafka.enable.failOnDataLoss"
LINE_BYTES = "hoodie.streamer.source.line.max.bytes"
JDBC_PREFIX = "hoodie.streamer.jdbc."
JDBC_URL = f"{JDBC_PREFIX}url"
JDBC_USER = f"{JDBC_PREFIX}user"
JDBC_PASSWORD = f"{JDBC_PREFIX}password"
JDBC_PASSWORD_FILE = f"{JDBC_PREFIX}password.file"
JDBC_PASSWORD_SECRET = f"{JDBC_PREFIX}password.secret"
JDBC_PASSWORD_VARIABLE = f"{JDBC_PREFIX}password.variable"
JDBC_DRIVER = f"{JDBC_PREFIX}driver.class"
JDBC_TABLE = f"{JDBC_PREFIX}table.name"
JDBC_QUERY = f"{JDBC_PREFIX}query"
JDBC_COLUMN = f"{JDBC_PREFIX}table.incr.column.name"
JDBC_INCREMENTAL = f"{JDBC_PREFIX}incr.pull"
JDBC_FALLBACK = f"{JDBC_PREFIX}incr.fallback.to.full.fetch"
JDBC_STORAGE_LEVEL = f"{JDBC_PREFIX}storage.level"
JDBC_EXTRA = f"{JDBC_PREFIX}extra.options."
JDBC_CA_FILE = f"{JDBC_PREFIX}ca.file"
JDBC_DETECTION = f"{JDBC_PREFIX}detection"
JDBC_LEFT_OUT = f"{JDBC_PREFIX}columns.left.out"
JDBC_SWEEP = f"{JDBC_PREFIX}sweep.interval.seconds"
JDBC_LOOKED_FILE = f"{JDBC_PREFIX}looked.file"
JDBC_MARGIN = f"{JDBC_PREFIX}column.margin.seconds"
JDBC_DELETES_PERCENT = f"{JDBC_PREFIX}deletes.max.percent"
JDBC_MAX_ROWS = f"{JDBC_PREFIX}max.rows"
JDBC_FETCH_SIZE = f"{JDBC_PREFIX}fetch.size"
JDBC_READERS = f"{JDBC_PREFIX}readers"
JDBC_CONNECTIONS = f"{JDBC_PREFIX}connections"
JDBC_TIMEOUT = f"{JDBC_PREFIX}statement.timeout.seconds"
SQL_QUERY = "hoodie.streamer.source.sql.sql.query"
HISTORY_OF = "hoodie.streamer.history.of"
HISTORY_KEPT = "hoodie.streamer.history.kept"
SQL_TABLES = "hoodie.streamer.source.sql.tables"
SCHEMA_FILE = "hoodie.streamer.schemaprovider.source.schema.file"
TARGET_SCHEMA_FILE = "hoodie.streamer.schemaprovider.target.schema.file"
QUARANTINE_PATH = "hoodie.streamer.quarantine.path"
QUARANTINE_LIMIT = "hoodie.streamer.quarantine.max.records"
DELETES_LIMIT = "hoodie.streamer.deletes.max.keys"
NEW_COLUMNS_LIMIT = "hoodie.streamer.schema.max.new.columns"
NEW_COLUMN_TYPES = "hoodie.streamer.schema.new.column.types"
TYPES_GUESSED, TYPES_OF_SOURCE = "guess", "source"
POLL_INTERVAL = "hoodie.streamer.poll.interval.seconds"
SYNC_TIMEOUT = "hoodie.streamer.catalogue.sync.timeout.seconds"
STOP_FILE = "hoodie.streamer.stop.file"
METRICS_NAMESPACE = "hoodie.streamer.metrics.namespace"
TRANSFORMER_CLASS = "hoodie.streamer.transformer.class"
TRANSFORMER_SQL = "hoodie.streamer.transformer.sql"
APPEND_ONLY = "hoodie.streamer.append.only"
TRUNCATE = "hoodie.streamer.truncate"
TRUNCATE_APPLY, TRUNCATE_IGNORE = "apply", "ignore"

# HoodieMultiTableStreamer's, for all tables or, the last two, in a table's own file.
TABLES = "hoodie.streamer.ingestion.tablesToBeIngested"
PARALLEL_COMMITS = "hoodie.streamer.ingestion.max.parallel.commits"
TARGET_BASE_PATH = "hoodie.streamer.ingestion.targetBasePath"
MIN_SYNC_INTERVAL = "hoodie.streamer.ingestion.min.sync.interval.seconds"
INGESTION_PREFIX = "hoodie.streamer.ingestion."
CONFIG_FILE_SUFFIX = ".configFile"

# The properties that are numbers: default, lowest and highest value.
NUMBERS = {
    FILES_REMEMBERED: Number(5000, 1, 100_000),
    FILES_SWEEP: Number(300, 0, DAY_S, whole=False),
    KAFKA_MAX_EVENTS: Number(5_000_000, 1, 1_000_000_000),
    # By default what the source may let through (contract/sizes.py), and some more.
    LINE_BYTES: Number(LARGEST_SETTING_BYTES + HEADROOM_BYTES, 1000, 1_000_000_000),
    JDBC_SWEEP: Number(5, 0, DAY_S, whole=False),
    JDBC_MARGIN: Number(1, 0, DAY_S, whole=False),
    JDBC_DELETES_PERCENT: Number(10, 0, 100, whole=False),
    JDBC_MAX_ROWS: Number(1_000_000, 1, 1_000_000_000),
    JDBC_FETCH_SIZE: Number(10_000, 1, 1_000_000),
    JDBC_READERS: Number(4, 1, 100),
    JDBC_CONNECTIONS: Number(2, 1, 100),
    JDBC_TIMEOUT: Number(600, 1, DAY_S, whole=False),
    QUARANTINE_LIMIT: Number(1000, 0, 1_000_000),
    DELETES_LIMIT: Number(20_000, 0, 1_000_000),
    NEW_COLUMNS_LIMIT: Number(50, 0, 10_000),
    POLL_INTERVAL: Number(1, 0.1, DAY_S, whole=False),
    SYNC_TIMEOUT: Number(60, 0, 3600, whole=False),
    PARALLEL_COMMITS: Number(4, 1, 1000),
    MIN_SYNC_INTERVAL: Number(None, 0, DAY_S),
}


@dataclass(frozen=True, kw_only=True)
class Property:
    """One `hoodie.streamer.*` property: `own` says that it is this job's, not HoodieStreamer's.

    NUMBERS has the defaults of those that are numbers.
    """

    meaning: str
    default: str | None = None
    own: bool = False


STREAMER_PROPERTIES = {
    FILES_ROOT: Property(default=None, meaning="JsonDFSSource: the folder with the JSON files"),
    FILES_REMEMBERED: Property(
        own=True,
        meaning="consumed files whose names the checkpoint remembers; older ones by their time",
    ),
    FILES_SWEEP: Property(own=True, meaning="seconds between two full listings that look for late or rewritten files"),
    KAFKA_TOPIC: Property(default=None, meaning="JsonKafkaSource: the topic"),
    KAFKA_RESET: Property(default=None, meaning=f"an older name of {KAFKA_NATIVE_RESET}, EARLIEST or LATEST"),
    KAFKA_MAX_EVENTS: Property(meaning="events that one commit may take without --source-limit"),
    KAFKA_FAIL_ON_LOSS: Property(default="false", meaning="stop when the topic has lost offsets that weren't read yet"),
    LINE_BYTES: Property(
        own=True, meaning="files and Kafka: bytes of a line or value; a longer one goes to quarantine"
    ),
    JDBC_URL: Property(default=None, meaning="JdbcSource: jdbc:postgresql://host:port/database"),
    JDBC_USER: Property(default=None, meaning="the role that reads; a secret's `username` where there is one"),
    JDBC_PASSWORD: Property(default=None, meaning="its password; refused on the command line"),
    JDBC_PASSWORD_FILE: Property(default=None, meaning="a file with nothing but the password"),
    JDBC_PASSWORD_SECRET: Property(
        default=None,
        own=True,
        meaning="ARN or name of a secret in Secrets Manager, read at each connection: JSON with `password`, or a text",
    ),
    JDBC_PASSWORD_VARIABLE: Property(default=None, own=True, meaning="the environment variable that has the password"),
    JDBC_DRIVER: Property(default="org.postgresql.Driver", meaning="nothing else"),
    JDBC_TABLE: Property(default=None, meaning="the table or view, `schema.table`; without a schema: public"),
    JDBC_QUERY: Property(default=None, own=True, meaning="a query in the table's place, its names with their schemas"),
    JDBC_COLUMN: Property(default=None, meaning="a timestamp of the row's last change, by which to look in between"),
    JDBC_INCREMENTAL: Property(default="true", meaning="accepted: only what changed is written, whatever it says"),
    JDBC_FALLBACK: Property(default="false", meaning="accepted: everything is read anew where changes can't be told"),
    JDBC_STORAGE_LEVEL: Property(
        default=None, meaning="accepted: a batch is kept in memory, and on disk where it lacks"
    ),
    JDBC_CA_FILE: Property(
        default="RDS's, else Java's own", own=True, meaning="the certificate of who signs the server's, PEM"
    ),
    JDBC_DETECTION: Property(
        default="auto",
        own=True,
        meaning="how changes are found: xmin, column, hash, or auto: xmin where rows have one, hash where they haven't",
    ),
    JDBC_LEFT_OUT: Property(default=None, own=True, meaning="columns that aren't read, by comma"),
    JDBC_SWEEP: Property(own=True, meaning="seconds between two looks at all rows, at least"),
    JDBC_LOOKED_FILE: Property(
        default=None,
        own=True,
        meaning="the driver's file that says when the last look at all rows began that the table has all of",
    ),
    JDBC_MARGIN: Property(
        own=True, meaning="seconds that a look by the column goes back before the oldest transaction"
    ),
    JDBC_DELETES_PERCENT: Property(
        own=True, meaning="share of the rows that one commit may delete; more stops the job"
    ),
    JDBC_MAX_ROWS: Property(own=True, meaning="rows that one commit may take without --source-limit"),
    JDBC_FETCH_SIZE: Property(own=True, meaning="rows that a reader has in memory at a time"),
    JDBC_READERS: Property(own=True, meaning="connections that read one large batch side by side"),
    JDBC_CONNECTIONS: Property(own=True, meaning="connections that the tables of one database share for their looks"),
    JDBC_TIMEOUT: Property(own=True, meaning="seconds that one statement may take"),
    SQL_QUERY: Property(
        default=None,
        meaning="a derived table's query, in Spark's SQL: its rows are the table's, whatever --source-class says",
    ),
    SQL_TABLES: Property(default=None, own=True, meaning="the tables that the query names, `name=base path`, by comma"),
    HISTORY_OF: Property(
        default=None, own=True, meaning="a history table: the base path of the table whose versions are appended to it"
    ),
    HISTORY_KEPT: Property(
        default="false",
        own=True,
        meaning="a history of this table is kept: the events of each commit are put beside the table for it",
    ),
    SCHEMA_FILE: Property(default=None, meaning="the Avro schema (.avsc) of the events"),
    TARGET_SCHEMA_FILE: Property(default=None, meaning="the Avro schema (.avsc) of what a transformer's query gives"),
    QUARANTINE_PATH: Property(
        default=f"{QUARANTINE_FOLDER}/<table> beside the table",
        own=True,
        meaning="folder for the events that don't fit",
    ),
    QUARANTINE_LIMIT: Property(own=True, meaning="events one batch may put into quarantine; one more stops the job"),
    DELETES_LIMIT: Property(own=True, meaning="deleted keys the table's commits remember against older events"),
    NEW_COLUMNS_LIMIT: Property(
        own=True,
        meaning="columns a table may have that came from events' fields, not from the Avro schema",
    ),
    NEW_COLUMN_TYPES: Property(
        default=TYPES_GUESSED,
        own=True,
        meaning="of those: guess, by their first values, or source: by the catalogue of the table's database",
    ),
    APPEND_ONLY: Property(
        default="false", own=True, meaning="a table without a key: every event is a row, and the job makes its key"
    ),
    TRUNCATE: Property(
        default=None,
        own=True,
        meaning="what the event of a TRUNCATE does: apply (its table's rows go) or ignore (they stay, and it is told)",
    ),
    POLL_INTERVAL: Property(own=True, meaning="seconds between two looks for data while there is none"),
    SYNC_TIMEOUT: Property(own=True, meaning="seconds the job waits for a catalogue sync when it ends"),
    STOP_FILE: Property(default=None, own=True, meaning="a file that ends the job, as SIGTERM does, once it is there"),
    TRANSFORMER_SQL: Property(
        default=None, meaning="--transformer-class SqlQueryBasedTransformer: the query, `<SRC>` being the batch"
    ),
    METRICS_NAMESPACE: Property(default=None, own=True, meaning="CloudWatch namespace to publish metrics to"),
}
MULTI_TABLE_PROPERTIES = {
    TABLES: Property(default=None, meaning="the tables, `database.table`, by comma; without a database: `default`"),
    PARALLEL_COMMITS: Property(own=True, meaning="tables that decode and commit at the same time"),
    TARGET_BASE_PATH: Property(default="<prefix>/<database>/<table>", meaning="in a table's own file: its base path"),
    MIN_SYNC_INTERVAL: Property(own=True, meaning="in a table's own file: its --min-sync-interval-seconds"),
}

# A table's own file can't have them.
OF_THE_APPLICATION = frozenset((TABLES, PARALLEL_COMMITS, STOP_FILE, METRICS_NAMESPACE))
KAFKA_ONLY = frozenset((KAFKA_TOPIC, KAFKA_RESET, KAFKA_MAX_EVENTS, KAFKA_FAIL_ON_LOSS))
FILES_ONLY = frozenset((FILES_ROOT, FILES_REMEMBERED, FILES_SWEEP))

_NO_PLUG_INS = "Java classes of hudi-utilities can't be plugged into this job"
_OWN_SOURCES = "only JSON files, Kafka and JDBC are supported"
_ONE_TABLE = "that is HoodieMultiTableStreamer's; streamer.py keeps one table, multi_table_streamer.py many"
_ONE_SCHEMA = f"the schema comes from an Avro file, {SCHEMA_FILE}"
_OWN_SELECTION = "files are selected by this job's own rules"
_OWN_OFFSETS = "offsets are in the table's commits, values are JSON text"
_QUARANTINED = "an event that doesn't fit goes to quarantine"
_OTHER_SOURCES = (
    *("hoodieincr", "incrpull", "s3incr", "gcs", "gcsincr", "cloud", "pulsar", "kinesis", "sql", "hive", "parquet"),
    *("orc", "csv"),
)
# Families of HoodieStreamer's keys (hudi-utilities 0.15, classes named *Config) of which this job has none; the longest
# one that fits says why.
UNSUPPORTED_PREFIXES = {
    **dict.fromkeys(
        (
            "hoodie.streamer.schemaprovider.registry.",
            "hoodie.streamer.schemaprovider.source.schema.hive.",
            "hoodie.streamer.schemaprovider.target.schema.hive.",
            "hoodie.streamer.schemaprovider.source.schema.jdbc.",
            "hoodie.streamer.schemaprovider.hive.",
            "hoodie.streamer.schemaprovider.jdbc.",
            "hoodie.streamer.schemaprovider.proto.",
        ),
        _ONE_SCHEMA,
    ),
    **dict.fromkeys(
        (
            "hoodie.streamer.source.json.kafka.",
            "hoodie.streamer.schemaprovider.schema_post_processor",
            "hoodie.streamer.schemaprovider.spark_avro_post_processor.",
        ),
        _NO_PLUG_INS,
    ),
    **dict.fromkeys(
        (f"hoodie.streamer.source.{kind}." for kind in _OTHER_SOURCES),
        _OWN_SOURCES,
    ),
    "hoodie.streamer.s3.source.": _OWN_SOURCES,
    "hoodie.streamer.csv.": _OWN_SOURCES,
    "hoodie.streamer.source.dfs.datepartitioned.": _OWN_SELECTION,
    "hoodie.streamer.source.input.": _OWN_SELECTION,
    "hoodie.streamer.source.kafka.value.deserializer.": _OWN_OFFSETS,
    "hoodie.streamer.source.kafka.proto.": _OWN_OFFSETS,
    "hoodie.streamer.source.sanitize.": f"{_QUARANTINED} when a field's name can't be a column",
    "hoodie.streamer.schema.": "all columns are nullable, and new fields become columns",
    "hoodie.streamer.ingestion.": _ONE_TABLE,
    "hoodie.streamer.checkpoint.": "progress is in every commit; give a start with --checkpoint",
    "hoodie.streamer.sample.": "give Hudi the rows' size with hoodie.copyonwrite.record.size.estimate",
    "hoodie.streamer.transformer.": _NO_PLUG_INS,
    "hoodie.streamer.row.": f"{_QUARANTINED}, and any other failure stops the batch",
}
# Keys of HoodieStreamer beside ones that this job has; anything else there is a slip of the pen.
UNSUPPORTED = {
    TRANSFORMER_CLASS: "say --transformer-class",
    "hoodie.streamer.transformer.sql.file": f"put the query into {TRANSFORMER_SQL}",
    "hoodie.streamer.source.sql.file": f"put the query into {SQL_QUERY}",
    "hoodie.streamer.source.sql.checkpoint.emit": "a derived table's commits carry the instants that they are of",
    "hoodie.streamer.source.kafka.checkpoint.type": _OWN_OFFSETS,
    "hoodie.streamer.source.kafka.enable.commit.offset": _OWN_OFFSETS,
    "hoodie.streamer.source.kafka.fetch_partition.time.out": _OWN_OFFSETS,
    "hoodie.streamer.source.kafka.append.offsets": "the table has the events' own columns only",
    "hoodie.streamer.source.kafka.minPartitions": "Spark reads a partition of the topic with one task",
    "hoodie.streamer.source.json.skip.invalid.records": _QUARANTINED,
    "hoodie.streamer.sync.force.refresh.from.table": "the catalogue is synced from the table's own schema",
    "hoodie.streamer.write.error.table": _QUARANTINED,
}
# Hudi's keys that its jars name nowhere as a whole, or only newer ones.
OURS = (
    *(RECORD_KEY, PARTITION_PATH, KEY_GENERATOR, KEY_GENERATOR_TYPE, HIVE_STYLE, INDEX_TYPE, URL_ENCODE, *SYNC_ENABLE),
    *("hoodie.write.table.version", "hoodie.write.auto.upgrade", "hoodie.write.record.merge.mode"),
)
# Options decide these; a property that contradicts its option is refused.
DECIDED_BY_OPTION = {
    "hoodie.datasource.write.operation": "--op",
    "hoodie.datasource.write.table.type": "--table-type",
    "hoodie.table.type": "--table-type",
    "hoodie.datasource.write.precombine.field": "--source-ordering-field",
    "hoodie.payload.ordering.field": "--source-ordering-field",
    "hoodie.table.precombine.field": "--source-ordering-field",
    "hoodie.payload.event.time.field": "--source-ordering-field",
    "hoodie.database.name": "--target-table",
    "hoodie.table.name": "--target-table",
    "hoodie.datasource.write.table.name": "--target-table",
    "hoodie.datasource.write.payload.class": "--payload-class",
    "hoodie.write.record.merge.mode": "--merge-mode",
    "hoodie.datasource.write.commitmeta.key.prefix": "the job (progress is in the commit)",
}
# Accepted so that a file written for HoodieStreamer works unchanged, and logged: Glue's sync has no use for them.
NOT_USED = {
    "hoodie.datasource.hive_sync.jdbcurl": "the Glue catalogue is reached without a Hive server",
    "hoodie.datasource.hive_sync.username": "the Glue catalogue is reached without a Hive server",
    "hoodie.datasource.hive_sync.use_jdbc": "the Glue catalogue is reached without a Hive server",
    "hoodie.datasource.hive_sync.mode": "the Glue catalogue is reached without a Hive server",
    "hoodie.datasource.hive_sync.metastore.uris": "the Glue catalogue is reached without a Hive metastore",
}
