"""Texts and regular expressions."""

from sqlglot import exp

from analytics.alike.parts import Engine, call, needs_text, number, or_null, refused, text

# Characters that Athena trims.
_BLANKS = (
    " \t\n\x0b\x0c\r\x1c\x1d\x1e\x1f\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2008\u2009\u200a\u2028\u2029"
    "\u205f\u3000"
)
_HAVE_LONGER_CAPITALS = (0xDF, 0x149, 0x1F0, 0x390, 0x3B0, 0x587, *range(0x1E96, 0x1FFD), *range(0xFB00, 0xFB18))
# Letters whose capital has several letters in Java; Athena has one, or none.
_LONGER = "".join(letter for letter in map(chr, _HAVE_LONGER_CAPITALS) if len(letter.upper()) > 1)
# Placeholders for them that no text contains.
_MARKS = "".join(chr(0x10_0000 + number_) for number_ in range(len(_LONGER)))
_CAPITALS = "".join(letter.title() if len(letter.title()) == 1 else letter for letter in _LONGER)


def trim(node: exp.Trim) -> exp.Expr:
    """Trim all blanks, not only the space."""
    if node.expression is None or not node.args.get("expression"):
        node.set("expression", text(_BLANKS))
        node.set("position", node.args.get("position") or "BOTH")
    return node


def upper(node: exp.Upper, engine: Engine) -> exp.Expr:
    """Map each letter to one letter: ß stays ß."""
    letters = _LONGER if engine == "spark" else _LONGER[:1]
    marked = exp.Upper(this=call("translate", node.this, letters, _MARKS[: len(letters)]))
    return call("translate", marked, _MARKS[: len(letters)], _CAPITALS[: len(letters)])


def lower(node: exp.Lower, engine: Engine) -> exp.Expr:
    """Undo Java's differences: another letter at a word's end, and two letters for İ."""
    return exp.Lower(this=call("translate", node.this, "İΣ", "iσ")) if engine == "spark" else node  # noqa: RUF001


def substring(node: exp.Substring) -> exp.Expr:
    """Return nothing for a start outside the text or a length below 0."""
    start, length = node.args["start"], node.args.get("length")
    if (number(start) or 0) < 1:
        size = exp.Length(this=node.this.copy())
        outside = exp.or_(exp.EQ(this=start.copy(), expression=exp.Literal.number(0)),
                          exp.LT(this=start.copy(), expression=exp.Neg(this=size)))  # fmt: skip
        behind = exp.Add(this=size.copy(), expression=exp.Literal.number(1))
        node.set("start", exp.Case().when(outside, behind).else_(start.copy()))
    if length is not None and (number(length) is None or int(number(length) or 0) < 0):
        negative = exp.LT(this=length.copy(), expression=exp.Literal.number(0))
        node.set("length", exp.Case().when(negative, exp.Literal.number(0)).else_(length.copy()))
    return node


def split(node: exp.Split) -> exp.Expr:
    """Refuse a limit."""
    if node.args.get("limit"):
        raise refused(node, "only split(text, delimiter) is the same here, without a limit")
    needs_text(node, node.expression)
    return node


def split_part(node: exp.SplitPart, engine: Engine) -> exp.Expr:
    """Return NULL for a missing part."""
    delimiter, index = node.args["delimiter"], node.args["part_index"]
    needs_text(node, delimiter)
    if (number(index) or 0) < 1:
        raise refused(node, "the part must be written as a number from 1")
    parts = exp.Split(this=node.this.copy(), expression=delimiter.copy())
    return call({"duckdb": "list_extract", "spark": "try_element_at"}[engine], parts, index)


def replace(node: exp.Replace) -> exp.Expr:
    """Refuse to replace an empty text, which Athena finds between all characters."""
    needs_text(node, node.expression)
    return node


def position(node: exp.StrPosition) -> exp.Expr:
    """Refuse any occurrence but the first."""
    if node.args.get("occurrence"):
        raise refused(node, "only the first place is the same here")
    return node


def extract(node: exp.RegexpExtract) -> exp.Expr:
    """Return NULL without a match; refuse optional groups, which would give '' instead of NULL."""
    group, pattern = node.args.get("group"), node.expression
    if group is not None and number(group) != 0:
        needs_text(node, pattern)
        if any(sign in pattern.this for sign in ("|", ")?", ")*", "){")):
            raise refused(node, "a group that takes no part isn't NULL here: write a pattern without |, )?, )* and ){")
        if (number(group) or 0) > pattern.this.count("("):
            raise refused(node, "the pattern has no such group")
    return or_null(exp.RegexpLike(this=node.this.copy(), expression=pattern.copy()), node.copy())


def regexp_replace(node: exp.RegexpReplace, engine: Engine) -> exp.Expr:
    """Write group references as the engine does."""
    replacement = node.args.get("replacement")
    if not isinstance(replacement, exp.Literal) or "\\" in replacement.this or "${" in replacement.this:
        raise refused(node, "the replacement must be a text that is written there, $1 for a group, without \\ and ${")
    if engine == "duckdb":
        node.set("replacement", text(replacement.this.replace("$", "\\")))
    return node


def like(node: exp.Like, engine: Engine) -> exp.Expr:
    """Refuse what Spark would treat as an escape."""
    escaped = isinstance(node.parent, exp.Escape)
    pattern = node.expression
    if engine == "spark" and not escaped and (not isinstance(pattern, exp.Literal) or "\\" in pattern.this):
        raise refused(node, "Spark takes \\ as an escape: write a pattern without one, or ESCAPE with another sign")
    return node
