"""What the environment costs a month, line by line, and what isn't counted."""

from dataclasses import dataclass

from operate.costs.bill import confirmed, items, total, unknown
from operate.costs.prices import Prices, load_prices
from operate.costs.report import NOT_IN_IT, figures
from operate.errors import OperateError
from settings.environment import Environment

TENS = -1


@dataclass(frozen=True, kw_only=True)
class Cost:
    """The bill in USD a month; `usd` None: unknown, and `problem` says why.

    `lines` as shown: what, part, quantity, USD each and a month; `~` marks an estimate.
    """

    lines: tuple[tuple[str, ...], ...] = ()
    usd: int | None = None
    sure: int | None = None
    unknown: tuple[str, ...] = ()
    budget: int | None = None
    not_counted: str = NOT_IN_IT
    problem: str = ""

    @property
    def words(self) -> str:
        if self.usd is None:
            return self.problem
        lacking = f", without {'; '.join(self.unknown)}, whose prices aren't known" if self.unknown else ""
        budget = f"; its budget is {self.budget:,} USD" if self.budget else ""
        return f"about {self.usd:,} USD a month, {self.sure:,} USD of it at confirmed prices{lacking}{budget}"


def cost(environment: Environment, prices: Prices | None = None) -> Cost:
    """Work out the bill; a region without prices is a problem on the page, not an error."""
    try:
        found = items(environment, prices or load_prices())
    except OperateError as error:
        return Cost(problem=str(error))
    return Cost(
        lines=tuple((item.what, item.part, *figures(item)) for item in found),
        usd=int(round(total(found), TENS)),
        sure=int(round(confirmed(found), TENS)),
        unknown=tuple(item.what for item in unknown(found)),
        budget=environment.budget.monthly_usd,
    )
