"""Makes values comparable: what decides which rows are written where whole states are compared."""

from pyspark.sql import Column as Expression
from pyspark.sql import types as T


def comparable(value: Expression, kind: T.DataType) -> Expression:
    """Return what tells values of a type apart: -0 equals 0, and is another value."""
    return value.cast("string") if isinstance(kind, T.DoubleType | T.FloatType) else value
