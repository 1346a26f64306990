"""What the command line's options take: each function raises ArgumentTypeError for what it can't take."""

import argparse
from collections.abc import Callable, Sequence

FILE_SOURCES = ("JsonDFSSource", "org.apache.hudi.utilities.sources.JsonDFSSource")
JDBC_SOURCES = ("JdbcSource", "org.apache.hudi.utilities.sources.JdbcSource")
KAFKA_SOURCES = ("JsonKafkaSource", "org.apache.hudi.utilities.sources.JsonKafkaSource")
SCHEMA_PROVIDERS = ("FilebasedSchemaProvider", "org.apache.hudi.utilities.schema.FilebasedSchemaProvider")
PAYLOADS = ("DefaultHoodieRecordPayload", "org.apache.hudi.common.model.DefaultHoodieRecordPayload")
TRANSFORMERS = ("SqlQueryBasedTransformer", "org.apache.hudi.utilities.transform.SqlQueryBasedTransformer")
SYNC_TOOLS = ("AwsGlueCatalogSyncTool", "org.apache.hudi.aws.sync.AwsGlueCatalogSyncTool")
TABLE_TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
OPERATIONS = ("UPSERT", "INSERT", "BULK_INSERT")
NOT_JAVA = "Java classes of hudi-utilities can't be plugged into this job"
# What HoodieStreamer would take as a value and this job doesn't: the last word of the class → reason and way out.
_OTHER_CLASSES = {
    "AvroKafkaSource": "values are read as JSON text, and no schema registry is asked: let Connect write JSON "
    "(value.converter=org.apache.kafka.connect.json.JsonConverter, schemas.enable=false) and use JsonKafkaSource, or "
    "land the topic as JSON files and use JsonDFSSource",
    "AvroDFSSource": "files are read as JSON lines: let the sink write JSON and use JsonDFSSource",
    "SchemaRegistryProvider": "no schema registry is asked: save the subject's schema as an .avsc file and use "
    "FilebasedSchemaProvider",
    "ChainedTransformer": f"{NOT_JAVA}; name SqlQueryBasedTransformer, which takes a query with WITH clauses, and "
    "several of it by comma",
    "SqlFileBasedTransformer": "the query is read from hoodie.streamer.transformer.sql: put it there, and name "
    "SqlQueryBasedTransformer",
}


def transformers(text: str) -> int:
    """Return how often the query is applied: once per class in a comma-separated list of transformers.

    Raises ArgumentTypeError for any other class.
    """
    names = [name.strip() for name in text.split(",")]
    for name in names:
        _known_class(name, TRANSFORMERS)
    return len(names)


def one_of(known: Sequence[str]) -> Callable[[str], str]:
    """Return what takes one of the classes `known`, and refuses others with their reason."""
    return lambda name: _known_class(name, known)


def _known_class(name: str, known: Sequence[str]) -> str:
    if name in known:
        return name
    reason = _OTHER_CLASSES.get(name.rpartition(".")[2])
    if reason:
        raise argparse.ArgumentTypeError(f"{name} isn't supported: {reason}")
    raise argparse.ArgumentTypeError(f"invalid choice: {name!r} (choose from {', '.join(known)})")


def is_table_name(text: str) -> bool:
    """Tell whether a text is `database.table` or `table`."""
    parts = text.split(".")
    return len(parts) <= 2 and all(part.strip() for part in parts) and "/" not in text


def table_name(text: str) -> str:
    """Return the name of a table."""
    if not is_table_name(text):
        raise argparse.ArgumentTypeError(f"{text!r} isn't database.table or table")
    return text


def one_field(text: str) -> str:
    """Return the name of a field."""
    if "," in text or not text.strip():
        raise argparse.ArgumentTypeError("name exactly one field")
    return text.strip()
