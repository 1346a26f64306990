"""Errors that a user can cause or fix: their base class, and the one place that shows them."""

import contextlib
import errno
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

# The exit statuses of all commands; 0 is done, or equal.
NO = 1  # the answer is no: something differs, is dead, or is forbidden
USAGE = 2
CANNOT = 3  # the request can't be fulfilled: the line says why
INTERRUPTED = 130  # 128 and SIGINT's number, as shells say it

# Prefix by which a derived table's query reports, at run time, a value that it can't compute as Athena does.
UNLIKE_ATHENA = "not as in Athena: "


# A command in a message, on a local platform that it doesn't name.
_COMMAND = re.compile(r"`\./lake (?:up|down|status|resnapshot|reconcile|query|dashboard)(?=[ `])(?! -p)")


def printable(text: str) -> str:
    """Escape line ends and what moves a terminal's cursor: a name or a value of a table may hold it."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def with_options(text: str, options: str) -> str:
    """Return a message whose commands have the options that select a platform, such as ` -p shop`."""
    return _COMMAND.sub(lambda command: command[0] + options, text)


class UserError(Exception):
    """Its text is one line for the user: what is wrong, where, and what to do. Further lines show details."""


@contextlib.contextmanager
def one_line_errors(prefix: str, *, interrupted: str = "interrupted", options: str = "") -> Iterator[None]:
    """End the program without a traceback: `<prefix>: <the error's text>` on standard error, and CANNOT.

    The system's errors (OSError) are shown, too. `options` select the platform in the commands that an error names.
    Ctrl-C ends it with INTERRUPTED and that word. A closed pipe is not an error (`./lake kafka tail … | head`).
    """
    try:
        yield
    except BrokenPipeError:
        # Otherwise Python would complain again when it flushes.
        sys.stdout = None
        sys.exit(0)
    except (UserError, OSError) as error:
        show(prefix, error, options)
        sys.exit(CANNOT)
    except KeyboardInterrupt:
        print(f"{prefix}: {interrupted}", file=sys.stderr)
        sys.exit(INTERRUPTED)


def show(prefix: str, error: BaseException, options: str = "") -> None:
    """Print an error's text to standard error, with its notes in the first line; if it has no text, its name."""
    first, *more = error_text(error).splitlines()
    lines = ["; ".join([f"{prefix}: {first}", *getattr(error, "__notes__", ())]), *more]
    print(with_options("\n".join(map(printable, lines)), options), file=sys.stderr)


def error_text(error: BaseException) -> str:
    """Return an error's text, or its name without one; for a full disk also where that is and what to do."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        if not isinstance(error.filename, str | bytes):
            return "a disk is full, `df` shows which: make room, then try again"
        path = Path(os.fsdecode(error.filename)).absolute()
        disk = next(folder for folder in path.parents if folder.is_mount())
        return f"the disk at {disk} is full, so {path} can't be written: make room, then try again"
    return str(error).strip() or type(error).__name__


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add the file's path to the system's errors about writing to it, which lack it when a disk is full."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise
