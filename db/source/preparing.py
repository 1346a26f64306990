"""Gives a database what a pipeline needs and it lacks, all or nothing."""

from collections.abc import Mapping
from typing import Any

import psycopg2
from psycopg2 import errors
from psycopg2.extensions import cursor as Cursor  # noqa: N812 - a class with a lower-case name
from psycopg2.extensions import encrypt_password

from db.errors import LaterError, LoadError, explain
from db.loading import transaction
from db.source import objects as source_objects
from db.source import plan as source_plan
from db.source.objects import SourceObjects
from db.source.plan import Plan
from db.source.shared_roles import again, lost_race

# Changing a table's identity waits for all users of the table, and everyone else queues behind it.
LOCK_TIMEOUT_S = 3
# Another preparation of the same database waits (for the server's roles see db/source/shared_roles.py). Arbitrary key.
PREPARE_LOCK = 7_315_402


class UnpreparableError(LoadError):
    """The database or the user's rights don't suffice: `lines` has each reason. Nothing was changed."""

    def __init__(self, lines: tuple[str, ...]) -> None:
        super().__init__("; ".join(lines))
        self.lines = lines


def plan(cursor: Cursor, wanted: SourceObjects, *, password: str | None = None) -> Plan:
    """Return what `prepare` would do, without changing anything; `password` is the connector's, None keeps it.

    Raises LoadError.
    """
    try:
        verifier = None if password is None else encrypt_password(password, wanted.role, cursor, "scram-sha-256")
        return source_plan.plan(wanted, source_objects.read(cursor, wanted), verifier=verifier)
    except psycopg2.Error as error:
        raise LoadError(f"cannot read what the database has: {explain(error)}") from error


def prepare(
    connection_parameters: Mapping[str, Any], wanted: SourceObjects, *, password: str | None = None
) -> tuple[Plan, Plan]:
    """Run the missing steps in one transaction; return what was done, and what remains, a plan without steps.

    Raises UnpreparableError if the database doesn't meet the requirements or the user lacks rights, LaterError if a
    table or the role is in use, LoadError otherwise; the database is then unchanged.
    """
    with transaction(connection_parameters, failing="nothing was changed") as cursor:
        cursor.execute("SET LOCAL search_path = pg_catalog")
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", (PREPARE_LOCK,))
        return again(cursor, lambda: _prepare(cursor, wanted, password))


def _prepare(cursor: Cursor, wanted: SourceObjects, password: str | None) -> tuple[Plan, Plan]:
    doing = plan(cursor, wanted, password=password)
    if lines := (*doing.problems, *(f"you may not {right}" for right in doing.missing_rights)):
        raise UnpreparableError(lines)
    cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT_S}s'")
    for step in doing.steps:
        for statement in step.statements:
            _run(cursor, statement)
    return doing, plan(cursor, wanted)


def _run(cursor: Cursor, statement: str) -> None:
    try:
        cursor.execute(statement)
    except errors.LockNotAvailable as error:
        if lost_race(error):
            raise
        what = " ".join(statement.split())
        raise LaterError(
            f"a table is in use, and waiting longer than {LOCK_TIMEOUT_S} s would hold up everybody else: {what};"
            " nothing was changed, run this again"
        ) from error
