"""The walk-through of `make demo`: orders with their lines, through the outbox, the log and Kafka."""

from dataclasses import dataclass

from local.comparison.report import print_comparison
from local.demo.display import Display
from local.demo.order_changes import CHANGES
from local.demo.summary import Proof, count
from local.demo.walk import WalkThrough, compare
from local.platform.platform import Platform
from local.platform.services import PlatformOptions


@dataclass(frozen=True, kw_only=True)
class OrdersProof(Proof):
    """What is counted of the orders in the end; `events` are the topic's."""

    events: int

    @property
    def counted(self) -> str:
        """The change events."""
        return f"{self.events:,} events"


def prove(platform: Platform, display: Display) -> OrdersProof:
    """Reconcile, and count the change events and what the job has put aside."""
    found, quarantined = compare(platform, display)
    for one in found:
        print_comparison(display.console, one)
    return OrdersProof(**count(found), quarantined=quarantined, events=platform.topic.count())


ORDERS_DEMO = WalkThrough(name="demo", options=PlatformOptions(), changes=CHANGES, prove=prove)
