"""Change events on their way: the fields that Debezium adds to a row's columns, and their meaning.

The source connector's configuration sets these names (plugins/source/source_connector.py), the Avro schemas carry them,
the job decodes by them.
Source: Debezium 3.7, "New Record State Extraction" and the PostgreSQL connector's page.
"""


def added(field: str) -> str:
    return PREFIX + field.replace(".", "_")


# Prefix of each added field's name (`add.fields.prefix`).
PREFIX = "__"
# The added fields (`add.fields`), by Debezium's names; `source.ts_ms` becomes `__source_ts_ms`.
METADATA_FIELDS = ("op", "db", "table", "schema", "lsn", "source.ts_ms")
OPERATION, DATABASE, TABLE, SCHEMA, LSN, SOURCE_TIME_MS = map(added, METADATA_FIELDS)
# The transaction's number, its lower 32 bits: added behind the others where a first load is read from the database.
TRANSACTION_FIELD = "source.txId"
TRANSACTION = added(TRANSACTION_FIELD)
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

_TEXTS = dict.fromkeys((DELETED, OPERATION, DATABASE, TABLE, SCHEMA), "string")
# Avro's types of the added fields.
ADDED_TYPES = _TEXTS | {LSN: "long", SOURCE_TIME_MS: "long"}
# Decides which of two events of one key is newer.
ORDERING = LSN
# The same for queried rows (docs/decisions/0090), which have no log position: when the job read them,
# milliseconds since 1970-01-01T00:00Z, higher in each commit of a table.
READ_MS = "__read_ms"
# The added fields in events of queried rows, and their Avro types.
QUERIED_TYPES = _TEXTS | {READ_MS: "long"}

# A column that the job adds to tables without a key: every event is a row there, identified by this.
EVENT_ID = "__event_id"


# PostgreSQL's values that a lake column of their type can't hold: how they travel and where they are kept.
#
# Source: what Debezium 3.7.0 sends, measured on PostgreSQL 16 (docs/decisions/0070).

# The lake's column for values that no decimal can be: a JSON object, lake column → PostgreSQL's word. Null in nearly
# all rows; the decimal's own column is null then.
SPECIALS_COLUMN = "__specials"
# A numeric in events that isn't a number (decimal.handling.mode=string) → PostgreSQL's word.
NOT_NUMBERS = {"NAN": "NaN", "POSITIVE_INFINITY": "Infinity", "NEGATIVE_INFINITY": "-Infinity"}

# Infinite dates and timestamps are kept as numbers. A DATE comes as days since 1970, infinite ones as the two below,
# which lie outside PostgreSQL's dates. A TIMESTAMPTZ comes as text, including `infinity`; the job stores that as the
# microseconds which Debezium sends for an infinite TIMESTAMP.
#
# Days since 1970-01-01 → PostgreSQL's word.
INFINITE_DAYS = {2_146_033_979: "infinity", -2_147_472_691: "-infinity"}
# Microseconds since 1970-01-01T00:00Z → PostgreSQL's word.
INFINITE_MICROS = {9_223_372_036_825_200_000: "infinity", -9_223_372_036_832_400_000: "-infinity"}
# Other forms of an infinite DATE: a snapshot reads it in another way than the log. PostgreSQL has none of these
# dates. Days since 1970-01-01 → the days above.
SNAPSHOT_INFINITE_DAYS = {-622_191_234: 2_146_033_979, -625_821_272: -2_147_472_691}
# An infinite TIMESTAMP in events: microseconds → the microseconds above. With at most three fractional digits of
# its seconds it comes as the number above, of milliseconds.
WIRE_INFINITE_MICROS = {2**63 - 1: 9_223_372_036_825_200_000, -(2**63): -9_223_372_036_832_400_000}
# A negatively infinite TIMESTAMPTZ within an array: Java's date without its era. PostgreSQL's years end at 294276.
WIRE_INFINITE_TEXTS = {"+292269055-12-02T23:00:00.000000Z": "-infinity"}


# Names in the Avro schema of a table's events beyond Avro's: capture writes them, the job decodes by them.
#
# Where Debezium names a meaning, `connect.name` is that name (io.debezium.time.Date); these are the others.

# On a field: the column's name in events, if it isn't the field's own.
SOURCE_NAME = "source.name"
# Text that Debezium sends as bytes, in Base64, because it doesn't know the type (include.unknown.datatypes).
TEXT_AS_BYTES = "cdc.lake.TextAsBytes"
# The column SPECIALS_COLUMN, which no event has.
SPECIALS = "cdc.lake.Specials"
# Debezium's parameter of io.debezium.data.Bits: the number of bits.
BITS_LENGTH = "length"
# Debezium's name of a numeric without a scale; here it is text.
EXACT_NUMBER = "io.debezium.data.VariableScaleDecimal"
# A path: Debezium's Geometry with its `extensions`, which tell whether it is closed.
PATH = "cdc.lake.Path"
# An hstore: a JSON object of texts, as text.
HSTORE = "cdc.lake.Hstore"
# Debezium's name of a timetz: a text in UTC.
ZONED_TIME = "io.debezium.time.ZonedTime"
# Meanings that merge values which PostgreSQL tells apart, such as these two.
_MERGED = {ZONED_TIME: "'12:00+00' and '14:00+02'"}


def no_key(avro_type: object) -> str | None:
    """Return why a key's column can't have an Avro type, or its union with null; None if it can."""
    for branch in avro_type if isinstance(avro_type, list) else [avro_type]:
        if isinstance(branch, dict) and (values := _MERGED.get(branch.get("connect.name", ""))):
            return f"{values} are two keys in PostgreSQL and one in the lake"
    return None
