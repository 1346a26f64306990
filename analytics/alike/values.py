"""Casts, conditions, dates and times, JSON and arrays."""

import re
from collections.abc import Callable

from sqlglot import exp

from analytics.alike.parts import TEXT, WHOLE, Engine, call, kind_is, number, or_null, refused, text
from contract.errors import UNLIKE_ATHENA

_FRACTIONS = {"duckdb": ("DOUBLE", "FLOAT"), "spark": ("double", "float")}
_INSTANT = {"duckdb": "TIMESTAMP WITH TIME ZONE", "spark": "timestamp"}
_UNITS = ("DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "WEEK")
_STEPS = {"WEEK": (7, "DAY"), "QUARTER": (3, "MONTH")}
# Fractional digits of an instant's seconds in Athena.
_DIGITS_OF_SECONDS = 3
_SIGNS = r"%(?:[YmdHMSjybBAaIpfT]|-[dmH])"
# Spark interprets letters and quotes.
_FORMATS = {"duckdb": re.compile(f"(?:{_SIGNS}|%%|[^%])*"), "spark": re.compile(f"(?:{_SIGNS}|[^%a-zA-Z'])*")}


def extreme(node: exp.Greatest | exp.Least, engine: Engine) -> exp.Expr:
    """Return NULL if any argument is NULL."""
    given = [node.this, *node.expressions]
    if engine == "duckdb":
        return node
    none = [exp.Not(this=exp.Is(this=each.copy(), expression=exp.Null())) for each in given]
    return or_null(exp.and_(*none), node.copy())


def if_(node: exp.If, engine: Engine) -> exp.Expr:
    """Spark's `if` needs three arguments."""
    if engine == "duckdb" or isinstance(node.parent, exp.Case):
        return node
    return exp.Case().when(node.this.copy(), node.args["true"].copy()).else_(node.args.get("false") or exp.Null())


def cast_(node: exp.Cast, engine: Engine) -> exp.Expr:
    """Round as Athena does, and cut texts to their length."""
    to, value = node.to, node.this
    if to.is_type(*WHOLE):
        return _to_whole(node, engine)
    if to.is_type(exp.DataType.Type.CHAR, exp.DataType.Type.NCHAR):
        raise refused(node, "char(n) is a varchar here: CAST it to varchar(n)")
    if to.is_type(*TEXT):
        return _to_text(node, engine)
    if to.is_type(exp.DataType.Type.DECIMAL) and not to.expressions:
        node.set("to", exp.DataType.build("decimal(38, 0)"))
    if to.is_type(exp.DataType.Type.TIMESTAMP) and to.expressions and not isinstance(value, exp.Literal):
        digits = number(to.expressions[0].this)
        if digits is None or digits < _DIGITS_OF_SECONDS:
            raise refused(node, "instants aren't rounded here: use date_trunc")
    return node


def _to_whole(node: exp.Cast, engine: Engine) -> exp.Expr:
    """Round a fraction half away from zero."""
    value = node.this
    if value.is_type(*WHOLE, *TEXT, exp.DataType.Type.BOOLEAN, exp.DataType.Type.JSON):
        return node
    rounded = _as(node, exp.Round(this=exp.cast(value.copy(), "double")))
    made = exp.Case().when(kind_is(value, *_FRACTIONS[engine]), rounded)
    if engine == "spark":
        decimal = exp.Like(this=call("typeof", value), expression=text("decimal%"))
        made = made.when(decimal, _as(node, exp.Round(this=exp.cast(value.copy(), "decimal(38, 18)"))))
    return made.else_(node.copy())


def _as(node: exp.Cast, value: exp.Expr) -> exp.Expr:
    return type(node)(this=value, to=node.to.copy())


def _to_text(node: exp.Cast, engine: Engine) -> exp.Expr:
    value, size = node.this, [each.this for each in node.to.expressions]
    made: exp.Expr = node
    if size:
        if not value.is_type(*TEXT, exp.DataType.Type.UNKNOWN):
            raise refused(node, "a length is for texts: CAST it to varchar")
        node.set("to", exp.DataType.build("varchar"))
    if value.is_type(*TEXT, *WHOLE, exp.DataType.Type.JSON, exp.DataType.Type.BOOLEAN, exp.DataType.Type.DATE):
        made = node.copy()
    elif engine == "duckdb":
        local = exp.cast(value.copy(), "timestamp")
        written = call("strftime", local, "%Y-%m-%d %H:%M:%S.%g")
        made = exp.Case().when(kind_is(value, _INSTANT[engine]), written).else_(node.copy())
    else:
        why = "a double or a timestamp as text: CAST it to decimal first, or use date_format"
        other = kind_is(value, *_FRACTIONS[engine], _INSTANT[engine])
        made = exp.Case().when(other, call("raise_error", UNLIKE_ATHENA + why)).else_(node.copy())
    return exp.Left(this=made, expression=size[0].copy()) if size else made


def date_diff(node: exp.DateDiff, engine: Engine) -> exp.Expr:
    """Count whole units, not boundaries crossed."""
    unit = node.args["unit"].name.upper()
    if engine == "duckdb":
        return call("date_sub", text(unit.lower()), node.expression, node.this)
    if unit not in _UNITS:
        raise refused(node, "Spark counts months at their ends otherwise: only units up to a week are the same")
    return node


def date_add(node: exp.DateAdd, engine: Engine) -> exp.Expr:
    """Avoid Spark's own functions, which turn an instant into a date."""
    if engine == "duckdb":
        return node
    count, unit = number(node.expression), node.args["unit"].name.upper()
    if count is None or unit == "MILLISECOND":
        raise refused(node, "the number must be written there, and the unit a second or more")
    times, unit = _STEPS.get(unit, (1, unit))
    step = exp.Interval(this=text(str(count * times)), unit=exp.Var(this=unit))
    return exp.Paren(this=exp.Add(this=node.this.copy(), expression=step))


def day_of_week(node: exp.DayOfWeekIso, engine: Engine) -> exp.Expr:
    """Number days from Monday, 1, to Sunday, 7."""
    if engine == "duckdb":
        return node
    return exp.Paren(this=exp.Add(this=call("weekday", node.this), expression=exp.Literal.number(1)))


def field(node: exp.Extract, engine: Engine) -> exp.Expr:
    """Extract the day of the week and whole seconds as the functions of these names do."""
    field = node.name.upper()
    if field in ("DOW", "DAY_OF_WEEK"):
        return day_of_week(exp.DayOfWeekIso(this=node.expression.copy()), engine)
    return exp.Second(this=node.expression.copy()) if field == "SECOND" else node


def division(node: exp.Div, engine: Engine) -> exp.Expr:
    """Divide whole numbers to whole numbers, with all their digits."""
    whole = node.left.is_type(*WHOLE) and node.right.is_type(*WHOLE)
    return exp.IntDiv(this=node.left.copy(), expression=node.right.copy()) if engine == "spark" and whole else node


def at_zone(node: exp.AtTimeZone) -> exp.Expr:
    """Refuse it: the instant would differ here."""
    raise refused(node, "an instant has no zone here: all are in UTC")


def formatted(node: exp.TimeToStr | exp.StrToTime, engine: Engine) -> exp.Expr:
    """Write the format in Python's directives, which sqlglot derives from Athena's."""
    pattern = node.args["format"]
    known = isinstance(pattern, exp.Literal) and _FORMATS[engine].fullmatch(pattern.this)
    if not known:
        raise refused(node, "the format must be a text of signs that all engines know, such as '%Y-%m-%d %H:%i:%s'")
    return node


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
