"""Change events on their way: the fields that Debezium adds to a row's columns, and their meaning.

The source connector's configuration sets these names (plugins/source/source_connector.py), the Avro schemas carry them,
the job decodes by them.
Source: Debezium 3.7, "New Record State Extraction" and the PostgreSQL connector's page.
"""


def added(field: str) -> str:
    """Return an added field's name in events."""
    return PREFIX + field.replace(".", "_")


# Prefix of each added field's name (`add.fields.prefix`).
PREFIX = "__"
# The added fields (`add.fields`), by Debezium's names; `source.ts_ms` becomes `__source_ts_ms`.
METADATA_FIELDS = ("op", "db", "table", "schema", "lsn", "source.ts_ms")
OPERATION, DATABASE, TABLE, SCHEMA, LSN, SOURCE_TIME_MS = map(added, METADATA_FIELDS)
# Text, `true` or `false`. Debezium's fixed name, whatever the prefix (`delete.tombstone.handling.mode`: rewrite).
DELETED = "__deleted"
IS_DELETED = "true"

# Values of OPERATION: snapshot, insert, update, delete.
READ, CREATE, UPDATE, DELETE = "r", "c", "u", "d"
OPERATIONS = (READ, CREATE, UPDATE, DELETE)
# Events without a row: their table was truncated; and our own: the lake no longer has any rows that were
# truncated before this position (docs/decisions/0021).
TRUNCATE, SETTLED = "t", "s"

# Replaces a large value that an update didn't change and the log omits (TOAST).
PLACEHOLDER = "__debezium_unavailable_value"

# Avro's types of the added fields.
ADDED_TYPES = {
    DELETED: "string",
    OPERATION: "string",
    DATABASE: "string",
    TABLE: "string",
    SCHEMA: "string",
    LSN: "long",
    SOURCE_TIME_MS: "long",
}
# Decides which of two events of one key is newer.
ORDERING = LSN
# The same for queried rows (docs/decisions/0090), which have no log position: when the job read them,
# milliseconds since 1970-01-01T00:00Z, higher in each commit of a table.
READ_MS = "__read_ms"
# The added fields in events of queried rows, and their Avro types.
QUERIED_TYPES = {
    DELETED: "string",
    OPERATION: "string",
    DATABASE: "string",
    TABLE: "string",
    SCHEMA: "string",
    READ_MS: "long",
}

# A column that the job adds to tables without a key: every event is a row there, identified by this.
EVENT_ID = "__event_id"
