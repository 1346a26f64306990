"""What an environment costs by the hours a week that it is on, and paused for the rest (operate/pausing)."""

from collections.abc import Mapping
from dataclasses import dataclass

from operate.costs.bill import Item, total
from operate.pausing.what_stops import AURORA, CONNECTORS, EMR, NODES, WHAT_STOPS, Stopping

HOURS_A_WEEK = 7 * 24
_TO_KNOW: Mapping[Stopping, str] = {
    EMR: "its job goes on from its last commit.",
    CONNECTORS: "their slots keep what they haven't read: a database that runs on meanwhile fills its disk.",
    NODES: "their connectors' slots keep what they haven't read; the cluster without nodes goes on, and is paid for.",
    AURORA: "AWS starts them again after 7 days.",
}


@dataclass(frozen=True, kw_only=True)
class Hint:
    """What a pause switches off, what that saves in USD a month of pause, and what to know before."""

    what: str
    usd: float
    to_know: str


def hints(lines: list[Item]) -> list[Hint]:
    """Return the parts that a pause stops, the most expensive first."""
    found = [
        Hint(what=each.what, usd=_of(lines, each), to_know=_TO_KNOW[each]) for each in WHAT_STOPS if _of(lines, each)
    ]
    return sorted(found, key=lambda hint: -hint.usd)


def at_hours(lines: list[Item], hours: float) -> float:
    """Return USD a month with so many hours a week on, and paused for the rest."""
    off = 1 - hours / HOURS_A_WEEK
    return total(lines) - off * sum(_of(lines, each) for each in WHAT_STOPS)


def _of(lines: list[Item], stopping: Stopping) -> float:
    return total([line for line in lines if line.stopping == stopping])
