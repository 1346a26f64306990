"""The error of reading and translating a statement."""

from contract.errors import UserError


class TranslationError(UserError):
    """The SQL isn't a single read-only statement; one line says what is wrong and where."""
