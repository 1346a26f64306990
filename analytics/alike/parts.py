"""Building blocks for this folder's translations."""

from typing import Literal

from sqlglot import exp

from contract.errors import UserError


class TranslationError(UserError):
    """The SQL isn't a single read-only statement; one line says what is wrong and where."""


Engine = Literal["duckdb", "spark"]
WHOLE = (*exp.DataType.INTEGER_TYPES,)
TEXT = (*exp.DataType.TEXT_TYPES,)


def refused(node: exp.Expr, why: str) -> TranslationError:
    """Return the error for a part of a statement that can't mean the same as in Athena."""
    try:
        part = node.sql("athena", comments=False)
    except ValueError:
        # sqlglot can read more paths than it can write.
        part = "a path with * or .."
    return TranslationError(f"{part[:80]}: {why}")


def text(value: str) -> exp.Expr:
    return exp.Literal.string(value)


def call(name: str, *arguments: exp.Expr | str) -> exp.Expr:
    """Return a function call; strings become literals."""
    return exp.Anonymous(this=name, expressions=[each.copy() if isinstance(each, exp.Expr) else text(each)
                                                 for each in arguments])  # fmt: skip


def kind_is(value: exp.Expr, *kinds: str) -> exp.Expr:
    """Return the condition that a value has one of these types, by the engine's names."""
    return exp.In(this=call("typeof", value), expressions=[text(kind) for kind in kinds])


def or_null(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    return exp.Case().when(condition, value)


def number(node: exp.Expr | None) -> int | None:
    """Return a literal whole number, None for anything else."""
    if isinstance(node, exp.Neg):
        found = number(node.this)
        return None if found is None else -found
    return int(node.this) if isinstance(node, exp.Literal) and node.is_int else None


def needs_text(node: exp.Expr, value: exp.Expr) -> None:
    """Raise TranslationError unless the value is a literal, non-empty text."""
    if not (isinstance(value, exp.Literal) and value.is_string and value.this):
        raise refused(node, f"{value.sql('athena')} must be a text that is written there, and not empty")
