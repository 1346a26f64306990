"""What the environment costs a month, line by line, and what isn't counted."""

from typing import NamedTuple

from operate.costs.bill import confirmed, items, total, unknown
from operate.costs.prices import load_prices
from operate.costs.report import NOT_IN_IT, TENS, figures
from operate.errors import OperateError
from operate.review.rows import Section, Table
from stacks.gate.template import App


class Cost(NamedTuple):
    """The bill in a sentence, its lines as shown (what, part, quantity, USD each and a month), or why there is none."""

    words: str
    lines: tuple[tuple[str, ...], ...] = ()


def cost(app: App) -> Cost:
    """Work out the bill; for a region without prices the words say so."""
    try:
        found = items(app, load_prices())
    except OperateError as error:
        return Cost(str(error))
    usd, sure = (round(of(found), TENS) for of in (total, confirmed))
    without = "; ".join(item.what for item in unknown(found))
    lacking = f", without {without}, whose prices aren't known" if without else ""
    budget = f"; its budget is {budget:,} USD" if (budget := app.settings.budget.monthly_usd) else ""
    words = f"about {usd:,.0f} USD a month, {sure:,.0f} USD of it at confirmed prices{lacking}{budget}"
    return Cost(words, tuple((item.what, item.part, *figures(item)) for item in found))


def section(bill: Cost) -> Section:
    words = f"{bill.words[0].upper()}{bill.words[1:]}. {NOT_IN_IT}"
    heads = ("What", "Part", "How many", "USD each", "USD a month")
    lines = Table("USD a month, by resource; ~ marks an estimated price or amount", heads, bill.lines, narrow=True)
    return Section(title="Cost", shown=(words,), fold=f"All {len(bill.lines)} lines of the bill", folded=(lines,))
