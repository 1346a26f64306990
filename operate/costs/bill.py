"""An environment's monthly cost, line by line: what its templates have, at the prices of the table."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from operate.costs.lines import FREE, FUNCTIONS_LOG, LINES, LOGS, Line, Stopping, machines, value
from operate.costs.prices import HOUR, Price, Prices
from operate.errors import OperateError
from stacks.gate.template import App, Subject

DAYS_PER_MONTH = 30.4
_PATH = re.compile(r"\{([\w.]+)\}")
# CDK's, at the end of a logical id.
_HASH = re.compile(r"[0-9A-F]{8}$")


@dataclass(frozen=True, kw_only=True)
class Item:
    """A line of the bill: quantity, item and unit price; `price` None: not in the table.

    `assumed`: the quantity is an assumption of the table. `stopping`: the part of a pause that stops it.
    """

    part: str
    what: str
    quantity: float
    price: Price | None
    hours: int
    assumed: bool = False
    stopping: Stopping | None = None

    @property
    def usd(self) -> float | None:
        """USD a month; None for an unknown price."""
        if self.price is None:
            return None
        return self.quantity * self.price.usd * (self.hours if self.price.unit == HOUR else 1)

    @property
    def estimate(self) -> bool:
        """Whether price or quantity is a guess."""
        return self.assumed or (self.price is not None and self.price.estimate)


def items(app: App, prices: Prices) -> list[Item]:
    """Return the bill's lines, part by part. Raises OperateError for a region without prices."""
    environment = app.settings
    if environment.region != prices.region:
        raise OperateError(
            f"operate/costs/prices.toml has the prices of {prices.region}, not those of {environment.region}, where "
            f"{environment.name} is"
        )
    found: dict[tuple[str, str], Item] = {}
    unlisted = (each for each in app.subjects if each.type not in LINES and not re.fullmatch(FREE, each.type))
    without_price = (item for each in unlisted for item in _item(Line(each.type, ""), each, prices))
    for item in (*_paid(app, prices), *_logs(app, prices), *without_price):
        same = found.get(key := (item.part, item.what))
        found[key] = replace(item, quantity=item.quantity + (same.quantity if same else 0))
    parts = [*dict.fromkeys(part for part, _ in found)]
    return sorted(found.values(), key=lambda item: parts.index(item.part))


def total(lines: list[Item]) -> float:
    """Sum of all known lines, in USD a month."""
    return sum(line.usd or 0 for line in lines)


def confirmed(lines: list[Item]) -> float:
    """Sum of the lines that aren't guesses, in USD a month."""
    return total([line for line in lines if not line.estimate])


def unknown(lines: list[Item]) -> list[Item]:
    """Lines without a price, which the total omits."""
    return [line for line in lines if line.price is None]


def requests_of_rounds(prices: Prices, interval_seconds: float) -> tuple[float, float]:
    """Return the USD a month of a table's requests if each round commits, and if none finds anything: one LIST each.

    Its claim's are part of both.
    """
    rounds = prices.hours_per_month * 3600 / interval_seconds / 1000
    dear, cheap, commit = prices.of("s3.requests").usd, prices.of("s3.reads").usd, prices.job_requests
    claim = prices.hours_per_month * commit["claim_an_hour"] / 1000 * dear
    return claim + rounds * (commit["puts_and_lists"] * dear + commit["reads"] * cheap), claim + rounds * dear


def _paid(app: App, prices: Prices) -> Iterator[Item]:
    for type_, lines in LINES.items():
        resources = [*app.resources(type_)]
        for line in lines:
            for each in resources[: 1 if line.together else None]:
                yield from _item(line, each, prices)


def _item(line: Line, each: Subject, prices: Prices) -> Iterator[Item]:
    """Yield what a resource costs, unless it is nothing; without a price if its properties can't be read."""
    prefix = f"{each.settings.prefix}-"
    item = Item(
        part=line.part or each.stack.removeprefix(prefix),
        what=line.what,
        quantity=1,
        price=None,
        hours=prices.hours_per_month,
        assumed=line.together,
        stopping=line.stopping,
    )
    try:
        if quantity := _quantity(line, each, prices):
            what, name = (_PATH.sub(lambda path: str(value(path[1], each)), text) for text in (line.what, line.price))
            price = prices.find(name, line.share)
            yield replace(item, what=what.replace(prefix, ""), quantity=quantity, price=price)
    except (TypeError, ValueError):
        yield replace(item, what=f"{line.what} of {each.id}")


def _quantity(line: Line, each: Subject, prices: Prices) -> float:
    if line.together:
        return (prices.usage[line.usage] if line.usage else 1) * (line.per(each.app) if line.per else 1)
    number = value(line.number, each) if line.number else machines(each)
    return float(number and number * value(line.times, each))


def _logs(app: App, prices: Prices) -> Iterator[Item]:
    """Yield each log's ingestion once, and together what is kept of them for as long as their groups say."""
    groups, kept = [*app.resources("AWS::Logs::LogGroup")], 0.0
    lines = {LOGS.get(_HASH.sub("", group.id), FUNCTIONS_LOG): group for group in groups}
    for line, group in lines.items():
        for item in _item(line, group, prices):
            yield item
            days = group.get("RetentionInDays")
            kept += item.quantity * (days if isinstance(days, int) else 0) / DAYS_PER_MONTH
    for group in groups[:1]:
        yield from _item(Line("kept, GB", "logs.storage", per=lambda _: round(kept, 1), part="logs"), group, prices)
