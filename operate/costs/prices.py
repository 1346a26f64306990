"""The price table, operate/costs/prices.toml: each price has its date and its source."""

import datetime
import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict

HOUR = "hour"
# EC2 user guide, "Instance size flexibility": within a family the price doubles with each size.
SIZES = ("nano", "micro", "small", "medium", "large", "xlarge", "2xlarge", "4xlarge", "8xlarge")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Row(_Part):
    """A row of the table: USD, when and where it was read, and whether it is only an estimate for the region."""

    name: str
    usd: float
    read: datetime.date
    source: str
    estimate: bool = False


class Price(Row):
    """The price of one unit; for the unit `hour`, per hour."""

    unit: str


class Family(Row):
    """The hourly price of one size of an instance family; the other sizes follow from it."""

    size: str


class Prices(_Part):
    """The whole table, for one region; the file says what each number of the last two counts."""

    region: str
    hours_per_month: int
    read: datetime.date
    families: dict[str, Family]
    prices: dict[str, Price]
    job_requests: dict[str, int]
    usage: dict[str, float]

    @property
    def rows(self) -> list[Row]:
        return [*self.prices.values(), *self.families.values()]

    def of(self, name: str) -> Price:
        return self.prices[name]

    def find(self, name: str, share: str = "") -> Price | None:
        """Return the price of this name or instance type, or a `share` of it; None if the table lacks it."""
        price = self.prices.get(name) or self._of_type(name)
        if price is None or not share:
            return price
        of_it = self.of(share)
        return of_it.model_copy(update={"usd": price.usd * of_it.usd, "unit": HOUR})

    def _of_type(self, type_: str) -> Price | None:
        family_name, _, size = type_.rpartition(".")
        family = self.families.get(family_name)
        if family is None or size not in SIZES:
            return None
        usd = family.usd * 2.0 ** (SIZES.index(size) - SIZES.index(family.size))
        return Price(**family.model_dump(exclude={"size", "usd"}), usd=usd, unit=HOUR)


def load_prices() -> Prices:
    values = tomllib.loads(Path(__file__).with_name("prices.toml").read_text(encoding="utf-8"))
    for kind in ("families", "prices"):
        values[kind] = {name: {"name": name, "read": values["read"], **row} for name, row in values[kind].items()}
    return Prices.model_validate(values)
