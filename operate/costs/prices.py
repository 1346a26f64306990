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


class Counts(_Part):
    """How many of each resource the stacks create with any settings; volumes in GiB each."""

    nat_volume_gb: int
    vpn_volume_gb: int
    emr_volume_gb: int
    eks_volume_gb: int
    connector_metrics: int
    secrets: int
    keys: int
    alarms: int
    alarms_pipeline: int
    alarms_table: int
    dashboards: int
    request_metrics: int


class Usage(_Part):
    """Assumed monthly usage of what is billed by use."""

    nat_data_gb: float
    aurora_storage_gb: float
    aurora_requests_millions: float
    lake_storage_gb: float
    s3_requests_thousands: float
    metrics: float
    athena_scanned_tb: float


class Logs(_Part):
    """Assumed GB written to CloudWatch Logs a month by each of these.

    `address`: a network interface of the VPC, whose connections the flow log records.
    """

    address: float
    database: float
    broker: float
    worker: float
    functions: float


class CommitRequests(_Part):
    """S3 requests per commit of the streaming job: at the price of a PUT, and at that of a GET."""

    puts_and_lists: int
    reads: int


class Prices(_Part):
    """The whole table, for one region."""

    region: str
    hours_per_month: int
    families: tuple[Family, ...]
    prices: tuple[Price, ...]
    counts: Counts
    commit_requests: CommitRequests
    usage: Usage
    logs: Logs

    @cached_property
    def _by_name(self) -> dict[str, Price]:
        return {price.name: price for price in self.prices}

    @cached_property
    def _families(self) -> dict[str, Family]:
        return {family.name: family for family in self.families}

    def of(self, name: str) -> Price:
        """Return the price of an item that the table must have."""
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
