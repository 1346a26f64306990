"""What must be so before a load begins. Nothing here changes the database."""

from psycopg2.extensions import cursor as Cursor  # noqa: N812 - a class with a lower-case name

from contract.source import CONNECTOR_ROLE, PUBLICATION, SCHEMA
from db.errors import LoadError


def check(cursor: Cursor, *, replace: bool) -> None:
    """Raise LoadError unless this database can be loaded."""
    _check_wal_level(cursor)
    if replace:
        _check_nobody_reads(cursor)
    else:
        _check_nothing_there(cursor)
    check_role(cursor)


def has_schema(cursor: Cursor) -> bool:
    """Tell whether the schema is there."""
    return _exists(cursor, "SELECT 1 FROM pg_namespace WHERE nspname = %s", SCHEMA)


def has_publication(cursor: Cursor) -> bool:
    """Tell whether the publication is there."""
    return _exists(cursor, "SELECT 1 FROM pg_publication WHERE pubname = %s", PUBLICATION)


def has_slot(cursor: Cursor) -> bool:
    """Tell whether a replication slot, active or not, is waiting for this database's changes."""
    return _exists(cursor, "SELECT 1 FROM pg_replication_slots WHERE database = current_database()")


def check_role(cursor: Cursor) -> None:
    """Raise LoadError when a role of the connector's name is an administrator: it would get a known password.

    On RDS and Aurora nobody is a superuser; a member of rds_superuser is what comes next to it.
    """
    cursor.execute(
        "SELECT EXISTS (SELECT FROM pg_roles r WHERE rolname = %s AND (rolsuper OR rolcreaterole OR rolcreatedb"
        " OR rolbypassrls OR EXISTS (SELECT FROM pg_roles admin WHERE pg_has_role(r.oid, admin.oid, 'MEMBER')"
        " AND (admin.rolsuper OR admin.rolname = 'rds_superuser'))))",
        (CONNECTOR_ROLE,),
    )
    if cursor.fetchone() == (True,):
        raise LoadError(f"the role {CONNECTOR_ROLE} is there with an administrator's rights: rename or demote it first")


def _check_wal_level(cursor: Cursor) -> None:
    cursor.execute("SELECT current_setting('wal_level')")
    (level,) = cursor.fetchone() or ("unknown",)
    if level != "logical":
        raise LoadError(
            f"wal_level is {level}, change data capture needs logical:"
            " set it in postgresql.conf (on Aurora and RDS: rds.logical_replication=1) and restart the server"
        )


def _check_nothing_there(cursor: Cursor) -> None:
    if has_schema(cursor):
        raise LoadError(f"the schema {SCHEMA} is already there: add --replace to drop it and load it again")
    if has_publication(cursor):
        raise LoadError(f"the publication {PUBLICATION} is already there: add --replace to take it over")


def _check_nobody_reads(cursor: Cursor) -> None:
    """A connector that streams meanwhile would see tables vanish under it."""
    cursor.execute("SELECT slot_name FROM pg_replication_slots WHERE database = current_database() AND active LIMIT 1")
    if row := cursor.fetchone():
        raise LoadError(f"the replication slot {row[0]} is in use: stop the connector, then load with --replace")


def _exists(cursor: Cursor, query: str, *values: str) -> bool:
    cursor.execute(query, values)
    return cursor.fetchone() is not None
