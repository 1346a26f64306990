"""Values that PostgreSQL has and a lake column of their type hasn't: how they travel and where they are kept.

Source: what Debezium 3.7.0 sends, measured on PostgreSQL 16 (docs/decisions/0070).
"""

# The lake's column for what no decimal can be: a JSON object, lake column → what PostgreSQL says. Null in nearly all
# rows; the decimal's own column is null then.
SPECIALS_COLUMN = "__specials"
# What events say of a numeric that is no number (decimal.handling.mode=string) → what PostgreSQL says.
NOT_NUMBERS = {"NAN": "NaN", "POSITIVE_INFINITY": "Infinity", "NEGATIVE_INFINITY": "-Infinity"}
