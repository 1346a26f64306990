"""Change events as they travel: what Debezium adds to a row's columns, and what those values mean.

The source connector is told these names (plugins/source/source_connector.py), the Avro schemas carry them, the job
decodes by them.
Source: Debezium 3.7, "New Record State Extraction" and the PostgreSQL connector's page.
"""


def added(field: str) -> str:
    """Return what a field that is added is called in events."""
    return PREFIX + field.replace(".", "_")


# Goes before each added field's name (`add.fields.prefix`).
PREFIX = "__"
# What is added (`add.fields`), by Debezium's names; `source.ts_ms` becomes `__source_ts_ms`.
METADATA_FIELDS = ("op", "db", "table", "schema", "lsn", "source.ts_ms")
OPERATION, DATABASE, TABLE, SCHEMA, LSN, SOURCE_TIME_MS = map(added, METADATA_FIELDS)
# Text, `true` or `false`. Debezium gives this name, whatever the prefix is (`delete.tombstone.handling.mode`: rewrite).
DELETED = "__deleted"
IS_DELETED = "true"

# Values of OPERATION: snapshot, insert, update, delete.
READ, CREATE, UPDATE, DELETE = "r", "c", "u", "d"
OPERATIONS = (READ, CREATE, UPDATE, DELETE)
# Events that are no row's: their table was emptied; and, ours, nothing is left in the lake of what it was emptied of
# before this position (docs/decisions/0021).
TRUNCATE, SETTLED = "t", "s"

# Stands for a large value that an update left as it was and the log doesn't have (TOAST).
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
# Says which of two events of one key is the newer one.
ORDERING = LSN
# The same for rows that are queried (docs/decisions/0090), which have no place in the log: when the job read them,
# milliseconds since 1970-01-01T00:00Z, higher in each commit of a table.
READ_MS = "__read_ms"
# What the events of queried rows have of the added fields, and their Avro types.
QUERIED_TYPES = {
    DELETED: "string",
    OPERATION: "string",
    DATABASE: "string",
    TABLE: "string",
    SCHEMA: "string",
    READ_MS: "long",
}

# A column that the job adds to tables without a key: every event is a row there, and this identifies it.
EVENT_ID = "__event_id"
