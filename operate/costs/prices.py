"""The price table, operate/costs/prices.toml: each price has its date and its source."""

import datetime
import tomllib
from functools import cached_property
from pathlib import Path

from pydantic import BaseModel, ConfigDict

PRICES = Path(__file__).with_name("prices.toml")
HOUR = "hour"
# EC2 user guide, "Instance size flexibility": within a family the price is proportional to these.
NORMALIZATION_FACTORS = {
    "nano": 0.25,
    "micro": 0.5,
    "small": 1.0,
    "medium": 2.0,
    "large": 4.0,
    "xlarge": 8.0,
    "2xlarge": 16.0,
    "4xlarge": 32.0,
    "8xlarge": 64.0,
}


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
    """The whole table, for one region; the file says what each number of the last four counts."""

    region: str
    hours_per_month: int
    families: tuple[Family, ...]
    prices: tuple[Price, ...]
    counts: dict[str, int]
    commit_requests: dict[str, int]
    usage: dict[str, float]
    logs: dict[str, float]

    @cached_property
    def _by_name(self) -> dict[str, Price]:
        return {price.name: price for price in self.prices}

    @cached_property
    def _families(self) -> dict[str, Family]:
        return {family.name: family for family in self.families}

    def of(self, name: str) -> Price:
        return self._by_name[name]

    def of_instance(self, service: str, type_: str) -> Price | None:
        """Return the price of an instance type such as `m5.xlarge`, None if the table lacks it."""
        family_name, _, size = type_.partition(".")
        family = self._families.get(f"{service}.{family_name}")
        if family is None or size not in NORMALIZATION_FACTORS:
            return None
        usd = family.usd * NORMALIZATION_FACTORS[size] / NORMALIZATION_FACTORS[family.size]
        known = family.model_dump(include={"read", "source", "estimate"})
        return Price(name=f"{service}.{type_}", usd=usd, unit=HOUR, **known)


def load_prices(path: Path = PRICES) -> Prices:
    return Prices.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
