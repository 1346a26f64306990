"""JSON and arrays."""

from collections.abc import Callable

from sqlglot import exp

from analytics.alike.parts import Engine, call, number, or_null, refused, text
from contract.errors import UNLIKE_ATHENA

# Digits of a decimal number that a double keeps.
_DIGITS = 15


def standard_json(node: exp.Expr) -> exp.Expr:
    """Drop `lax` and `strict`, which DuckDB lacks."""
    if isinstance(node, exp.JSONValue) or node.args.get("json_query"):
        raise refused(node, "use json_extract or json_extract_scalar")
    return node


def scalar(node: exp.JSONExtractScalar, engine: Engine) -> exp.Expr:
    """Return NULL for an object, an array, and text that isn't JSON."""
    path = node.expression
    if not isinstance(path, exp.JSONPath) or not all(map(_is_step, path.expressions)):
        raise refused(node.this, "the path must be written there as a text, and lead to one value, as does '$.a[0]'")
    if engine == "duckdb":
        document = call("json", or_null(call("json_valid", node.this), node.this.copy()))
        kind = exp.JSONExtractScalar(this=document.copy(), expression=path.copy())
        structured = exp.In(this=call("json_type", exp.JSONExtract(this=document.copy(), expression=path.copy())),
                            expressions=[text("OBJECT"), text("ARRAY")])  # fmt: skip
        return exp.Case().when(structured, exp.Null()).else_(kind)
    if len(path.expressions) == 1:
        raise refused(node, "Spark knows no path to the whole document")
    return _spark_scalar(node, path)


def _is_step(part: exp.Expr) -> bool:
    """Whether it leads to one value: no wildcard, no slice."""
    known = exp.JSONPathRoot | exp.JSONPathKey | exp.JSONPathSubscript
    return isinstance(part, known) and not isinstance(part.this, exp.Expr)


def _spark_scalar(node: exp.JSONExtractScalar, path: exp.JSONPath) -> exp.Expr:
    """Look the value up within an array: there a text keeps its quotes, so a text beginning with { isn't an object."""
    within = exp.JSONPath(expressions=[path.expressions[0].copy(), exp.JSONPathSubscript(this=exp.JSONPathWildcard()),
                                       *(each.copy() for each in path.expressions[1:])])  # fmt: skip
    quoted = exp.JSONExtractScalar(this=call("concat", text("["), node.this, text("]")), expression=within)
    first = exp.Left(this=quoted, expression=exp.Literal.number(1))
    structured = exp.In(this=first, expressions=[text("{"), text("[")])
    made = exp.Case().when(structured, exp.Null())
    if not _takes_a_double(node.parent):
        why = UNLIKE_ATHENA + "a fraction in JSON as text: CAST what json_extract_scalar gives to double"
        fraction = exp.RegexpLike(this=quoted.copy(), expression=text("^[-0-9].*[.eE]"))
        made = made.when(fraction, call("raise_error", why))
    return made.else_(node.copy())


def _takes_a_double(parent: exp.Expr | None) -> bool:
    """Whether a value becomes a number for which a double has enough digits."""
    if not isinstance(parent, exp.Cast):
        return False
    digits = number(parent.to.expressions[0].this) if parent.to.expressions else None
    of_few = parent.to.is_type(exp.DataType.Type.DECIMAL) and digits is not None and digits <= _DIGITS
    return bool(of_few or parent.to.is_type(exp.DataType.Type.DOUBLE))


def contains(node: exp.ArrayContains, engine: Engine) -> exp.Expr:
    """Return NULL where it isn't found but might be one of the NULLs."""
    if engine == "spark":
        return node
    found = exp.Case().when(node.copy(), exp.true())
    return found.when(_has_null(node.this), exp.Null()).else_(node.copy())


def array_extreme(node: exp.ArrayMax | exp.ArrayMin) -> exp.Expr:
    """Return NULL if any element is NULL."""
    return exp.Case().when(_has_null(node.this), exp.Null()).else_(node.copy())


def _has_null(array: exp.Expr) -> exp.Expr:
    return exp.LT(this=call("list_count", array), expression=call("len", array))


def array_position(node: exp.ArrayPosition) -> exp.Expr:
    """Return 0 where it isn't found."""
    none = exp.Is(this=node.this.copy(), expression=exp.Null())
    return exp.Case().when(none, exp.Null()).else_(exp.Coalesce(this=node.copy(), expressions=[exp.Literal.number(0)]))


def by(name: str) -> Callable[[exp.Expr, Engine], exp.Expr]:
    """Keep rows whose value is NULL, which DuckDB skips."""

    def made(node: exp.Expr, engine: Engine) -> exp.Expr:
        if node.args.get("count"):
            raise refused(node, "only one value is the same here")
        return call(name, node.this, node.expression) if engine == "duckdb" else node

    return made


def array_sort(node: exp.ArraySort) -> exp.Expr:
    """Refuse a custom order."""
    if node.args.get("expression"):
        raise refused(node, "only the order of the values themselves is the same here")
    return node
