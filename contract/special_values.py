"""PostgreSQL's values that a lake column of their type can't hold: how they travel and where they are kept.

Source: what Debezium 3.7.0 sends, measured on PostgreSQL 16 (docs/decisions/0070).
"""

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
