"""Writes an environment's bill as text, no more precisely than its prices are known."""

from collections.abc import Iterable, Iterator

from operate.costs.bill import Item, confirmed, items, requests_of_rounds, total, unknown
from operate.costs.lines import WHAT_STOPS, Stopping
from operate.costs.prices import HOUR, Prices
from operate.text import columns
from settings.environment import Environment
from stacks.gate.template import App

TENS = -1
# Rounds of the table of request costs, seconds.
INTERVALS = (5, 15, 60, 300, 900)
HOURS_A_WEEK = 7 * 24
# Weekly hours: always on, daytime, working days, one day, never.
HOURS = (HOURS_A_WEEK, 60, 40, 10, 0)
# The overview's working week.
SHOWN_HOURS = 40
NOT_IN_IT = (
    "Not in it: tax, data between zones and to the internet, QuickSight's users. Lambda, Glue and SNS are cents."
)
KEY = "budget.monthly_usd"
# Suggested amounts are multiples of this, USD.
STEP = 10


def report(app: App, prices: Prices, hours: float | None = None) -> str:
    """Return the bill with its total, how sure that is, and the cost at `hours` a week. Raises OperateError."""
    environment, lines = app.settings, items(app, prices)
    parts = [
        _table(lines),
        _total(environment, lines),
        _rounds(environment, prices),
        _hours(environment, lines, hours),
        _hints(environment, lines),
        _notes(prices),
    ]
    return "\n\n".join(filter(None, ("\n".join(part) for part in parts)))


def _table(lines: list[Item]) -> Iterator[str]:
    rows = [("part", "what", "how many", "USD each", "USD a month")]
    before = ""
    for line in lines:
        rows.append((line.part if line.part != before else "", line.what, *figures(line)))
        before = line.part
    return columns(rows, left=2)


def figures(line: Item) -> tuple[str, str, str]:
    """Format a line's quantity, USD each and USD a month; `~` marks an estimate."""
    quantity = f"{line.quantity:,g}"
    if line.price is None:
        return quantity, "", "unknown price"
    each = f"{line.price.usd:.4f}".rstrip("0").rstrip(".") + ("/h" if line.price.unit == HOUR else "")
    return quantity, each, ("~" if line.estimate else "") + _rounded(line.usd or 0)


def _rounded(usd: float) -> str:
    return "<1" if 0 < usd < 1 else f"{usd:,.0f}"


def overview(apps: Iterable[App], prices: Prices, hours: float = SHOWN_HOURS) -> str:
    """Return a Markdown table of each environment's cost, always on and at some weekly hours. Raises OperateError."""
    rows = [
        f"| environment | always on, USD a month | {hours:g} hours a week on, else paused | budget |",
        "|---|---:|---:|---:|",
    ]
    for app in apps:
        environment, lines = app.settings, items(app, prices)
        always, paused = (f"~{_tens(at_hours(lines, each))}" for each in (HOURS_A_WEEK, hours))
        rows.append(f"| {environment.name} | {always} | {paused} | {environment.budget.monthly_usd:,} |")
    return "\n".join(rows)


def figures_of(app: App, prices: Prices, hours: float | None = None) -> dict[str, object]:
    """Return the bill for programs: USD a month, by item, and by weekly hours. Raises OperateError."""
    environment, lines = app.settings, items(app, prices)
    return {
        "environment": environment.name,
        "usd_a_month": total(lines),
        "budget_usd": environment.budget.monthly_usd,
        "items": [{"part": one.part, "what": one.what, "quantity": one.quantity, "usd": one.usd} for one in lines],
        "hours_a_week": {f"{each:g}": at_hours(lines, each) for each in (*HOURS, *([] if hours is None else [hours]))},
    }


def _tens(usd: float) -> str:
    return f"{round(usd, TENS):,.0f}"


