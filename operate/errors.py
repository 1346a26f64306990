"""Errors that a user of these commands can cause or fix."""

from contract.errors import UserError


class OperateError(UserError):
    """One line: what is wrong, where, and what to do."""
