"""Names of properties, and of options of Hudi's own programs that this job refuses (refused.tsv)."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

RECORD_KEY = "hoodie.datasource.write.recordkey.field"
PARTITION_PATH = "hoodie.datasource.write.partitionpath.field"
KEY_GENERATOR = "hoodie.datasource.write.keygenerator.class"
KEY_GENERATOR_TYPE = "hoodie.datasource.write.keygenerator.type"
HIVE_STYLE = "hoodie.datasource.write.hive_style_partitioning"
INDEX_TYPE = "hoodie.index.type"
BUCKET = "BUCKET"
BLOOM_FILTERS = "hoodie.parquet.bloom.filter.enabled"
URL_ENCODE = "hoodie.datasource.write.partitionpath.urlencode"
# With these indexes a row is found in any partition.
GLOBAL_INDEXES = ("GLOBAL_SIMPLE", "GLOBAL_BLOOM", "RECORD_INDEX", "HBASE")
SYNC_PREFIXES = ("hoodie.datasource.hive_sync.", "hoodie.datasource.meta.sync.", "hoodie.meta.sync.")
SYNC_DATABASE = "hoodie.datasource.hive_sync.database"
SYNC_TABLE = "hoodie.datasource.hive_sync.table"
SYNC_PARTITIONS = "hoodie.datasource.hive_sync.partition_fields"
SYNC_ENABLE = ("hoodie.datasource.hive_sync.enable", "hoodie.datasource.meta.sync.enable")

# In a commit's metadata: how far the job has read, under HoodieStreamer's own key (docs/decisions/0020).
PROGRESS_PREFIX = "deltastreamer.checkpoint"
PROGRESS = f"{PROGRESS_PREFIX}.key"
# Next to it: columns that came with events or after the first commit (contract/added_columns.py).
ADDED_COLUMNS = f"{PROGRESS_PREFIX}.columns"
# How the table's index spreads keys over files (hudi_table.py).
INDEX_LAYOUT = f"{PROGRESS_PREFIX}.index"
# The last request to forget the progress.
IGNORED = f"{PROGRESS_PREFIX}.ignore_key"
# What a first load read from the database contains (spark_jobs/sources/postgres/snapshot.py).
SNAPSHOT = f"{PROGRESS_PREFIX}.snapshot"
# The position of a TRUNCATE whose rows remain, as long as they do (docs/decisions/0021).
IGNORED_TRUNCATE = f"{PROGRESS_PREFIX}.truncate.ignored"
FILES_ROOT = "hoodie.streamer.source.dfs.root"
FILES_SWEEP = "hoodie.streamer.source.dfs.sweep.interval.seconds"
KAFKA_TOPIC = "hoodie.streamer.source.kafka.topic"
KAFKA_NATIVE_RESET = "auto.offset.reset"
KAFKA_RESET = "hoodie.streamer.source.kafka.auto.reset.offsets"
LINE_BYTES = "hoodie.streamer.source.line.max.bytes"
JDBC_PREFIX = "hoodie.streamer.jdbc."
JDBC_URL = f"{JDBC_PREFIX}url"
JDBC_USER = f"{JDBC_PREFIX}user"
JDBC_PASSWORD = f"{JDBC_PREFIX}password"
JDBC_PASSWORD_FILE = f"{JDBC_PREFIX}password.file"
JDBC_PASSWORD_SECRET = f"{JDBC_PREFIX}password.secret"
JDBC_PASSWORD_VARIABLE = f"{JDBC_PREFIX}password.variable"
JDBC_TABLE = f"{JDBC_PREFIX}table.name"
JDBC_QUERY = f"{JDBC_PREFIX}query"
JDBC_COLUMN = f"{JDBC_PREFIX}table.incr.column.name"
JDBC_INCREMENTAL = f"{JDBC_PREFIX}incr.pull"
JDBC_FALLBACK = f"{JDBC_PREFIX}incr.fallback.to.full.fetch"
JDBC_EXTRA = f"{JDBC_PREFIX}extra.options."
JDBC_CA_FILE = f"{JDBC_PREFIX}ca.file"
JDBC_DETECTION = f"{JDBC_PREFIX}detection"
JDBC_LEFT_OUT = f"{JDBC_PREFIX}columns.left.out"
JDBC_SWEEP = f"{JDBC_PREFIX}sweep.interval.seconds"
JDBC_LOOKED_FILE = f"{JDBC_PREFIX}looked.file"
JDBC_MARGIN = f"{JDBC_PREFIX}column.margin.seconds"
JDBC_DELETES_PERCENT = f"{JDBC_PREFIX}deletes.max.percent"
FIRST_LOAD_SLOT = "hoodie.streamer.first.load.slot"
FIRST_LOAD_PUBLICATION = "hoodie.streamer.first.load.publication"
FIRST_LOAD_AFTER = "hoodie.streamer.first.load.after.snapshot"
FIRST_LOAD_HASHED = "hoodie.streamer.first.load.columns.hashed"
FIRST_LOAD_SALT_FILE = "hoodie.streamer.first.load.salt.file"
FIRST_LOAD_SALT_SECRET = "hoodie.streamer.first.load.salt.secret"  # noqa: S105  (a property's name)
READ_AGAIN = "hoodie.streamer.read.again"
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

# Not allowed in a table's own file.
OF_THE_APPLICATION = frozenset((TABLES, PARALLEL_COMMITS, STOP_FILE, METRICS_NAMESPACE))
# In each of these groups one key stands for an option.
TABLE_TYPES = ("hoodie.datasource.write.table.type", "hoodie.table.type")
ORDERINGS = (
    *("hoodie.datasource.write.precombine.field", "hoodie.payload.ordering.field", "hoodie.table.precombine.field"),
    "hoodie.payload.event.time.field",
)
# Hudi's keys that its jars never name in full, or only newer jars do.
OURS = (
    *(RECORD_KEY, PARTITION_PATH, KEY_GENERATOR, KEY_GENERATOR_TYPE, HIVE_STYLE, INDEX_TYPE, URL_ENCODE, *SYNC_ENABLE),
    *("hoodie.write.table.version", "hoodie.write.auto.upgrade", "hoodie.write.record.merge.mode"),
)


@cache
def refused(kind: str) -> Mapping[str, str]:
    """Return the reasons in refused.tsv for one kind, by name."""
    lines = (files(__package__) / "refused.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line.startswith(f"{kind}\t")]
    return {name: reason for _, names, reason in rows for name in names.split()}
