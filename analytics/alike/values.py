"""Casts, conditions, dates and times."""

import re

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
