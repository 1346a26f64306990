"""What the Avro schema of a table's events says beyond Avro: capture writes it, the job decodes by it.

Where Debezium has a name for a meaning, that is used as `connect.name` (io.debezium.time.Date); these are the others.
"""

# On a field: the column's name in events where that isn't the field's own.
SOURCE_NAME = "source.name"
# Text that Debezium sends as bytes, in Base64, since it doesn't know the type (include.unknown.datatypes).
TEXT_AS_BYTES = "cdc.lake.TextAsBytes"
# The column contract.special_values.SPECIALS_COLUMN, which no event has.
SPECIALS = "cdc.lake.Specials"
# Debezium's parameter of io.debezium.data.Bits: how many bits there are.
BITS_LENGTH = "length"
# Debezium's name of a numeric without a scale; here it is text.
EXACT_NUMBER = "io.debezium.data.VariableScaleDecimal"
# A path: Debezium's Geometry with its `extensions`, which say whether it is closed.
PATH = "cdc.lake.Path"
# An hstore: a JSON object of texts, in text.
HSTORE = "cdc.lake.Hstore"
# Debezium's name of a timetz: a text in UTC.
ZONED_TIME = "io.debezium.time.ZonedTime"
# Meanings under which values that PostgreSQL tells apart are one, such as these two.
_MERGED = {ZONED_TIME: "'12:00+00' and '14:00+02'"}


def no_key(avro_type: object) -> str | None:
    """Say why no column of a key can be of an Avro type, or a union of it and null; None where one can."""
    for branch in avro_type if isinstance(avro_type, list) else [avro_type]:
        if isinstance(branch, dict) and (values := _MERGED.get(branch.get("connect.name", ""))):
            return f"{values} are two keys in PostgreSQL and one in the lake"
    return None
