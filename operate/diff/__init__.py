"""What a deployment would change, compared with the committed snapshot or the deployed templates."""

from operate.diff import snapshots
from operate.diff.comparison import Changes, Section, compare
from operate.diff.normal_form import Templates
from operate.diff.snapshots import deployed
from settings.environment import Environment

__all__ = ["Changes", "Section", "changes"]
DEPLOYED = "what is deployed"


def changes(environment: Environment, templates: Templates, *, against_deployed: bool = False) -> Changes:
    """Compare synthesized templates, by stack name, with the snapshot or the deployed stacks. Raises OperateError."""
    after = snapshots.by_stack(environment, templates)
    if against_deployed:
        before = snapshots.by_stack(environment, deployed(environment))
        return compare(environment.name, DEPLOYED, before, after)
    return compare(environment.name, snapshots.shown(environment), snapshots.read(environment), after)
