"""Checks an environment's budget against its cost: a budget below it would raise an alarm every month."""

from operate.costs.bill import items, total
from operate.costs.prices import Prices
from operate.errors import OperateError
from settings.environment import Environment

KEY = "budget.monthly_usd"
# Suggested amounts are multiples of this, USD.
STEP = 10


def budget_problem(environment: Environment, prices: Prices) -> str | None:
    """Return what is wrong with a budget, in one line; None if it covers the always-on cost.

    None, too, without prices.
    """
    try:
        usd = total(items(environment, prices))
    except OperateError:
        return None
    if environment.budget.monthly_usd >= usd:
        return None
    enough = int(-(-usd // STEP) * STEP)
    return (
        f"environments/{environment.name}.toml: {KEY}: {environment.budget.monthly_usd:,} is less than the environment "
        f"costs, always on: its alarm would come every month. Set {enough:,} or more"
    )
