"""Hashed columns, as Debezium sends them: the SHA-256 of a salt and the text, in hexadecimal digits."""

from contract.column_types.catalogue import ColumnType, without_domains

# The salt's key in its secret's JSON.
SALT_KEY = "salt"
_DIGITS = 64
# PostgreSQL's atttypmod of a text type is its length plus this.
_HEADER = 4


def hash_digits(kind: ColumnType, modifier: int) -> int:
    """Return to how many digits Debezium 3.7's MaskStrings cuts a hash: the column's length. It hashes only texts."""
    kind, modifier = without_domains(kind, modifier)
    limited = kind.name in ("varchar", "bpchar") and modifier > _HEADER
    return min(modifier - _HEADER, _DIGITS) if limited else _DIGITS
