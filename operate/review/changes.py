"""Changes that a deployment would make to the committed snapshot, for the verdict."""

from operate import diff
from operate.errors import OperateError
from operate.synth import Synthesis
from settings.environment import Environment


def changes(environment: Environment, synthesis: Synthesis) -> tuple[str, ...]:
    """Return how many changes there are of each kind, then those that a person decides; `./lake aws diff` has them all.

    Without a snapshot, as for a new environment, say so: the review's findings don't depend on it.
    """
    try:
        found = diff.changes(environment, synthesis.templates)
    except OperateError as error:
        return (f"not compared: {error}",)
    grave = [f"{section.title}: {line}" for section in found.sections if section.grave for line in section.lines]
    return (found.summary, *grave)
