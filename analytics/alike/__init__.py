"""Gives Athena's functions the same meaning in DuckDB and Spark, where sqlglot leaves a difference.

tests/analytics/alike/ proves it with cases and Trino's answers. What can't be the same is refused here, or missing from
`analytics/translate.py`. A column's type is unknown at translation: where it matters, the engine's own `typeof`
decides.
"""

from collections.abc import Callable
from typing import cast

from sqlglot import exp

from analytics.alike import texts, values
from analytics.alike.parts import Engine, TranslationError, refused

Way = Callable[[exp.Expr], exp.Expr]


def reword(statement: exp.Expr, engine: Engine, *, first: Way = lambda node: node) -> exp.Expression:
    """Return the statement for the engine, but for what `first` changes. Raises TranslationError for what can't be."""
    holder = exp.Paren(this=statement)
    # Inner parts first: they move along when their parent is replaced.
    for node in reversed(list(statement.walk())):
        made, kind = first(node), type(node)
        if made is node and kind in _IN_BOTH:
            made = _IN_BOTH[kind](node)
        elif made is node and kind in _BY_ENGINE:
            made = _BY_ENGINE[kind](node, engine)
        if made is not node:
            made.type = made.type or node.type
            node.replace(made)
    return cast(exp.Expression, holder.this)


def _fetch(node: exp.Fetch) -> exp.Expr:
    options = node.args.get("limit_options")
    if options and (options.args.get("with_ties") or options.args.get("percent")):
        raise TranslationError("WITH TIES isn't the same here: use rank() in a subquery")
    return node


_IN_BOTH: dict[type[exp.Expr], Callable[..., exp.Expr]] = {
    exp.Trim: texts.trim,
    exp.Substring: texts.substring,
    exp.Split: texts.split,
    exp.Replace: texts.replace,
    exp.StrPosition: texts.position,
    exp.RegexpExtract: texts.extract,
    exp.AtTimeZone: values.at_zone,
    exp.JSONExtract: values.standard_json,
    exp.JSONValue: values.standard_json,
    exp.ArrayMax: values.array_extreme,
    exp.ArrayMin: values.array_extreme,
    exp.ArrayPosition: values.array_position,
    exp.ArraySort: values.array_sort,
    exp.Fetch: _fetch,
}
_BY_ENGINE: dict[type[exp.Expr], Callable[..., exp.Expr]] = {
    exp.Upper: texts.upper,
    exp.Lower: texts.lower,
    exp.SplitPart: texts.split_part,
    exp.RegexpReplace: texts.regexp_replace,
    exp.Like: texts.like,
    exp.Div: values.division,
    exp.Greatest: values.extreme,
    exp.Least: values.extreme,
    exp.If: values.if_,
    exp.Cast: values.cast_,
    exp.TryCast: values.cast_,
    exp.DateDiff: values.date_diff,
    exp.DateAdd: values.date_add,
    exp.DayOfWeekIso: values.day_of_week,
    exp.Extract: values.field,
    exp.TimeToStr: values.formatted,
    exp.StrToTime: values.formatted,
    exp.JSONExtractScalar: values.scalar,
    exp.ArrayContains: values.contains,
    exp.ArgMax: values.by("arg_max_null"),
    exp.ArgMin: values.by("arg_min_null"),
}
__all__ = ["Engine", "refused", "reword"]
