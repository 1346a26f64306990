"""Tells whether a table has a value as it is: what decides which rows are written where whole states are compared."""

from pyspark.sql import Column as Expression
from pyspark.sql import types as T


def is_same(stored: Expression, now: Expression, kind: T.DataType) -> Expression:
    """Compare two values of a type; null is the same as null."""
    if isinstance(kind, T.DoubleType | T.FloatType):  # -0 equals 0, and is another value
        stored, now = stored.cast("string"), now.cast("string")
    return stored.eqNullSafe(now)
