"""What a deployment would change, compared with what was reviewed last, what is deployed, or other settings."""

from operate.diff import reviewed, snapshots
from operate.diff.comparison import Changes, Section, compare
from operate.diff.normal_form import Templates
from settings.environment import Environment

__all__ = ["Changes", "Section", "changes", "changes_between"]


def changes(environment: Environment, templates: Templates, *, against: str | None = None) -> Changes:
    """Compare synthesized templates, by stack name, with the snapshots of a git revision, the last reviewed by default.

    Raises OperateError where there is nothing to compare with, among them the commit that renewed the snapshots.
    """
    revision = reviewed.revision(environment.name, against)
    before = reviewed.read(environment, revision)
    found = compare(environment.name, str(revision), before, snapshots.by_stack(environment, templates))
    if revision.own and not found.any:
        raise reviewed.not_compared("HEAD is on the main branch, and nothing differs from its own snapshots")
    return found


def changes_between(environment: Environment, base: str, before: Templates, after: Templates) -> Changes:
    """Compare templates of one environment, by stack name; `base` says what `before` is."""
    return compare(environment.name, base, *(snapshots.by_stack(environment, side) for side in (before, after)))
