"""How PostgreSQL's infinite dates and timestamps travel and are kept: as numbers, for no lake column says "infinite".

Source: what Debezium 3.7.0 sends, measured on PostgreSQL 16. A DATE comes as days since 1970, infinite ones as the two
below, which lie outside of PostgreSQL's dates. A TIMESTAMPTZ comes as text, `infinity` among it; the job keeps that as
the microseconds which Debezium sends for an infinite TIMESTAMP.
"""

# Days since 1970-01-01 → what PostgreSQL says.
INFINITE_DAYS = {2_146_033_979: "infinity", -2_147_472_691: "-infinity"}
# Microseconds since 1970-01-01T00:00Z → what PostgreSQL says.
INFINITE_MICROS = {9_223_372_036_825_200_000: "infinity", -9_223_372_036_832_400_000: "-infinity"}