def _total(environment: Environment, lines: list[Item]) -> Iterator[str]:
    known, all_ = (f"{_tens(usd)} USD" for usd in (confirmed(lines), total(lines)))
    yield f"{environment.name} costs about {all_} a month; {known} of it at confirmed prices"
    problem = budget_problem(environment, total(lines))
    yield problem or f"Its budget is {environment.budget.monthly_usd:,} USD a month (budget.monthly_usd)"
    if missing := unknown(lines):
        what = "; ".join(line.what for line in missing)
        yield f"incomplete: operate/costs has no price for {what}"
    least, most = environment.processing.core_instances, environment.processing.maximum_core_instances
    if most > least:
        yield f"with {least} core instances; managed scaling goes up to {most}"


def _rounds(environment: Environment, prices: Prices) -> Iterator[str]:
    """The effect of `sync_interval_seconds`: the requests of a job that always commits, and of an idle one."""
    yield "S3 requests of one table's job, USD a month, by sync_interval_seconds:"
    chosen = {
        seconds
        for pipeline in environment.pipelines
        for table in pipeline.captured.tables
        if (seconds := pipeline.sizes(table).sync_interval_seconds)
    }
    rows = [("every", "a commit each time", "nothing new")]
    for seconds in sorted(chosen | set(INTERVALS)):
        busy, idle = requests_of_rounds(prices, seconds)
        rows.append((f"{seconds} s", f"~{_rounded(busy)}", f"~{_rounded(idle)}"))
    yield from (f"  {row}" for row in columns(rows, left=0))


def _hours(environment: Environment, lines: list[Item], chosen: float | None) -> Iterator[str]:
    if environment.production and chosen is None:
        return
    yield "Cost by weekly hours, paused otherwise:"
    shown = sorted({*HOURS, *([] if chosen is None else [chosen])}, reverse=True)
    rows = [("hours a week", "USD a month"), *((f"{each:g}", f"~{_tens(at_hours(lines, each))}") for each in shown)]
    yield from (f"  {row}" for row in columns(rows, left=0))


def _hints(environment: Environment, lines: list[Item]) -> Iterator[str]:
    if environment.production:
        return
    yield "What a pause switches off, and what that saves a month:"
    for stopping, usd in hints(lines):
        yield f"  {stopping.what}: {_tens(usd)} USD; {stopping.to_know}"
    yield f"  `./lake aws pause -e {environment.name}` does it, `./lake aws resume -e {environment.name}` ends it."
    neither = "Neither MSK nor EKS's control plane can" if environment.eks is not None else "MSK can't"
    yield f"  {neither} be stopped, only deleted; NAT, VPN, disks and what is stored stay, too."


def _notes(prices: Prices) -> Iterator[str]:
    read = max(row.read for row in prices.rows)
    yield (
        f"Prices of {prices.region}, on demand, {prices.hours_per_month} hours a month, as of {read}. ~ marks an "
        "estimate, of the price or of the amount: operate/costs/prices.toml says where each is from."
    )
    yield NOT_IN_IT


def budget_problem(environment: Environment, usd: float) -> str | None:
    """Say what is wrong with a budget, in a line; None if it covers what the environment costs always on."""
    if environment.budget.monthly_usd >= usd:
        return None
    enough = int(-(-usd // STEP) * STEP)
    return (
        f"environments/{environment.name}.toml: {KEY}: {environment.budget.monthly_usd:,} is less than the environment "
        f"costs, always on: its alarm would come every month. Set {enough:,} or more"
    )


def hints(lines: list[Item]) -> list[tuple[Stopping, float]]:
    """Return the parts that a pause stops and what a month of it saves in USD, the most expensive first."""
    found = [(each, usd) for each in WHAT_STOPS if (usd := _of(lines, each))]
    return sorted(found, key=lambda hint: -hint[1])


def at_hours(lines: list[Item], hours: float) -> float:
    """USD a month at these weekly hours, paused otherwise."""
    off = 1 - hours / HOURS_A_WEEK
    return total(lines) - off * sum(_of(lines, each) for each in WHAT_STOPS)


def _of(lines: list[Item], stopping: Stopping) -> float:
    return total([line for line in lines if line.stopping == stopping])
