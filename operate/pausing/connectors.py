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
    """What runs an environment's connectors. Methods raise OperateError, and botocore's errors."""

    def check_no_repair(self) -> None:
        """Raise OperateError while a re-snapshot is at work on a source connector, or was broken off."""

    def objections(self) -> Iterator[str]:
        """Report what a pause would have to know about them and can't."""

    def check_gone(self, names: Sequence[str]) -> None:
        """Return when there is no connector of these names. Raises OperateError for one that stays."""

    def say_nodes(self) -> None:
        """Wait until the environment's nodes are gone, within a limit, and name those that still cost."""


class OnMskConnect:
    """Connectors on MSK Connect, whose API says everything."""

    def __init__(self, session: boto3.Session, environment: Environment, waiter: Waiter) -> None:
        self._client = session.client("kafkaconnect", config=QUICK)
        self._environment = environment
        self._waiter = waiter

    def check_no_repair(self) -> None:
        """As Connectors says."""
        objections.check_no_repair(self._client, self._environment)

    def objections(self) -> Iterator[str]:
        """Nothing: MSK Connect answers, or the command ends."""
        yield from ()

    def check_gone(self, names: Sequence[str]) -> None:
        """As Connectors says."""
        leftovers.check_connectors_gone(self._client, names, self._environment.prefix, self._waiter)

    def say_nodes(self) -> None:
        """Nothing: there are none."""


def of_environment(session: boto3.Session, environment: Environment, waiter: Waiter) -> Connectors:
    """Return what runs the environment's connectors."""
    platform = OnEks if environment.eks is not None else OnMskConnect
    return platform(session, environment, waiter)
