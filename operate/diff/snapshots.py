"""States that templates are compared with: committed snapshots (reviewed.py: of which revision), and what is deployed.

Snapshots are in tests/snapshots/<environment>/<stack>.json. BASE's are complete; another environment's hold only the
differences once BASE's names replace its own. So a change of all environments is reviewed once.

Such a patch of an object has a value for each key that differs, and null for a removed key; of a list of the same
length, `{"at": {index: patch}}`; of a resource whose logical id changes, `{"like": former id, …}`. All else is written
in full.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contract.lake import DATABASE
from operate.diff.normal_form import Templates, normal_form, text_of
from operate.errors import OperateError
from operate.outputs import QUICK, check_account, one_line, stacks_of
from settings.environment import Environment
from settings.load import ENVIRONMENTS, parse

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient

SNAPSHOTS = Path(__file__).resolve().parents[2] / "tests" / "snapshots"
RENEW = "./lake aws synth --save"
BASE = "dev"
# These stacks exist but are empty: their creation failed, or waits for its change set.
EMPTY = frozenset({"REVIEW_IN_PROGRESS", "ROLLBACK_COMPLETE"})
# CDK ends a logical id with a hash of its path or its content.
_HASH = re.compile(r"[0-9A-Fa-f]{8,}$")


def by_stack(environment: Environment, templates: Templates) -> dict[str, dict[str, Any]]:
    """Return templates' normal forms by the stack's name without the environment's prefix."""
    return {
        stack.removeprefix(f"{environment.prefix}-"): normal_form(template) for stack, template in templates.items()
    }


def read(
    environment: Environment, folder: Path = SNAPSHOTS, environments: Path = ENVIRONMENTS
) -> dict[str, dict[str, Any]]:
    """Read an environment's snapshot, by stack; `environments`: the files of the same revision. Raises UserError."""
    base = _base(environment, folder, environments)
    return {stack: patched(base.get(stack, {}), patch) for stack, patch in _files(environment.name, folder).items()}


def write(environment: Environment, templates: Templates, folder: Path = SNAPSHOTS) -> Path:
    """Write an environment's snapshot, one file per stack, BASE's first; delete files of removed stacks."""
    place = folder / environment.name
    place.mkdir(parents=True, exist_ok=True)
    found, base = by_stack(environment, templates), _base(environment, folder, ENVIRONMENTS)
    for path in place.glob("*.json"):
        if path.stem not in found:
            path.unlink()
    for stack, template in found.items():
        text = text_of(difference(base.get(stack, {}), template) or {})
        (place / f"{stack}.json").write_text(text, encoding="utf-8")
    return place


def _base(environment: Environment, folder: Path, environments: Path) -> dict[str, dict[str, Any]]:
    """Return BASE's snapshot with this environment's names; nothing for BASE itself."""
    if environment.name == BASE or not (folder / BASE).is_dir():
        return {}
    text = json.dumps(_files(BASE, folder))
    theirs = environment.model_copy(update={"name": BASE})
    for pair in zip(_names(theirs, environments), _names(environment, environments), strict=True):
        text = text.replace(*pair)
    found: dict[str, dict[str, Any]] = json.loads(text)
    return found


def _names(environment: Environment, environments: Path) -> tuple[str, ...]:
    """Return an environment's names; the file is read alone, since that of a revision may not fit today's settings."""
    name, values = environment.name, parse(environments / f"{environment.name}.toml")
    database = values.get("lake", {}).get("database", f"{name}_{DATABASE}")
    return environment.prefix, str(values.get("account")), str(database), json.dumps(name)


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


def deployed(environment: Environment) -> dict[str, Mapping[str, Any]]:
    """Return the templates of all deployed stacks by name, also of those that the app has lost. Raises OperateError."""
    session = check_account(environment)
    with one_line(environment):
        client = session.client("cloudformation", config=QUICK)
        found: dict[str, Mapping[str, Any]] = {
            (name := stack["StackName"]): {
                **template(client, name),
                "TerminationProtection": stack.get("EnableTerminationProtection", False),
            }
            for stack in stacks_of(client, environment)
            if stack["StackStatus"] not in EMPTY
        }
    if not found:
        raise OperateError(
            f"nothing of {environment.prefix} is deployed in {environment.region}: without --deployed the comparison is"
            " with what was reviewed"
        )
    return found


def template(client: "CloudFormationClient", name: str) -> Mapping[str, Any]:
    """Return a stack's template, an empty one while its first change set waits; botocore parses JSON, as CDK's is."""
    body: Any = client.get_template(StackName=name, TemplateStage="Original").get("TemplateBody") or {}
    if isinstance(body, str):
        try:
            body = json.loads(body)
        except ValueError:
            raise OperateError(f"{name}: its deployed template isn't JSON: somebody else has made it") from None
    found: Mapping[str, Any] = body
    return found


def difference(before: Any, after: Any) -> Any:
    """Return the patch that turns `before` into `after`; None if they are equal. A template has no null."""
    match before, after:
        case _ if before == after:
            return None
        case dict(), dict():
            return _of_objects(before, after)
        case list(), list() if len(before) == len(after):
            found = (difference(*pair) for pair in zip(before, after, strict=True))
            patch = {"at": {str(index): each for index, each in enumerate(found) if each is not None}}
            return min(patch, after, key=lambda value: len(json.dumps(value)))
    return after


def patched(before: Any, patch: Any) -> Any:
    match before, patch:
        case list(), {"at": dict(changes)}:
            places = enumerate(before)
            return [patched(each, changes[str(at)]) if str(at) in changes else each for at, each in places]
        case dict(), dict():
            kept = {key: value for key, value in before.items() if patch.get(key, value) is not None}
            found = {key: patched(value, patch[key]) if key in patch else value for key, value in kept.items()}
            return found | {key: _added(before, value) for key, value in patch.items() if key not in before}
    return patch


def _of_objects(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    gone = {_HASH.sub("", key): key for key in before if key not in after and _HASH.search(key)}
    patch: dict[str, Any] = {key: None for key in before if key not in after}
    for key, value in after.items():
        former = gone.get(_HASH.sub("", key))
        if key in before:
            patch |= {key: found} if (found := difference(before[key], value)) is not None else {}
        elif former and isinstance(value, dict) and isinstance(before[former], dict):
            patch[key] = {"like": former} | _of_objects(before[former], value)
        else:
            patch[key] = value
    return patch


def _added(before: Mapping[str, Any], value: Any) -> Any:
    if isinstance(value, dict) and (former := value.get("like")):
        return patched(before[former], {key: each for key, each in value.items() if key != "like"})
    return value
