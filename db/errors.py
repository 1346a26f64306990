"""The one error that the loader shows its user."""

import psycopg2

from contract.errors import UserError


class LoadError(UserError):
    """The load can't go on. Its text is one line: what, where, what to do. The database is as it was."""


class LaterError(LoadError):
    """It can't go on now; that may pass, so ask again."""


class UnreachableError(LaterError):
    """The database can't be reached now; that may pass."""


class LoginError(LoadError):
    """The server doesn't take this user's password: it is wrong, or it is being changed."""


class NoPasswordError(LoadError):
    """The server wants a password, and there is none."""


class NewerError(LoadError):
    """The database's outbox is of a newer version than this code."""


def explain(error: psycopg2.Error) -> str:
    """Say in one line what PostgreSQL refused."""
    diagnosis = error.diag
    if diagnosis.message_primary is None:
        return f"the connection broke: {' '.join(str(error).split())}"
    parts = [diagnosis.message_primary, diagnosis.message_detail, diagnosis.message_hint]
    where = next((line for line in (diagnosis.context or "").splitlines() if line.startswith("COPY ")), None)
    text = "; ".join(" ".join(part.split()) for part in (*parts, where) if part)
    return f"PostgreSQL refused: {text}"
