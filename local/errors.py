"""The errors that end a command with one line for the user."""

from contract.errors import UserError


class PlatformError(UserError):
    """The platform can't do what was asked; the message is one line: what, where, what to do.

    When a service dies, the last lines of its log follow.
    """


class RefusedError(PlatformError):
    """A service answers, but refuses our login."""


class CancelledError(PlatformError):
    """Work was given up because something else failed or the user interrupted."""


class LockedError(PlatformError):
    """Another command works on the platform; `holder` is its pid, None when unknown."""

    def __init__(self, message: str, holder: int | None) -> None:
        super().__init__(message)
        self.holder = holder
