"""The errors that end a command with one line for the user."""

from contract.errors import UserError


class PlatformError(UserError):
    """The platform can't do what was asked; the message is one line: what, where, what to do.

    A service's death adds the last lines of its log below that line.
    """


class CancelledError(PlatformError):
    """Work was given up because something else failed or the user interrupted."""


class LockedError(PlatformError):
    """Another command is at work on the platform; `holder` is its pid, None when that can't be said."""

    def __init__(self, message: str, holder: int | None) -> None:
        super().__init__(message)
        self.holder = holder


class LostChangesError(PlatformError):
    """Changes don't leave the source, or some never came: only a person may decide."""


class FailingTablesError(PlatformError):
    """Some tables' data doesn't come, a line for each says why. All others flow."""
