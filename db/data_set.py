"""Records in a source database what it was loaded with: the comment on its schema."""

import hashlib
from pathlib import Path

from psycopg2 import sql
from psycopg2.extensions import cursor as Cursor  # noqa: N812 - a class with a lower-case name

from contract.source import SCHEMA
from db.dump import read_file
from db.sample import ORDERS

DIGITS = 16


def describe(*, scale: int = 1, dump: Path | None = None, empty: bool = False) -> str:
    """Return a short text that identifies the loaded rows. Raises LoadError for an unreadable dump."""
    if empty:
        return "no rows"
    if dump is None:
        return f"{ORDERS * scale:,} generated orders (--scale {scale})"
    return f"the dump {dump.name} (SHA-256 {hashlib.sha256(read_file(dump)).hexdigest()[:DIGITS]}…)"


def note(cursor: Cursor, words: str, *, schema: str = SCHEMA) -> None:
    """Record what was loaded into a schema."""
    cursor.execute(sql.SQL("COMMENT ON SCHEMA {} IS {}").format(sql.Identifier(schema), sql.Literal(words)))


def noted(cursor: Cursor, *, schema: str = SCHEMA) -> str | None:
    """Return the record; None for a database that an older version has loaded."""
    cursor.execute("SELECT obj_description(%s::regnamespace, 'pg_namespace')", (schema,))
    row = cursor.fetchone()
    return None if row is None or row[0] is None else str(row[0])
