"""An environment's budget against what it costs: a budget below that would raise an alarm every month."""

from operate.costs.bill import items, total
from operate.costs.prices import Prices
from operate.errors import OperateError
from settings.environment import Environment

KEY = "budget.monthly_usd"
# The next amount that fits is said in these steps, USD.
STEP = 10


def budget_problem(environment: Environment, prices: Prices) -> str | None:
    """Say what is wrong with a budget, in one line; None where it covers what is always on.

    Without prices there is no answer.
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
