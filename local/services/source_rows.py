"""Whether a table, view or query of the source has rows."""

from psycopg2 import sql
from psycopg2.extensions import connection as Connection  # noqa: N812 - a class with a lower-case name

from settings.pipeline import CapturedTableSettings


def has_rows(connection: Connection, table: CapturedTableSettings) -> bool:
    """Tell whether it has a row. Raises psycopg2.Error."""
    name = sql.Identifier(table.schema_name, table.table_name)
    rows = name if table.query is None else sql.Composed([sql.SQL("("), sql.SQL(table.query), sql.SQL("\n)")])
    with connection, connection.cursor() as cursor:
        cursor.execute(sql.SQL("SELECT EXISTS (SELECT FROM {} AS q)").format(rows))
        (found,) = cursor.fetchone() or (False,)
        return bool(found)
