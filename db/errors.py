"""The loader's errors."""

import psycopg2

from contract.errors import UserError


class LoadError(UserError):
    """The load can't continue. Its text is one line: what, where, what to do. The database is unchanged."""


class LaterError(LoadError):
    """It can't continue now; the cause may pass, so try again later."""


class UnreachableError(LaterError):
    """The database can't be reached now; that may pass."""


class LoginError(LoadError):
    """The server rejects this user's password: it is wrong, or it is being changed."""


class NoPasswordError(LoadError):
    """The server wants a password, and there is none."""


class NewerError(LoadError):
    """The database's outbox is newer than this code."""


def explain(error: psycopg2.Error) -> str:
    """Return PostgreSQL's reason in one line."""
    diagnosis = error.diag
    if diagnosis.message_primary is None:
        return f"the connection broke: {' '.join(str(error).split())}"
    parts = [diagnosis.message_primary, diagnosis.message_detail, diagnosis.message_hint]
    where = next((line for line in (diagnosis.context or "").splitlines() if line.startswith("COPY ")), None)
    text = "; ".join(" ".join(part.split()) for part in (*parts, where) if part)
    return f"PostgreSQL refused: {text}"
