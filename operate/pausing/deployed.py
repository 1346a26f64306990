"""How far an environment is paused, according to its deployed stacks, and whether that can be changed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import boto3

from operate.diff import snapshots
from operate.diff.normal_form import Templates
from operate.diff.snapshots import template
from operate.errors import OperateError
from operate.outputs import QUICK, one_line, stacks_of
from settings.environment import Environment
from stacks.paused import OUTPUT, Paused

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient

# The stacks that a pause changes, without the environment's prefix.
MONITORING, CONNECTORS, KUBERNETES, PROCESSING = "monitoring", "connectors", "kubernetes", "processing"
# The stack that refuses other deployments meanwhile.
GUARD = "guard"


@dataclass(frozen=True, kw_only=True)
class Deployed:
    """An environment's stacks by name without its prefix: CloudFormation's status, and what each leaves out."""

    environment: Environment
    statuses: Mapping[str, str]
    paused: Mapping[str, Paused]

    def left_out(self, stack: str) -> Paused:
        return self.paused.get(stack, Paused.NOTHING)

    @property
    def pausing(self) -> tuple[str, ...]:
        kubernetes = (KUBERNETES,) if self.environment.eks is not None else ()
        return (MONITORING, CONNECTORS, *kubernetes, PROCESSING)

    @property
    def runs(self) -> bool:
        """Whether nothing is left out."""
        return all(self.left_out(stack) is Paused.NOTHING for stack in (GUARD, *self.pausing))

    def check_settled(self, *, creates: bool = False) -> None:
        """Raise OperateError while a deployment runs, or where none is possible.

        `creates`: a deployment follows, which first removes stacks that were never made.
        """
        prefix = self.environment.prefix
        if missing := [stack for stack in self.pausing if stack not in self.statuses]:
            raise OperateError(
                f"{self.environment.name} isn't deployed: in {self.environment.region} there is no stack "
                f"{', '.join(f'{prefix}-{stack}' for stack in missing)}"
            )
        for stack, status in self.statuses.items():
            if creates and stack not in self.pausing and status in snapshots.EMPTY:
                continue
            if status.endswith("_IN_PROGRESS"):
                raise OperateError(
                    f"{prefix}-{stack} is {status}: wait until that deployment has ended, then run this again"
                )
            if status.endswith("_FAILED") or status == "ROLLBACK_COMPLETE":
                raise OperateError(
                    f"{prefix}-{stack} is {status}: repair it first (docs/aws/deploy.md#roll-back), then run this again"
                )


def look(client: "CloudFormationClient", environment: Environment) -> Deployed:
    statuses, paused = {}, {}
    for stack in stacks_of(client, environment):
        name = stack["StackName"].removeprefix(f"{environment.prefix}-")
        statuses[name] = stack["StackStatus"]
        outputs = {output.get("OutputKey"): output.get("OutputValue") for output in stack.get("Outputs", [])}
        if said := outputs.get(OUTPUT):
            paused[name] = _left_out(stack["StackName"], said)
    return Deployed(environment=environment, statuses=statuses, paused=paused)


def check_runs(session: boto3.Session, environment: Environment) -> None:
    """Raise OperateError while the environment is paused or partly paused."""
    with one_line(environment):
        runs = look(session.client("cloudformation", config=QUICK), environment).runs
    if not runs:
        raise OperateError(
            f"{environment.name} is paused: first `./lake aws resume -e {environment.name}` (docs/aws/pause.md)"
        )


def differing(
    client: "CloudFormationClient", deployed: Deployed, synthesized: Callable[[Paused], Templates]
) -> list[str]:
    """Return the stacks whose templates from this checkout differ from the deployed ones.

    `synthesized` creates the environment's templates with those parts left out. Asset hashes don't count.
    """
    environment, found = deployed.environment, []
    for stack in deployed.pausing:
        name = f"{environment.prefix}-{stack}"
        here = {name: synthesized(deployed.left_out(stack))[name]}
        there = {name: template(client, name)}
        if snapshots.by_stack(environment, here) != snapshots.by_stack(environment, there):
            found.append(stack)
    return found


def _left_out(stack: str, said: str) -> Paused:
    try:
        return Paused(said)
    except ValueError:
        raise OperateError(
            f"{stack} says {OUTPUT} = {said}, which this checkout doesn't know: take a newer one"
        ) from None
