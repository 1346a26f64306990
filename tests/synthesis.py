"""Syntheses that tests share: each takes seconds of CPU."""

from pathlib import Path
from typing import TYPE_CHECKING

from settings.environment import Environment
from stacks.paused import Paused

if TYPE_CHECKING:
    from operate.synth import Synthesis

_made: "dict[tuple[str, Path, Paused], Synthesis]" = {}


def shared_synthesis(environment: Environment, folder: Path, *, paused: Paused = Paused.NOTHING) -> "Synthesis":
    """Synthesize into a folder below `folder`, or return these settings' earlier result: callers must not change it.

    cdk-nag also checks it unless paused.
    """
    # Importing CDK starts Node.js.
    from operate.synth import synthesize
    from stacks.processing import jobs

    key = (environment.model_dump_json(), vars(jobs)["PIPELINES"], paused)
    if key not in _made:
        runs = paused is Paused.NOTHING
        place = folder / (environment.name if runs else f"{environment.name}.paused-{paused}")
        _made[key] = synthesize(environment, place, nag=runs, paused=paused)
    return _made[key]
