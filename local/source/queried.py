"""The database of a pipeline that is queried: the embedded one, with a role that may read it, or an outside one."""

from collections.abc import Mapping
from typing import Any

from psycopg2 import sql
from psycopg2.extensions import cursor as Cursor  # noqa: N812 - a class with a lower-case name

from capture.query_checks import query_problems
from db.errors import LoadError
from db.loading import transaction
from local.errors import PlatformError
from local.source.embedded import EmbeddedSource
from local.source.outside import OutsideDatabase
from settings.pipeline import Pipeline


class EmbeddedQueried:
    """Our own server's database: loaded with the pipeline's example, and read by a role that may do nothing else."""

    def __init__(self, source: EmbeddedSource, pipeline: Pipeline, *, password: str) -> None:
        self._source = source
        self._pipeline = pipeline
        self._password = password

    def make_ready(self) -> str:
        """Create and load the database, and let the role read it."""
        note = self._source.load()
        with transaction(self._source.parameters) as cursor:
            self._let_read(cursor)
        return note

    def _let_read(self, cursor: Cursor) -> None:
        role = sql.Identifier(self._pipeline.source.role)
        cursor.execute("SELECT FROM pg_roles WHERE rolname = %s", [self._pipeline.source.role])
        verb = "ALTER" if cursor.rowcount else "CREATE"
        secret = sql.Literal(self._password)
        cursor.execute(sql.SQL(f"{verb} ROLE {{}} LOGIN PASSWORD {{}}").format(role, secret))
        cursor.execute(
            "SELECT nspname FROM pg_namespace WHERE nspname <> 'information_schema' AND nspname !~ '^pg_' ORDER BY 1"
        )
        for (schema,) in cursor.fetchall():
            for right in ("USAGE ON SCHEMA", "SELECT ON ALL TABLES IN SCHEMA"):
                cursor.execute(sql.SQL(f"GRANT {right} {{}} TO {{}}").format(sql.Identifier(schema), role))
        # So that a look by a column knows who is still writing.
        cursor.execute(sql.SQL("GRANT pg_read_all_stats TO {}").format(role))


class OutsideQueried:
    """A database of the user's: looked at, and never changed."""

    def __init__(self, pipeline: Pipeline, where: OutsideDatabase, parameters: Mapping[str, Any]) -> None:
        self._pipeline = pipeline
        self._where = where
        self._parameters = parameters

    def make_ready(self) -> str:
        """See that the role may query it. Raises PlatformError that says in one line what keeps it from that."""
        try:
            problems = query_problems(self._parameters, self._pipeline)
        except LoadError as error:
            raise PlatformError(f"{self._where}: {error}") from error
        if problems:
            raise PlatformError(f"{self._where} can't be queried: {'; '.join(problems)}")
        return f"{self._where}, read as {self._parameters['user']}"
