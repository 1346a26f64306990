"""The committed snapshots of environments' templates, by stack: tests/snapshots/<environment>/<stack>.json.

BASE's are complete; another environment's hold only the differences (operate/diff/patch.py) once BASE's names replace
its own. So a change of all environments is reviewed once.
"""

import json
from pathlib import Path
from typing import Any

from operate.diff.normal_form import Templates, normal_form, text_of
from operate.diff.patch import difference, patched
from operate.errors import OperateError
from settings.environment import Environment
from settings.load import load

SNAPSHOTS = Path(__file__).resolve().parents[2] / "tests" / "snapshots"
RENEW = "./lake aws synth --save"
BASE = "dev"


def by_stack(environment: Environment, templates: Templates) -> dict[str, dict[str, Any]]:
    """Return templates' normal forms by the stack's name without the environment's prefix."""
    return {
        stack.removeprefix(f"{environment.prefix}-"): normal_form(template) for stack, template in templates.items()
    }


def read(environment: Environment, folder: Path = SNAPSHOTS) -> dict[str, dict[str, Any]]:
    """Read an environment's snapshot, by stack. Raises OperateError if it is missing or unreadable."""
    base = _base(environment, folder)
    return {stack: patched(base.get(stack, {}), patch) for stack, patch in _files(environment.name, folder).items()}


def write(environment: Environment, templates: Templates, folder: Path = SNAPSHOTS) -> Path:
    """Write an environment's snapshot, one file per stack, BASE's first; delete files of removed stacks."""
    place = folder / environment.name
    place.mkdir(parents=True, exist_ok=True)
    found, base = by_stack(environment, templates), _base(environment, folder)
    for path in place.glob("*.json"):
        if path.stem not in found:
            path.unlink()
    for stack, template in found.items():
        text = text_of(difference(base.get(stack, {}), template) or {})
        (place / f"{stack}.json").write_text(text, encoding="utf-8")
    return place


def _base(environment: Environment, folder: Path) -> dict[str, dict[str, Any]]:
    """Return BASE's snapshot with this environment's names; nothing for BASE itself."""
    if environment.name == BASE or not (folder / BASE).is_dir():
        return {}
    text = json.dumps(_files(BASE, folder))
    for theirs, ours in zip(_names(load(BASE)), _names(environment), strict=True):
        text = text.replace(theirs, ours)
    found: dict[str, dict[str, Any]] = json.loads(text)
    return found


def _names(environment: Environment) -> tuple[str, ...]:
    return environment.prefix, environment.account, environment.lake.database, json.dumps(environment.name)


def _files(name: str, folder: Path) -> dict[str, dict[str, Any]]:
    found = {}
    for path in sorted((folder / name).glob("*.json")):
        try:
            found[path.stem] = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise OperateError(f"tests/snapshots/{name}/{path.name}: {error}: run `{RENEW}`") from None
    if not found:
        raise OperateError(f"there is no snapshot in tests/snapshots/{name}: run `{RENEW}` and commit what it writes")
    return found


def shown(environment: Environment) -> str:
    """Name the snapshot's folder for people."""
    return f"tests/snapshots/{environment.name}"
