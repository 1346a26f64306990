"""What a user of these commands can cause or mend."""

from contract.errors import UserError


class OperateError(UserError):
    """One line: what is wrong, where, and what to do."""
