"""USD a month by changes a second, here and with what could stand in its place: `./lake dev bench costs`.

Nothing is measured: an environment's bill is `./lake aws costs`', and what grows with the changes is added: a commit in
each round, and what Kafka and the landing zone keep. Others' prices have date and source in alternatives.toml.
"""

import json
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from bench import results
from bench.cases import CASES
from operate.costs.bill import requests_of_rounds
from operate.costs.prices import Prices, load_prices
from settings.environment import Environment
from settings.load import load
from spark_jobs.runtime.archive import ROOT

RATES = (1, 100, 1000)
HEADS = ("way", *(f"{rate:,} a second" for rate in RATES), "price")
GB = 1e9
EVENTS = 1000
ALTERNATIVES = Path(__file__).with_name("alternatives.toml")


def main(
    env: Annotated[str, typer.Option("--env", "-e", help="Whose bill is the start.")] = "prod",
) -> None:
    """Print USD a month at 1, 100 and 1,000 changes a second of an order."""
    command = [sys.executable, "-m", "cli", "aws", "costs", "-e", env, "--json"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    [bill] = json.loads(done.stdout)
    event_bytes = sum(len(line.encode()) for line in CASES["copy-on-write"].first(EVENTS)) / EVENTS
    month = Month(load(env), load_prices(), bill["items"], event_bytes)
    others = tomllib.loads(ALTERNATIVES.read_text(encoding="utf-8"))["alternatives"]
    rows: list[list[results.Value]] = [["this project", *(round(month.ours(rate)) for rate in RATES), ""]]
    for other in others:
        usd = [None if "missing" in other else round(month.other(other, rate)) for rate in RATES]
        rows.append([other["name"], *usd, str(other.get("missing", other.get("read")))])
    results.show("costs", f"USD a month, {env}, events of {month.event_bytes:.0f} bytes", HEADS, rows)


@dataclass(frozen=True)
class Month:
    """A month of an environment: its bill's lines, and what a number of changes a second adds, in USD."""

    environment: Environment
    prices: Prices
    items: Sequence[Mapping[str, Any]]
    event_bytes: float

    def ours(self, rate: float) -> float:
        """Return the bill, with a commit in each round, or one for each of fewer changes than rounds."""
        landed = rate * self.event_bytes * self.environment.lake.landing_expiry_days * 24 * 3600 / GB
        kept = self._in_kafka(rate) + landed * self.prices.of("s3.storage").usd
        interval = self.environment.pipelines[0].job.sync_interval_seconds
        return self._base() + kept + requests_of_rounds(self.prices, max(interval, 1 / rate))[0]

    def other(self, other: Mapping[str, Any], rate: float) -> float:
        """Return the bill without what isn't needed, and with the units or the volume that it has in their place."""
        hours = self.prices.hours_per_month
        units: float = other.get("units", 0) * self.prices.of("connect.mcu").usd * hours
        through: float = other.get("usd_per_gb", 0) * rate * self.event_bytes * hours * 3600 / GB
        return self._base(other["without"]) + self._in_kafka(rate) + units + through

    def _base(self, without: Sequence[str] = ()) -> float:
        """Sum the bill's lines but for some, and but for the requests that it assumes."""
        left = [one for one in self.items if not one["what"].startswith("S3 requests")]
        left = [one for one in left if one["part"] not in without and not any(word in one["what"] for word in without)]
        return sum(one["usd"] or 0 for one in left)

    def _in_kafka(self, rate: float) -> float:
        """Return the USD of volumes beyond those of the bill; each broker may have a copy of each event."""
        streaming = self.environment.streaming
        copies = min(streaming.brokers, 3)
        needed = rate * self.event_bytes * streaming.topic_retention_hours * 3600 * copies / GB
        return max(needed - streaming.brokers * streaming.volume_gb, 0) * self.prices.of("msk.storage").usd
