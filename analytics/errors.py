"""The one error of reading and translating a statement."""

from contract.errors import UserError


class TranslationError(UserError):
    """The SQL isn't one statement that asks; one line says what and where."""
