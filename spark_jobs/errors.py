"""The job's own errors and lines: each message is one line that says what, where and what to do."""

import re
import sys
from collections.abc import Callable

from contract.errors import UNLIKE_ATHENA, UserError

# A function that logs a line.
Log = Callable[[str], None]
# Spark's exceptions for a value: overflow, division by zero, a text that is no number.
_OF_VALUES = {
    f"Spark{kind}Exception"
    for kind in ("Arithmetic", "NumberFormat", "DateTime", "ArrayIndexOutOfBounds", "Runtime", "NoSuchElement")
}
# Values in their messages: texts and numbers. Types are none: "INT", Decimal(3, 1).
_SPARKS_VALUE = re.compile(r"""("[^"']*"|Decimal\([^)]*\))|'.*'|'.*|(?<!\w)-?\d(?:[\w.]*\w)?""", re.DOTALL)
# PostgreSQL's quotation marks depend on its messages' language, and the value's own aren't escaped.
_POSTGRES_VALUE = re.compile(r"""["«»„“].*["«»”“]|["«»„“].*|\b0x\w+""", re.DOTALL)


class JobError(UserError):
    """The job can't continue, and a retry would fail the same way: exit 1 with this one line."""


class SettingsError(JobError):
    """An option or a property is missing, unknown, unsupported or contradicts another."""


class UndescribedError(JobError):
    """Events have a column of unknown type: the table waits until its schema file describes it."""


class QuarantineLimitError(JobError):
    """One batch had more malformed events than the quarantine may take."""


class ConcurrentWriterError(JobError):
    """Another writer has committed to the table since this job read its progress."""


def first_line(error: BaseException) -> str:
    """Return an error in one line; for an exception from the JVM its root cause's message.

    Omits the value that PostgreSQL or Spark couldn't compute with: it may be a person's address.
    """
    java = getattr(error, "java_exception", None)
    if java is None:
        name, message = type(error).__name__, str(error).strip()
    else:
        for _ in range(20):
            if java.getCause() is None:
                break
            java = java.getCause()
        name, _, message = str(java.toString()).partition(": ")
    if _is_of_value(name) and not message.startswith(UNLIKE_ATHENA):
        message = _SPARKS_VALUE.sub(lambda found: found[1] or "…", message.partition("\n== SQL")[0])
    elif java is not None and name.endswith("SQLException") and str(java.getSQLState()).startswith("22"):
        message = _POSTGRES_VALUE.sub("…", message)
    return (f"{name}: {message}" if message else name).splitlines()[0]


def value_error(error: BaseException) -> str | None:
    """Return Spark's message for a value that can't be computed, without its advice; None for any other error."""
    name, _, message = first_line(error).partition(": ")
    if message.startswith(UNLIKE_ATHENA):
        return message
    if not _is_of_value(name):
        return None
    return re.split(r" (?:Use `|If necessary|Fail to|To tolerate|To return)", message)[0]


def _is_of_value(name: str) -> bool:
    # Python's exceptions have no package and no prefix.
    return bool({name.rpartition(".")[2], f"Spark{name}"} & _OF_VALUES)


def user_message(error: BaseException) -> str:
    """Return an error's line for the user: our own errors' whole message, in which names of the source may stand."""
    return " ".join(str(error).splitlines()) if isinstance(error, JobError) else first_line(error)


def log(message: str) -> None:
    """Write a line to standard error; only commits go to standard output."""
    sys.stderr.write(f"{message}\n")
    sys.stderr.flush()
