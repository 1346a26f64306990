"""What a user of these commands can cause or mend, as one line and exit status 1."""

import contextlib
import sys
from collections.abc import Iterator

import typer

from local.errors import PlatformError
from plugins.versions import VersionsError
from settings.load import EnvironmentFileError
from stacks.wheels import WheelError

INTERRUPTED = 130


class OperateError(Exception):
    """One line: what is wrong, where, and what to do."""


@contextlib.contextmanager
def one_line_errors(command: str) -> Iterator[None]:
    """Turn what a user can mend into a line on standard error and exit status 1, Ctrl-C into 130."""
    try:
        yield
    except BrokenPipeError:
        # Whoever read the output has enough of it: `make tail … | head`. Python would complain again when it flushes.
        sys.stdout = None
        sys.exit(0)
    except (OperateError, EnvironmentFileError, PlatformError, VersionsError, WheelError, OSError) as error:
        typer.echo(f"{command}: {error}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        typer.echo(f"{command}: interrupted", err=True)
        sys.exit(INTERRUPTED)
