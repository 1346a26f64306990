"""The committed snapshots of environments' templates, by stack: tests/snapshots/<environment>/<stack>.json."""

import json
from pathlib import Path
from typing import Any

from operate.diff.normal_form import Templates, normal_form, text_of
from operate.errors import OperateError
from settings.environment import Environment

SNAPSHOTS = Path(__file__).resolve().parents[2] / "tests" / "snapshots"
RENEW = "./lake aws synth --save"


def by_stack(environment: Environment, templates: Templates) -> dict[str, dict[str, Any]]:
    """Return templates' normal forms by the stack's name without the environment's prefix."""
    return {
        stack.removeprefix(f"{environment.prefix}-"): normal_form(template) for stack, template in templates.items()
    }


def read(environment: Environment, folder: Path = SNAPSHOTS) -> dict[str, dict[str, Any]]:
    """Return an environment's snapshot by stack. Raises OperateError where there is none, or one can't be read."""
    found = {}
    for path in sorted((folder / environment.name).glob("*.json")):
        try:
            found[path.stem] = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise OperateError(f"{shown(environment)}/{path.name}: {error}: run `{RENEW}`") from None
    if not found:
        raise OperateError(f"there is no snapshot in {shown(environment)}: run `{RENEW}` and commit what it writes")
    return found


def write(environment: Environment, templates: Templates, folder: Path = SNAPSHOTS) -> Path:
    """Write an environment's snapshot, one file for each stack; those of stacks that are gone go, too."""
    place = folder / environment.name
    place.mkdir(parents=True, exist_ok=True)
    found = by_stack(environment, templates)
    for path in place.glob("*.json"):
        if path.stem not in found:
            path.unlink()
    for stack, template in found.items():
        (place / f"{stack}.json").write_text(text_of(template), encoding="utf-8")
    return place


def shown(environment: Environment) -> str:
    """Name the snapshot's folder for people."""
    return f"tests/snapshots/{environment.name}"
