"""What a deployment would change, against the committed snapshot of the templates or against what is deployed."""

from operate.diff import snapshots
from operate.diff.comparison import Changes, Section, compare
from operate.diff.deployed import deployed
from operate.diff.normal_form import Templates
from settings.environment import Environment

__all__ = ["Changes", "Section", "changes"]
DEPLOYED = "what is deployed"


def changes(environment: Environment, templates: Templates, *, against_deployed: bool = False) -> Changes:
    """Compare synthesized templates, by stack name, with the environment's snapshot, or with what is deployed.

    Raises OperateError: no snapshot, CDK's comparison isn't installed, no credentials or somebody else's.
    """
    after = snapshots.by_stack(environment, templates)
    if against_deployed:
        before = snapshots.by_stack(environment, deployed(environment))
        return compare(environment.name, DEPLOYED, before, after)
    return compare(environment.name, snapshots.shown(environment), snapshots.read(environment), after)
