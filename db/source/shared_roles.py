"""Retries work that lost a race for a role, which all databases of a server share.

No lock that every user may take covers a whole server: advisory locks are per database. If two sessions change a role
at once, PostgreSQL refuses the second as soon as the first has committed.
"""

import random
import re
import time
from collections.abc import Callable
from typing import TypeVar

import psycopg2
from psycopg2 import errors
from psycopg2.extensions import cursor as Cursor  # noqa: N812 - a class with a lower-case name

from db.errors import LaterError, explain

PATIENCE_S = 60.0
PAUSE_S = 0.05
_OF_ROLES = re.compile(rb"(CREATE|ALTER) ROLE ")
Result = TypeVar("Result")


def again(cursor: Cursor, work: Callable[[], Result]) -> Result:
    """Run `work`, which begins by reading the current state; roll it back and repeat it while it loses races.

    Raises LaterError if it still does after PATIENCE_S, and what `work` raises.
    """
    deadline = time.monotonic() + PATIENCE_S
    cursor.execute("SAVEPOINT race")
    while True:
        try:
            return work()
        except psycopg2.Error as error:
            if not lost_race(error):
                raise
            if time.monotonic() > deadline:
                raise LaterError(
                    f"others keep changing the same role ({explain(error)}): nothing was changed, run this again"
                ) from error
        cursor.execute("ROLLBACK TO SAVEPOINT race")
        # Sessions that lost together shouldn't collide again.
        time.sleep(random.uniform(0, PAUSE_S))  # noqa: S311 - no secret


def lost_race(error: psycopg2.Error) -> bool:
    """Tell whether another session changed the same shared row, so that the work succeeds when repeated."""
    if isinstance(error, errors.InternalError_):
        # "tuple concurrently updated", or "deleted": PostgreSQL doesn't translate it.
        return "concurrently" in str(error)
    if isinstance(error, errors.UniqueViolation):
        return error.diag.schema_name == "pg_catalog"
    of_role = error.cursor is not None and _OF_ROLES.match(error.cursor.query or b"") is not None
    return of_role and isinstance(error, (errors.DuplicateObject, errors.UndefinedObject, errors.LockNotAvailable))
