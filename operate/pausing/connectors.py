"""What a pause needs of an environment's connectors, on MSK Connect or on EKS."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import boto3

from operate.outputs import QUICK
from operate.pausing import leftovers, objections
from operate.pausing.on_eks import OnEks
from operate.pausing.waiting import Waiter
from settings.environment import Environment


class Connectors(Protocol):
    """The platform of an environment's connectors. Methods raise OperateError, and botocore's errors."""

    def check_no_repair(self) -> None:
        """Raise OperateError while a re-snapshot runs on a source connector, or was interrupted."""

    def objections(self) -> Iterator[str]:
        """Report what a pause must know about the connectors but can't find out."""

    def check_gone(self, names: Sequence[str]) -> None:
        """Check that no connector of these names exists. Raises OperateError for one that remains."""

    def say_nodes(self) -> None:
        """Wait until the environment's nodes are gone, within a limit, and name those that still cost."""


class OnMskConnect:
    """Connectors on MSK Connect, whose API shows everything."""

    def __init__(self, session: boto3.Session, environment: Environment, waiter: Waiter) -> None:
        self._client = session.client("kafkaconnect", config=QUICK)
        self._environment = environment
        self._waiter = waiter

    def check_no_repair(self) -> None:
        """As in Connectors."""
        objections.check_no_repair(self._client, self._environment)

    def objections(self) -> Iterator[str]:
        """None: MSK Connect answers, or the command ends."""
        yield from ()

    def check_gone(self, names: Sequence[str]) -> None:
        """As in Connectors."""
        leftovers.check_connectors_gone(self._client, names, self._environment.prefix, self._waiter)

    def say_nodes(self) -> None:
        """Nothing to do: it has no nodes."""


def of_environment(session: boto3.Session, environment: Environment, waiter: Waiter) -> Connectors:
    """Return the platform of the environment's connectors."""
    platform = OnEks if environment.eks is not None else OnMskConnect
    return platform(session, environment, waiter)
