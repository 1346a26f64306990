"""An environment's cost by weekly hours, paused otherwise (operate/pausing)."""

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
    """A part that a pause switches off, its savings in USD a month of pause, and what to know first."""

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
    """USD a month at these weekly hours, paused otherwise."""
    off = 1 - hours / HOURS_A_WEEK
    return total(lines) - off * sum(_of(lines, each) for each in WHAT_STOPS)


def _of(lines: list[Item], stopping: Stopping) -> float:
    return total([line for line in lines if line.stopping == stopping])
