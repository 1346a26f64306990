"""Names in the Avro schema of a table's events beyond Avro's: capture writes them, the job decodes by them.

Where Debezium names a meaning, `connect.name` is that name (io.debezium.time.Date); these are the others.
"""

# On a field: the column's name in events, if it isn't the field's own.
SOURCE_NAME = "source.name"
# Text that Debezium sends as bytes, in Base64, because it doesn't know the type (include.unknown.datatypes).
TEXT_AS_BYTES = "cdc.lake.TextAsBytes"
# The column contract.special_values.SPECIALS_COLUMN, which no event has.
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
